"""A run's trace, gathered from the journal and the catalogue: no model and no index is asked."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot

from ..checkpoints.journal import Reader
from ..checkpoints.saver import JournalSaver, Queue
from ..checkpoints.texts import read_texts
from ..checkpoints.told import ToldRun, read_told_run
from ..context import Catalogue, Prompts
from ..errors import BadRequest
from ..graph.build import build
from ..graph.tracing.candidates import all_hits
from ..graph.tracing.recorded import Origin, Recorded
from ..graph.tracing.shapes import Trace
from ..graph.tracing.trace import build_trace
from ..prompts.loader import PromptLibrary
from ..settings import ROLES, Endpoint, Settings
from ..state import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where runs are read from. `saver` reads checkpoints through the same journal.

    `prompts` gives those of a run, with its own changes; `hide` takes secrets out of a text.
    """

    journal: Reader
    saver: BaseCheckpointSaver[Any]
    catalogue: Catalogue
    prompts: Callable[[Asked], Prompts]
    hide: Callable[[str], str]


def sources_in(journal: Queue, catalogue: Catalogue, library: PromptLibrary, settings: Settings) -> Sources:
    """Of one data folder; nothing is written through them."""

    def prompts(asked: Asked) -> Prompts:
        return library.changed(asked.get("prompts") or {})

    return Sources(
        journal=journal,
        saver=JournalSaver(journal),
        catalogue=catalogue,
        prompts=prompts,
        hide=hiding(settings.endpoint(role) for role in ROLES),
    )


async def read_trace(run_id: str, sources: Sources) -> Trace:
    """The trace of a run, so far if it still goes on.

    Raises NotFound (run_not_found), Gone (run_trimmed, run_erased).
    """
    told = await sources.journal.read(partial(read_told_run, run_id=run_id))
    return build_trace(await _recorded(told, await _history(run_id, sources.saver), sources))


def hiding(endpoints: Iterable[Endpoint | None]) -> Callable[[str], str]:
    """Texts without the keys, passwords and addresses of all of these, which are "…" then."""
    # The longest first: one may be part of another.
    secrets = sorted({secret for one in endpoints if one for secret in one.secrets}, key=len, reverse=True)
    if not secrets:
        return str
    return partial(re.compile("|".join(map(re.escape, secrets))).sub, "…")


async def _history(run_id: str, saver: BaseCheckpointSaver[Any]) -> Sequence[StateSnapshot]:
    """The states of a run's thread, oldest first."""
    graph = build().compile(checkpointer=saver)
    config = RunnableConfig(configurable={"thread_id": run_id})
    return [snapshot async for snapshot in graph.aget_state_history(config)][::-1]


async def _recorded(told: ToldRun, snapshots: Sequence[StateSnapshot], sources: Sources) -> Recorded:
    bare = Recorded(
        run={**told.summary},
        asked=told.asked,
        answer=told.answer,
        error=told.error,
        prompts=_prompts(told.asked, sources),
        hide=sources.hide,
        snapshots=snapshots,
        events=told.events,
        origins=[Origin(kept=row.kept, fork_stage=row.fork_stage) for row in told.origins],
        resumes=told.resumes,
        resumed_from=told.resumed_from,
    )
    passages = _unique([hit["passage"] for hit in all_hits(bare.state) if "passage" in hit])
    return replace(
        await with_catalogue(bare, sources.catalogue),
        texts=await sources.journal.read(partial(read_texts, hashes=passages)),
    )


async def with_catalogue(recorded: Recorded, catalogue: Catalogue) -> Recorded:
    """With the chunks and documents that its state names, as they are now."""
    hits, left = all_hits(recorded.state), recorded.state.get("departures", [])
    ids = [*(one["chunk_id"] for one in (*hits, *left)), *(hit.get("question", "") for hit in hits)]
    chunks = await catalogue.chunks([id for id in _unique(ids) if id])
    documents = [*(hit["document_id"] for hit in hits), *(chunk.document_id for chunk in chunks.values())]
    return replace(recorded, chunks=chunks, documents=await catalogue.documents(_unique(documents)))


def _prompts(asked: Asked, sources: Sources) -> Prompts:
    try:
        return sources.prompts(asked)
    except BadRequest:
        # Changes made under an older program may name what is not there any more: the trace says that its
        # prompts are not exact.
        return sources.prompts({**asked, "prompts": {}})


def _unique(ids: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(ids)]
