"""Forks: from where a run was, with what is changed, and without a trace in the run they come from."""

import asyncio
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from headrace.checkpoints.forks import Fork, Forked
from headrace.checkpoints.retention import empty_run
from headrace.checkpoints.run_rows import insert_run, read_run, read_unfinished
from headrace.checkpoints.runs import FORKS_AT_ONCE
from headrace.checkpoints.texts import KeptTexts
from headrace.errors import BadRequest, Conflict, Gone, NotFound
from headrace.graph.build import build
from headrace.state import Asked

from .forking import FORK
from .library import EN, ZH, Library, a_library, belongings
from .toys import Gate, an_asked, live_answer, types

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
BEFORE_RERANK = ["load_history", "match_ready_answer", "understand_query", "search_chunks", "collect_results"]
ALL = [*build().nodes]
ASIDE = ("fallback", "answer_from_faq", "answer_from_cache", "choose_kbs")
ANSWERED = [stage for stage in ALL if stage not in ASIDE]


async def fork(library: Library, run_id: str, stage: str, **changes: Any) -> Forked:
    return await library.forks.fork(run_id, Fork(stage=stage, **changes))


async def references(library: Library, run_id: str) -> list[str]:
    events = await library.events.read(run_id)
    found = [event["knowledge_references"] for event in events if "knowledge_references" in event]
    return [reference["id"] for reference in found[-1]] if found else []


# --- what is run again, and what stays ---


@pytest.mark.parametrize("query", [ZH, EN])
async def test_only_the_stages_from_the_fork_on_are_run(tmp_path: Path, query: str) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask(query)
        forked = await fork(library, asked["run_id"], "rerank", settings={"rerank_top_k": 1})
        message = await library.answer(forked.run_id)
        state = await library.state(forked.run_id)
        origin = await library.state(asked["run_id"])

        assert library.used == ["reranker", "chat"]
        assert len(await references(library, asked["run_id"])) > 1
        assert len(await references(library, forked.run_id)) == len(state["selected"]) == 1
        assert state["hits"] == origin["hits"]
        assert state["request"]["rerank_top_k"] == 1
        assert state["request"]["query"] == query
        assert set(state["timings"]) == set(ANSWERED) - set(BEFORE_RERANK)
        assert message.timing is not None
        assert set(message.timing["stages_ms"]) == set(state["timings"])
        assert (message.status, message.outcome) == ("complete", "answered")


@pytest.mark.parametrize("stage", ANSWERED)
async def test_every_stage_of_a_run_can_be_forked_and_gives_the_same_without_changes(
    tmp_path: Path, stage: str
) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        origin = await library.answer(asked["run_id"])
        expected = await library.state(asked["run_id"])
        forked = await fork(library, asked["run_id"], stage)
        message = await library.answer(forked.run_id)
        state = await library.state(forked.run_id)
        events = await library.events.read(forked.run_id)

        assert message.content == origin.content == live_answer(events)
        assert message.references == origin.references
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        for channel in ("hits", "ranked", "selected", "departures", "warnings", "aliases", "answer"):
            assert state.get(channel) == expected.get(channel), channel
        assert [*state["timings"]] == ANSWERED[ANSWERED.index(stage) :]


async def test_nothing_of_the_origin_is_written(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        read = partial(belongings, run_id=asked["run_id"])
        before = await library.journal.read(read)
        assert all(before[table] for table in ("runs", "messages", "events", "checkpoints", "sessions"))
        forks = [
            await fork(library, asked["run_id"], "load_history", settings={"rerank_top_k": 1}),
            await fork(library, asked["run_id"], "rerank", settings={"rerank_threshold": 1.0}),
            await fork(library, asked["run_id"], "rerank", state={"hits": []}),
            await fork(library, asked["run_id"], "generate_answer", prompts={"system_prompt": "简短 short"}),
        ]
        for forked in forks:
            assert (await library.answer(forked.run_id)).status == "complete"
        assert await library.journal.read(read) == before


async def test_a_fork_begins_with_what_its_readers_must_know(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forked = await fork(library, asked["run_id"], "generate_answer")
        await library.answer(forked.run_id)
        first, second, *_ = await library.events.read(forked.run_id)
        assert first["response_type"] == "agent_query"
        assert first["content"] == ZH
        assert first["data"]["forked_from"] == asked["run_id"]
        assert first["data"]["fork_stage"] == "generate_answer"
        assert first["id"] != asked["request_id"]
        told = [e for e in await library.events.read(asked["run_id"]) if e["response_type"] == "references"]
        assert {**second, "id": "", "run_id": "", "seq": 0} == {**told[0], "id": "", "run_id": "", "seq": 0}


async def test_a_window_that_an_earlier_stage_opened_is_closed_by_a_later_one(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forked = await fork(library, asked["run_id"], "rerank", settings={"rerank_top_k": 1})
        await library.answer(forked.run_id)
        events = await library.events.read(forked.run_id)
        windows = [event["data"] for event in events if event["response_type"].startswith("tool_")]
        assert [window["tool_name"] for window in windows] == ["knowledge_search"] * 2
        assert windows[0]["tool_call_id"] == windows[1]["tool_call_id"]
        assert windows[1]["result"]["hits"] == 1


# --- what may be changed ---


async def test_the_way_on_is_chosen_anew_by_the_changed_state(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask(EN)
        forked = await fork(library, asked["run_id"], "rerank", state={"hits": []})
        message = await library.answer(forked.run_id)
        assert message.outcome == "fallback"
        assert library.used == []
        again = await fork(library, forked.run_id, "fallback", settings={"fallback_response": "没有。None."})
        assert (await library.answer(again.run_id)).content == "没有。None."


async def test_changed_hits_are_what_the_next_stages_see(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        hits = (await library.state(asked["run_id"]))["hits"]
        forked = await fork(library, asked["run_id"], "rerank", state={"hits": hits[-1:]})
        await library.answer(forked.run_id)
        assert await references(library, forked.run_id) == [hits[-1]["chunk_id"]]


async def test_a_kept_text_is_given_only_with_the_hit_that_the_run_has_read_it_with(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask(ZH)
        merged = (await library.state(asked["run_id"]))["merged"]
        (foreign,) = await KeptTexts(library.journal).keep(["另一个回答读过的。Read by another answer."])
        for lie in (
            {**merged[0], "passage": foreign},
            {**merged[0], "passage": merged[1]["passage"]},
            {**merged[0], "document_id": "别的"},
        ):
            with pytest.raises(BadRequest, match=r"merged.*passage") as refused:
                await fork(library, asked["run_id"], "filter_top_k", state={"merged": [lie]})
            assert refused.value.code == "bad_state"
        # From an earlier stage, one that the run came to only later.
        forked = await fork(library, asked["run_id"], "rerank", state={"hits": merged[-1:]})
        await library.answer(forked.run_id)
        assert await references(library, forked.run_id) == [merged[-1]["chunk_id"]]


async def test_a_changed_prompt_reaches_the_model_and_braces_stay_as_typed(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask("报销 {contexts} {query}？")
        prompts = {"system_prompt": "请用一句话回答。", "context_template": "{query}\n---\n{contexts}"}
        forked = await fork(library, asked["run_id"], "generate_answer", prompts=prompts)
        await library.answer(forked.run_id)
        system, *_, user = library.chat.prompts[-1].messages
        assert system.content.startswith("请用一句话回答。\n")
        assert user.content.startswith("报销 {contexts} {query}？\n---\n<document")

        again = await fork(library, forked.run_id, "generate_answer", prompts={"system_prompt": "Be brief."})
        await library.answer(again.run_id)
        system, *_, user = library.chat.prompts[-1].messages
        assert system.content.startswith("Be brief.\n")
        assert "\n---\n" in user.content


@pytest.mark.parametrize("channel", ["selected", "aliases"])
async def test_what_readers_were_told_cannot_be_changed_behind_their_back(
    tmp_path: Path, channel: str
) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        value = (await library.state(asked["run_id"]))[channel]
        with pytest.raises(BadRequest, match=f"{channel}.*earlier stage"):
            await fork(library, asked["run_id"], "generate_answer", state={channel: value})
        forked = await fork(library, asked["run_id"], "emit_references", state={"aliases": {}})
        assert (await library.answer(forked.run_id)).status == "complete"


async def test_the_first_stage_begins_from_the_question_with_other_settings(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forked = await fork(library, asked["run_id"], "load_history", settings={"embedding_top_k": 1})
        await library.answer(forked.run_id)
        # The store is asked for the other language apart.
        assert [*dict.fromkeys(library.used)] == ["embedder", "store", "reranker", "chat"]
        assert len((await library.state(forked.run_id))["chunk_hits"]) == 1
        with pytest.raises(BadRequest, match="begins from the question"):
            await fork(library, asked["run_id"], "load_history", state={"hits": []})


# --- which runs, and how many ---


async def test_a_fork_of_a_fork_may_begin_where_the_first_run_was(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        first = await fork(library, asked["run_id"], "rerank", settings={"rerank_top_k": 1})
        await library.answer(first.run_id)
        second = await fork(library, first.run_id, "merge_chunks", settings={"rerank_top_k": 3})
        third = await fork(library, second.run_id, "search_chunks", settings={"embedding_top_k": 1})
        for forked in (second, third):
            assert (await library.answer(forked.run_id)).status == "complete"
        assert (second.forked_from, second.fork_stage) == (first.run_id, "merge_chunks")
        assert third.forked_from == second.run_id
        assert (await library.state(third.run_id))["request"]["rerank_top_k"] == 3
        assert len((await library.state(third.run_id))["hits"]) == 1


async def test_a_fork_has_only_what_its_origin_had_before_the_fork_point(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forked = await fork(library, asked["run_id"], "rerank", state={"hits": []})
        await library.answer(forked.run_id)
        with pytest.raises(Conflict) as refused:
            await fork(library, forked.run_id, "generate_answer")
        assert refused.value.code == "stage_not_reached"
        assert refused.value.details == {"reached": [*BEFORE_RERANK, "fallback", "finalize"]}


async def test_a_stage_that_a_run_never_came_to_is_refused_with_those_it_came_to(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        greeting = await library.ask("你好！")
        rows = await count_rows(library)
        with pytest.raises(Conflict, match="load_history, match_ready_answer, understand_query") as refused:
            await fork(library, greeting["run_id"], "rerank")
        assert refused.value.code == "stage_not_reached"
        assert "rerank" not in refused.value.details["reached"]
        with pytest.raises(BadRequest, match="load_history, match_ready_answer, answer_from_faq") as unknown:
            await fork(library, greeting["run_id"], "重排")
        assert unknown.value.code == "bad_stage"
        with pytest.raises(NotFound):
            await fork(library, "没有", "rerank")
        assert await count_rows(library) == rows


async def test_a_failed_run_is_forked_from_the_stage_that_failed(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        library.chat.scripts.insert(0, ["一 one", RuntimeError("broken")])
        asked = await library.ask()
        assert (await library.answer(asked["run_id"])).status == "failed"
        forked = await fork(library, asked["run_id"], "generate_answer")
        message = await library.answer(forked.run_id)
        assert message.status == "complete"
        assert "一 one" not in message.content
        with pytest.raises(Conflict, match="did not reach finalize"):
            await fork(library, asked["run_id"], "finalize")


async def test_a_run_that_goes_on_is_forked_and_stopped_beside_its_forks(tmp_path: Path) -> None:
    gate = Gate()
    async with a_library(tmp_path) as library:
        stream = library.chat.stream

        async def held(*given: Any) -> Any:
            if not gate.opened.is_set():
                await gate.wait()
            async for piece in stream(*given):
                yield piece

        library.chat.stream = held  # type: ignore[method-assign]
        session = await library.sessions.create()
        asked = an_asked(session.id, ZH, kb_ids=["kb1"])
        await library.runs.start(asked)
        await gate.reached.wait()
        forks = [
            await fork(library, asked["run_id"], stage)
            for stage in ("rerank", "merge_chunks", "generate_answer", "load_history")
        ]
        assert len(await library.journal.read(read_unfinished)) == 5
        assert await library.runs.stop(session.id, forks[0].message_id) == "stopped"
        assert await library.runs.stop(session.id, asked["message_id"]) == "stopped"
        late = await fork(library, asked["run_id"], "generate_answer")
        gate.opened.set()
        answers = [await library.answer(one.run_id) for one in (*forks[1:], late)]
        assert {answer.status for answer in answers} == {"complete"}
        assert len({answer.content for answer in answers}) == 1
        assert types(await library.events.read(forks[0].run_id))[-1] == "stop"


async def test_several_forks_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forks = await asyncio.gather(
            *(fork(library, asked["run_id"], "rerank", settings={"rerank_top_k": n}) for n in range(1, 7))
        )
        kept = []
        for forked in forks:
            await library.answer(forked.run_id)
            kept.append((await library.state(forked.run_id))["request"]["rerank_top_k"])
        assert kept == [1, 2, 3, 4, 5, 6]
        assert len({forked.message_id for forked in forks}) == 6


async def test_the_first_start_of_a_fork_is_none_of_the_tries_after_a_crash(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forked = await fork(library, asked["run_id"], "generate_answer")
        await library.answer(forked.run_id)
        row = await library.journal.read(partial(read_run, run_id=forked.run_id))
        assert row.resumes == 0


async def test_so_many_forks_go_on_at_once_and_the_others_in_turn(tmp_path: Path) -> None:
    gate, begun = Gate(), 0
    async with a_library(tmp_path) as library:
        stream = library.chat.stream

        async def held(*given: Any) -> Any:
            nonlocal begun
            begun += 1
            if begun == FORKS_AT_ONCE:
                gate.reached.set()
            await gate.opened.wait()
            async for piece in stream(*given):
                yield piece

        asked = await library.ask()
        library.chat.stream = held  # type: ignore[method-assign]
        forks = [await fork(library, asked["run_id"], "generate_answer") for _ in range(FORKS_AT_ONCE + 3)]
        await gate.reached.wait()
        # Beside them a question is answered at once, and one of those that wait is stopped at once.
        session = await library.sessions.create()
        question = an_asked(session.id, ZH, kb_ids=["kb1"])
        await library.runs.start(question)
        assert await library.runs.stop(forks[-1].session_id, forks[-1].message_id) == "stopped"
        assert begun <= FORKS_AT_ONCE + 1
        gate.opened.set()
        answers = [
            await library.answer(run_id) for run_id in (*(one.run_id for one in forks), question["run_id"])
        ]
        assert [answer.status for answer in answers] == [
            *["complete"] * (len(forks) - 1),
            "stopped",
            "complete",
        ]
        assert begun == FORKS_AT_ONCE + 3


async def test_a_run_of_an_older_program_is_forked(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        older: Any = {name: value for name, value in asked.items() if name not in ("prompts", "chat_model")}
        older |= {name: f"{name}-2" for name in ("run_id", "message_id", "user_message_id", "request_id")}
        await library.journal.write(partial(insert_run, asked=older))
        library.runs.adopt(older)
        assert (await library.answer("run_id-2")).status == "complete"
        for stage in ("load_history", "rerank"):
            forked = await fork(library, "run_id-2", stage, prompts={"system_prompt": "短 short"})
            assert (await library.answer(forked.run_id)).status == "complete"


# --- what retention and deletion leave ---


async def trim(library: Library, asked: Asked) -> None:
    """One run to its last checkpoint; retention would trim its forks too."""
    await library.graph.checkpointer.aprune([asked["run_id"]])  # type: ignore[union-attr]
    statement = "update runs set kept = 'last' where id = ?"
    await library.journal.write(lambda c: c.execute(statement, (asked["run_id"],)))


async def empty(library: Library, run_id: str, kept: Literal["nothing", "erased"] = "nothing") -> None:
    """One run to its message."""
    assert await library.journal.write(partial(empty_run, run_id=run_id, kept=kept))


async def test_of_a_run_with_its_last_checkpoint_only_the_first_stage_is_left(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        first = await fork(library, asked["run_id"], "merge_chunks")
        await library.answer(first.run_id)
        await trim(library, asked)
        for run_id in (asked["run_id"], first.run_id):
            with pytest.raises(Conflict) as refused:
                await fork(library, run_id, "rerank")
            assert refused.value.code == "checkpoint_gone"
            assert refused.value.details["kept"] == "last"
        again = await fork(library, asked["run_id"], "load_history")
        assert (await library.answer(again.run_id)).status == "complete"
        own = await fork(library, first.run_id, "merge_chunks")
        assert (await library.answer(own.run_id)).status == "complete"


async def test_the_last_checkpoint_of_a_failed_run_is_enough_to_try_its_last_stage_again(
    tmp_path: Path,
) -> None:
    async with a_library(tmp_path) as library:
        library.chat.scripts.insert(0, [RuntimeError("broken")])
        asked = await library.ask()
        await trim(library, asked)
        forked = await fork(library, asked["run_id"], "generate_answer")
        assert (await library.answer(forked.run_id)).status == "complete"


@pytest.mark.parametrize(("kept", "code"), [("nothing", "run_trimmed"), ("erased", "run_erased")])
async def test_a_run_without_a_record_is_gone(
    tmp_path: Path, kept: Literal["nothing", "erased"], code: str
) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        await empty(library, asked["run_id"], kept)
        for stage in ("load_history", "rerank"):
            with pytest.raises(Gone) as refused:
                await fork(library, asked["run_id"], stage)
            assert refused.value.code == code


async def test_a_fork_keeps_the_texts_it_shows_when_its_origin_is_emptied(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forked = await fork(library, asked["run_id"], "generate_answer")
        before = (await library.answer(forked.run_id)).references
        assert all(reference["content"] for reference in before)

        await empty(library, asked["run_id"])
        assert (await library.answer(forked.run_id)).references == before


async def test_a_session_takes_its_forks_along_and_never_lists_them(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        session = asked["session_id"]
        forked = await fork(library, asked["run_id"], "rerank")
        await library.answer(forked.run_id)
        messages, total = await library.sessions.messages(session)
        assert ([one.run_id for one in messages], total) == ([asked["run_id"]] * 2, 2)
        turns = await library.sessions.turns(session, before="", limit=20)
        assert [turn["request_id"] for turn in turns] == [asked["request_id"]]
        later = await library.ask("那住宿呢？ And hotels?", session_id=session)
        history = (await library.state(later["run_id"]))["history"]
        assert [turn["request_id"] for turn in history] == [asked["request_id"]]

        # What came before the question is what its fork sees too, also after later turns.
        again = await fork(library, asked["run_id"], "load_history")
        await library.answer(again.run_id)
        assert (await library.state(again.run_id))["history"] == []
        await library.sessions.delete(session)
        assert {table: rows for table, rows in (await count_rows(library)).items() if rows} == {
            "schema_version": 1
        }


async def test_a_session_that_is_deleted_meanwhile_leaves_no_fork_behind(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        write = library.forks._write_checkpoint  # pyright: ignore[reportPrivateUsage]

        async def write_and_delete(*given: Any) -> None:
            await write(*given)
            await library.sessions.delete(asked["session_id"])

        library.forks._write_checkpoint = write_and_delete  # type: ignore[method-assign]
        with pytest.raises(NotFound):
            await fork(library, asked["run_id"], "rerank")
        assert (await count_rows(library))["checkpoints"] == 0


async def test_a_stage_that_another_run_ran_is_not_forked_when_that_one_loses_its_record_meanwhile(
    tmp_path: Path,
) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        first = await fork(library, asked["run_id"], "generate_answer")
        await library.answer(first.run_id)
        write = library.forks._write_checkpoint  # pyright: ignore[reportPrivateUsage]

        async def write_and_empty(*given: Any) -> None:
            await write(*given)
            await empty(library, asked["run_id"], "erased")

        library.forks._write_checkpoint = write_and_empty  # type: ignore[method-assign]
        with pytest.raises(Gone) as refused:
            await fork(library, first.run_id, "rerank")
        assert refused.value.code == "run_erased"
        assert await runs_forked_from(library, first.run_id) == []
        threads = await library.journal.read(
            lambda c: c.execute("select distinct thread_id from checkpoints").fetchall()
        )
        assert threads == [(first.run_id,)]


async def count_rows(library: Library) -> dict[str, int]:
    def count(c: Any) -> dict[str, int]:
        tables = [name for (name,) in c.execute("select name from sqlite_master where type = 'table'")]
        return {table: c.execute(f"select count(*) from {table}").fetchone()[0] for table in tables}

    return await library.journal.read(count)


async def test_a_caller_that_goes_away_leaves_a_fork_that_runs(tmp_path: Path) -> None:
    async with a_library(tmp_path) as library:
        asked = await library.ask()
        forking = asyncio.create_task(fork(library, asked["run_id"], "rerank"))
        await asyncio.sleep(0)
        (working,) = library.forks._tasks  # pyright: ignore[reportPrivateUsage]
        forking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forking
        forked = await working
        assert (await library.answer(forked.run_id)).status == "complete"
        assert await runs_forked_from(library, asked["run_id"]) == [forked.run_id]


async def runs_forked_from(library: Library, run_id: str) -> list[str]:
    statement = "select id from runs where forked_from = ?"
    return await library.journal.read(lambda c: [id for (id,) in c.execute(statement, (run_id,))])


# --- killed on the way ---


async def test_a_fork_that_is_killed_before_it_has_a_row_was_never_there(tmp_path: Path) -> None:
    kill(tmp_path, "checkpoint")
    async with a_library(tmp_path) as library:
        assert await library.journal.read(read_unfinished) == []
        rows = await count_rows(library)
        assert (rows["runs"], rows["messages"]) == (1, 2)


@pytest.mark.parametrize(("hold", "used"), [("row", ["reranker", "chat"]), ("chat", ["chat"])])
async def test_a_killed_fork_goes_on_from_where_it_was(tmp_path: Path, hold: str, used: list[str]) -> None:
    async with a_library(tmp_path / "undisturbed") as library:
        asked = await library.ask()
        undisturbed = await told(library, (await library.forks.fork(asked["run_id"], FORK)).run_id)

    kill(tmp_path / "killed", hold)
    async with a_library(tmp_path / "killed") as library:
        (left,) = await library.journal.read(read_unfinished)
        await library.runs.resume_unfinished()
        assert await told(library, left.id) == undisturbed
        assert library.used == used
        rows = await count_rows(library)
        assert (rows["runs"], rows["messages"]) == (2, 3)


def kill(folder: Path, hold: str) -> None:
    """One life of a process that forks, up to where it holds."""
    command = [sys.executable, "-m", "tests.checkpoints.forking", str(folder), hold]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)


async def told(library: Library, run_id: str) -> dict[str, Any]:
    """What there is of a run in the end, but for ids and times; with the time of day a prompt changes."""
    message = await library.answer(run_id)
    state = await library.state(run_id)
    events = await library.events.read(run_id)
    calls = [{**call, "duration_ms": 0, "prompt": ""} for call in state["calls"]]
    own = {"request": None, "budget": None, "timings": [*state["timings"]], "calls": calls}
    return {
        "answer": message.content,
        "events": [(event["seq"], event["response_type"], event["content"]) for event in events],
        "state": {**state, **own},
    }
