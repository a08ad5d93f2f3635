"""A data folder from the inside, for notebooks: past runs read, followed, told again, compared and forked.

Everything here blocks and needs no event loop, so it also works where one is running. Reading needs no
server, and one that runs is not disturbed; a fork is made by the server that owns the folder.
"""

import time
from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast
from urllib.parse import quote

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from .api.gathering import Sources, read_trace, sources_in
from .checkpoints.clock import milliseconds_between
from .checkpoints.event_rows import Event, read_events
from .checkpoints.record import read_recorded_run
from .checkpoints.replay import Pace, replay
from .checkpoints.saver import JournalSaver
from .checkpoints.schema import SCHEMA_VERSION as JOURNAL_VERSION
from .checkpoints.summaries import RunSummary, list_runs, read_summary, read_with_answer
from .client import reach
from .errors import BadRequest, Conflict, Gone, NotFound, StartRefused
from .graph.build import build
from .graph.draw import picture
from .graph.plots import Span, Stop, passage_plot, timing_plot
from .graph.tracing.diff import PLACES, diff
from .graph.tracing.follow import follow
from .graph.tracing.shapes import Diff, Step, Trace
from .graph.tracing.times import wire_time
from .prompts.own import prompts_of
from .read_only import ReadOnlyCatalogue, ReadOnlyFile, ReadOnlyJournal
from .settings import Settings, load_settings
from .state import RagState
from .stores.catalogue_schema import SCHEMA_VERSION as CATALOGUE_VERSION

T = TypeVar("T")

JOURNAL, CATALOGUE = "journal.sqlite", "catalogue.sqlite"
NEXT = "branch:to:"  # the channels by which LangGraph knows what comes next
LABEL_LENGTH = 40  # characters of a question in a legend


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state of a run after `stage`, and the stages that were to come next.

    `stage` is None for those that hold only the question, and for the one that a fork began from.
    `inherited`: it is of the run that this one was forked from.
    """

    id: str
    stage: str | None
    created_at: str
    next: Sequence[str]
    values: RagState = field(repr=False)
    inherited: bool = False


def open_folder(path: Path | None = None) -> "DataFolder":
    """See `headrace.open`."""
    settings = load_settings(data=path)
    return DataFolder(settings)


class DataFolder:
    """The runs of a data folder. Reading changes no file in it; `close` it, or use it in `with`.

    Raises NotFound (folder_not_found), StartRefused (not_a_data_folder, newer_schema, older_schema),
    Damaged, HeadraceError (unreadable_file).
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.path = path = settings.data
        _require_folder(path)
        self._journal_file = ReadOnlyFile(path / JOURNAL, version=JOURNAL_VERSION)
        self._catalogue_file = ReadOnlyFile(path / CATALOGUE, version=CATALOGUE_VERSION)
        self.journal = ReadOnlyJournal(self._journal_file)
        self.catalogue = ReadOnlyCatalogue(self._catalogue_file)
        self.saver = JournalSaver(self.journal)

    def __enter__(self) -> "DataFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DataFolder({str(self.path)!r})"

    def close(self) -> None:
        """Remove what reading has needed beside the folder; nothing of the folder stays open anyway."""
        self._journal_file.close()
        self._catalogue_file.close()

    def runs(self, session_id: str | None = None, *, limit: int = 100) -> list["Run"]:
        """The newest first, forks among them; with a session only its own.

        Raises NotFound (session_not_found).
        """
        found, _ = self.journal.read_now(partial(list_runs, session_id=session_id, page=1, page_size=limit))
        return [Run(self, summary) for summary in found]

    def run(self, run_id: str) -> "Run":
        """One run as it stands now. Raises NotFound (run_not_found)."""
        return Run(self, self.journal.read_now(partial(read_summary, run_id=run_id)))

    @cached_property
    def sources(self) -> Sources:
        """Where traces are read from."""
        return sources_in(self.journal, self.catalogue, prompts_of(self.path), self.settings)

    def diff(self, first: "Run | str", second: "Run | str") -> Diff:
        """What differs between two runs, stage by stage. Raises as `run` and `Run.trace`."""
        one, other = (run if isinstance(run, Run) else self.run(run) for run in (first, second))
        return diff(one.trace(), other.trace())


class Run:
    """One run of a folder. `summary` stays as it was read; all else is read when it is asked for."""

    def __init__(self, folder: DataFolder, summary: RunSummary) -> None:
        self.folder = folder
        self.summary = summary

    def __repr__(self) -> str:
        return f"<run {self.id} {self.summary['status']}: {self.label}>"

    @property
    def id(self) -> str:
        return self.summary["id"]

    @property
    def question(self) -> str:
        return self.summary["question"]

    @property
    def label(self) -> str:
        """For a legend: the question, or where it branches off."""
        stage = self.summary["fork_stage"]
        text = f"{stage}… {self.question}" if stage else self.question
        return text if len(text) <= LABEL_LENGTH else f"{text[: LABEL_LENGTH - 1]}…"

    # --- what was stored ---

    @property
    def answer(self) -> str:
        """With its citation tags; empty until the run ends."""
        return self.folder.journal.read_now(partial(read_with_answer, run_id=self.id))["answer"]

    @property
    def events(self) -> list[Event]:
        """What readers were told so far. Raises Gone (run_trimmed, run_erased)."""
        self._require_record()
        events, _ = self.folder.journal.read_now(partial(read_events, run_id=self.id, after=0))
        return events

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """In the order of the stages; of a fork first those before it, as long as its origin has them.

        Of an old run only the last one is kept (`summary["kept"]` is `last`). Raises Gone.
        """
        self._require_record()
        return [*self._inherited(), *self._own_checkpoints()]

    def state(self, stage: str | None = None) -> RagState:
        """The channels as they were after a stage; without one, as they are now or were at the end.

        Raises BadRequest (bad_stage), Conflict (stage_not_reached, checkpoint_gone), Gone.
        """
        checkpoints = self.checkpoints
        if stage is not None:
            _require_stage(stage)
            checkpoints = [one for one in checkpoints if one.stage == stage]
        if not checkpoints:
            raise self._without_state(stage)
        return checkpoints[-1].values

    # --- what can be told from it ---

    def trace(self) -> Trace:
        """What it did at each stage, what became of every candidate, what models were asked.

        Raises Gone (run_trimmed, run_erased).
        """
        return _at_once(read_trace(self.id, self.folder.sources))

    def picture(self) -> str:
        """The graph as an SVG, with the way of this run and the time of each stage."""
        return picture(self._timings())

    def timings(self, *others: "Run") -> str:
        """When its stages ran and how long each took, as an SVG; with other runs, to compare them."""
        runs = [self, *others]
        numbered = {f"{number}  {run.label}": run for number, run in enumerate(runs, start=1)}
        return timing_plot({name: run.spans() for name, run in numbered.items()})

    def spans(self) -> list[Span]:
        """The stages of this very run, on the time axis from its beginning."""
        begun, timings = self.summary["created_at"], self._own_timings()
        own = [(one.stage, one.created_at) for one in self._own_checkpoints()]
        ended = {stage: at for stage, at in own if stage is not None and stage in timings}
        if len(ended) == len(timings):
            starts = [milliseconds_between(begun, at) - timings[stage] for stage, at in ended.items()]
            # Checkpoints tell whole milliseconds: a shorter stage must not come before the one it followed.
            in_order = accumulate([max(0.0, start) for start in starts], max)
            return [Span(stage, start, timings[stage]) for stage, start in zip(ended, in_order, strict=True)]
        # Of an old run: when they ran is not kept, but the order and the times are.
        spans: list[Span] = []
        for stage, duration in timings.items():
            before = spans[-1].start_ms + spans[-1].duration_ms if spans else 0.0
            spans.append(Span(stage, before, duration))
        return spans

    def follow(self, chunk_id: str) -> list[Step]:
        """What each stage did with a passage; nothing for one that was never found. Raises as `trace`."""
        return follow(self.trace(), chunk_id)

    def way(self, chunk_id: str) -> str:
        """The same as an SVG: its place after each stage, and where it left. Raises as `trace`."""
        trace = self.trace()
        handed_on = {stage["stage"]: stage["hits_out"] for stage in trace["stages"]}
        steps = [step for step in follow(trace, chunk_id) if step["stage"] in PLACES]
        stops = [Stop(step["stage"], step["place"], handed_on[step["stage"]]) for step in steps]
        left = next((one["left"] for one in trace["candidates"] if one["chunk_id"] == chunk_id), None)
        return passage_plot(stops, left=f"{left['stage']}: {left['reason']}" if left else None)

    def replay(self, *, speed: int = 0) -> Generator[Event]:
        """Its events once more: at once, with 1 at the recorded pace, with N so many times faster.

        Raises Conflict (run_unfinished), Gone.
        """
        pace = Pace(speed=speed, sleep=_sleep)
        events = _at_once(replay(self.folder.journal, self.id, pace))
        while True:
            try:
                event = _at_once(anext(events))
            except StopAsyncIteration:
                return
            yield event

    def fork(
        self,
        stage: str,
        *,
        settings: Mapping[str, Any] | None = None,
        prompts: Mapping[str, str] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> "Run":
        """Run again from a stage with something changed, and wait for the end. This run stays as it is.

        The server that owns the folder does it; where none runs, one is started for as long as it takes,
        configured as `headrace serve` would be. A server that closes meanwhile leaves the run for its next
        start: its `summary` says how it stands.

        Raises HeadraceError with the server's words: bad_stage, stage_not_reached, checkpoint_gone,
        bad_setting, bad_prompt, bad_state, run_trimmed, run_erased.
        """
        body = {"from": stage, "settings": settings or {}, "prompts": prompts or {}, "state": state or {}}
        with reach(self.folder.settings) as client:
            fork = client.call("POST", f"/runs/{quote(self.id, safe='')}/fork", json=body)
            path = f"/sessions/continue-stream/{fork['session_id']}?message_id={fork['message_id']}"
            for _ in client.events("GET", path):
                pass
        return self.folder.run(fork["run_id"])

    # --- how ---

    def _require_record(self) -> None:
        self.folder.journal.read_now(partial(read_recorded_run, run_id=self.id))

    def _own_checkpoints(self) -> list[Checkpoint]:
        found = self.folder.saver.list(RunnableConfig(configurable={"thread_id": self.id}))
        return [_to_checkpoint(one) for one in reversed([*found])]

    def _inherited(self) -> list[Checkpoint]:
        """What led to the stage that this run was forked at; nothing where that is not kept any more."""
        origin, stage = self.summary["forked_from"], self.summary["fork_stage"]
        if origin is None:
            return []
        try:
            before = self.folder.run(origin).checkpoints
        except (NotFound, Gone):
            return []
        places = [place for place, one in enumerate(before) if stage in one.next]
        led_there = before[: places[-1] + 1] if places else []
        return [replace(one, inherited=True) for one in led_there if one.stage is not None]

    def _own_timings(self) -> Mapping[str, float]:
        own = self._own_checkpoints()
        if own and (timings := own[-1].values.get("timings")):
            return timings
        return (self.summary["timing"] or {}).get("stages_ms", {})

    def _timings(self) -> Mapping[str, float]:
        inherited = self._inherited()
        before = inherited[-1].values.get("timings", {}) if inherited else {}
        return {**before, **self._own_timings()}

    def _without_state(self, stage: str | None) -> Conflict:
        if stage is None:
            return Conflict("This run has not begun: it has no state yet.", code="stage_not_reached")
        reached = [*self._timings()]
        if stage in reached:
            return Conflict(
                f"The state after {stage} is not kept any more: of old runs only the last one is.",
                code="checkpoint_gone",
                details={"kept": self.summary["kept"], "reached": reached},
            )
        return Conflict(
            f"This run has no result of {stage}: it has those of {', '.join(reached) or 'no stage yet'}.",
            code="stage_not_reached",
            details={"reached": reached},
        )


def _require_folder(path: Path) -> None:
    if not path.is_dir():
        raise NotFound(f"There is no folder {path}.", code="folder_not_found")
    for name in (JOURNAL, CATALOGUE):
        if not (path / name).is_file():
            raise StartRefused(
                f"{path} is no data folder of headrace: there is no {name} in it.", code="not_a_data_folder"
            )


def _require_stage(stage: str) -> None:
    stages = list(build().nodes)
    if stage not in stages:
        raise BadRequest(
            f"There is no stage {stage[:60]!r}: the stages are {', '.join(stages)}.",
            code="bad_stage",
            details={"stages": stages},
        )


def _to_checkpoint(found: CheckpointTuple) -> Checkpoint:
    held = found.checkpoint["channel_values"]
    values = {name: value for name, value in held.items() if name in RagState.__annotations__}
    return Checkpoint(
        id=found.checkpoint["id"],
        stage=_written_by(found),
        created_at=cast(str, wire_time(found.checkpoint["ts"])),
        next=[name.removeprefix(NEXT) for name in held if name.startswith(NEXT)],
        values=cast(RagState, values),
    )


def _written_by(found: CheckpointTuple) -> str | None:
    """The stage whose result is the newest in it: each has seen a higher version than those before."""
    if found.metadata.get("source") != "loop":
        return None  # the input, or what a fork began from
    seen = found.checkpoint["versions_seen"].items()
    # LangGraph has entries of its own there, `__interrupt__` among them after a run was resumed.
    newest = {node: max(versions.values()) for node, versions in seen if versions and node[:2] != "__"}
    return max(newest, key=lambda node: newest[node], default=None)


async def _sleep(seconds: float) -> None:
    # Nobody else waits in this loop, since there is none.
    time.sleep(seconds)  # noqa: ASYNC251


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing: without an event loop, or beside one that runs."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    work.close()
    raise RuntimeError("what reads a file has nothing to wait for")
