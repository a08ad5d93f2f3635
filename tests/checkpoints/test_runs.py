"""The life of a run, with a toy graph over a real journal."""

import asyncio
import logging
from pathlib import Path

import pytest

from headrace.checkpoints.events import RunEmitter
from headrace.errors import Conflict, DependencyFailed, NotFound
from headrace.ids import new_id

from .toys import PIECES, Gate, a_stack, an_asked, live_answer, types

pytestmark = pytest.mark.anyio

ANSWER = "".join(PIECES)


async def test_a_run_tells_its_story_and_ends_once(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        events = await stack.all_of(asked)
        message = await stack.runs.finished(asked["run_id"])

    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert types(events) == ["agent_query", "tool_call", "tool_result", *["answer"] * 6, "complete"]
    assert [event["done"] for event in events] == [False] * (len(events) - 1) + [True]
    assert live_answer(events) == message.content == ANSWER
    assert message.status == "complete"


async def test_the_first_event_says_which_messages_belong_to_the_run(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask("Where does the water come from?")
        first, *_ = await stack.all_of(asked)

    assert first == {
        "id": asked["request_id"],
        "seq": 1,
        "run_id": asked["run_id"],
        "response_type": "agent_query",
        "content": "Where does the water come from?",
        "done": False,
        "data": {"user_message_id": asked["user_message_id"]},
        "session_id": asked["session_id"],
        "assistant_message_id": asked["message_id"],
    }


async def test_the_last_event_and_the_message_carry_the_timing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        complete = (await stack.all_of(asked))[-1]
        message = await stack.sessions.message(asked["message_id"])
        run = await stack.runs.get(asked["run_id"])

    assert complete["data"]["timing"]["stages_ms"] == {"look": 1.0, "write": 2.0, "sign": 0.5}
    assert (complete["data"]["outcome"], complete["data"]["model"]) == ("answered", "toy")
    assert message.timing == run["timing"] == complete["data"]["timing"]
    assert run["status"] == "complete"
    lines = [record.getMessage() for record in caplog.records if asked["run_id"] in record.getMessage()]
    assert len(lines) == 1
    assert "outcome=answered" in lines[0]
    assert "'write': 2.0" in lines[0]


async def test_both_messages_are_there_from_the_start(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask("水\n从哪里来？")
        (user, assistant), total = await stack.sessions.messages(asked["session_id"])
        session = await stack.sessions.get(asked["session_id"])

    assert total == 2
    assert (user.role, user.content, user.status) == ("user", "水\n从哪里来？", "complete")
    assert (assistant.role, assistant.content, assistant.status) == ("assistant", "", "running")
    assert session.title == "水"


async def test_every_id_is_a_place_to_go_on_from(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await stack.ask()
        events = await stack.all_of(asked)
        for after in range(len(events) + 1):
            assert await stack.all_of(asked, after=after) == events[after:]
            assert await stack.events.read(asked["run_id"], after=after) == events[after:]


async def test_followers_come_and_go_and_none_misses_or_repeats(tmp_path: Path) -> None:
    gates = [Gate() for _ in PIECES]

    async def between(_: RunEmitter, number: int) -> None:
        await gates[number].wait()

    async with a_stack(tmp_path, between=between) as stack:
        asked = await stack.ask()
        following = [asyncio.create_task(stack.all_of(asked))]
        for gate in gates:
            await gate.reached.wait()
            following.append(asyncio.create_task(stack.all_of(asked, after=len(following))))
            leaving = asyncio.create_task(stack.all_of(asked))
            await asyncio.sleep(0)
            leaving.cancel()
            gate.opened.set()
        seen = await asyncio.gather(*following)

    for after, events in enumerate(seen):
        assert [event["seq"] for event in events] == list(range(after + 1, 11))


async def test_those_who_follow_a_run_that_is_deleted_are_let_go(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        asked = await stack.ask()
        following = stack.events.follow(asked["run_id"])
        first = await anext(following)
        gate.opened.set()
        await stack.runs.finished(asked["run_id"])
        await stack.sessions.delete(asked["session_id"])
        rest = [event async for event in following]

    assert first["response_type"] == "agent_query"
    assert rest == [] or types(rest)[0] == "tool_call"


async def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        for reading in (stack.runs.get("no"), stack.runs.finished("no"), stack.events.read("no")):
            with pytest.raises(NotFound) as error:
                await reading
            assert error.value.code == "run_not_found"
        with pytest.raises(NotFound):
            await anext(aiter(stack.events.follow("no")))


async def test_a_session_answers_one_question_at_a_time(tmp_path: Path) -> None:
    gate = Gate()
    async with a_stack(tmp_path, looking=gate) as stack:
        first = await stack.ask()
        with pytest.raises(Conflict) as error:
            await stack.ask("And then?", session_id=first["session_id"])
        assert (error.value.code, error.value.details) == (
            "session_busy",
            {"message_id": first["message_id"]},
        )
        other = await stack.ask("另一个会话")
        assert other["session_id"] != first["session_id"]

        gate.opened.set()
        await stack.runs.finished(first["run_id"])
        await stack.ask("And then?", session_id=first["session_id"])


async def test_the_same_request_again_leads_to_the_same_run(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        session = await stack.sessions.create()
        request_id = new_id()
        tries = [an_asked(session.id, request_id=request_id) for _ in range(3)]
        runs = await asyncio.gather(*(stack.runs.start(asked) for asked in tries))
        await stack.runs.finished(runs[0])
        again = await stack.runs.start(an_asked(session.id, request_id=request_id))
        _, total = await stack.sessions.messages(session.id)

    assert {*runs, again} == {tries[0]["run_id"]}
    assert stack.ran == ["look", "write", "sign"]
    assert total == 2


async def test_a_question_needs_a_session_of_its_tenant(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        session = await stack.sessions.create(tenant_id="elsewhere")
        for session_id in ("no", session.id):
            with pytest.raises(NotFound) as error:
                await stack.runs.start(an_asked(session_id))
            assert error.value.code == "session_not_found"


async def test_a_caller_that_goes_away_leaves_an_owned_run(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = an_asked((await stack.sessions.create()).id)
        start = asyncio.create_task(stack.runs.start(asked))
        await asyncio.sleep(0)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        # A write of our own comes after that of the start.
        await stack.journal.write(lambda c: None)
        message = await stack.runs.finished(asked["run_id"])

    assert message.content == ANSWER


async def test_our_errors_reach_the_person_with_code_and_partial_text(tmp_path: Path) -> None:
    async def between(_: RunEmitter, number: int) -> None:
        if number == 2:
            raise DependencyFailed("chat", "the chat model is not answering", code="model_down")

    async with a_stack(tmp_path, between=between) as stack:
        asked = await stack.ask()
        events = await stack.all_of(asked)
        message = await stack.runs.finished(asked["run_id"])

    assert types(events)[-1] == "error"
    assert events[-1]["content"] == "the chat model is not answering"
    assert events[-1]["data"] == {"code": "model_down", "status": 503}
    assert (message.status, message.content) == ("failed", "水从渠")
    assert message.error == {
        "code": "model_down",
        "status": 503,
        "message": "the chat model is not answering",
    }
    assert message.timing is not None
    assert message.timing["stages_ms"] == {"look": 1.0}


@pytest.mark.parametrize(("language", "sentence"), [("zh", "服务器内部出错"), ("en", "Something went wrong")])
async def test_other_errors_are_logged_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, language: str, sentence: str
) -> None:
    async def looking(_: RunEmitter) -> None:
        raise ZeroDivisionError("secret detail")

    async with a_stack(tmp_path, looking=looking) as stack:
        asked = await stack.ask(language=language)
        events = await stack.all_of(asked)

    assert types(events) == ["agent_query", "tool_call", "tool_result", "error"]
    assert events[2]["data"]["interrupted"] is True
    assert events[2]["data"]["tool_call_id"] == events[1]["data"]["tool_call_id"]
    assert events[3]["content"].startswith(sentence)
    assert events[3]["data"] == {"code": "internal_error", "status": 500}
    assert "secret" not in str(events)
    assert "secret detail" in caplog.text


async def test_what_json_cannot_say_fails_the_run_and_leaves_no_gap(tmp_path: Path) -> None:
    async def looking(emit: RunEmitter) -> None:
        emit("warning", "?", data={"code": object()})

    async with a_stack(tmp_path, looking=looking) as stack:
        asked = await stack.ask()
        events = await stack.all_of(asked)

    assert types(events) == ["agent_query", "tool_call", "tool_result", "error"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]


async def test_an_event_that_cannot_be_stored_fails_the_run_and_leaves_no_gap(tmp_path: Path) -> None:
    gate = Gate()

    async def between(_: RunEmitter, number: int) -> None:
        if number == 3:
            await gate.wait()

    async with a_stack(tmp_path, between=between) as stack:
        asked = await stack.ask()
        await gate.reached.wait()
        # Somebody else writes to this run's log: the place of the next event is taken.
        await stack.journal.write(
            lambda c: c.execute(
                "insert into events values (?, 7, 'warning', null, '{}', 0)", (asked["run_id"],)
            )
        )
        gate.opened.set()
        events = await stack.all_of(asked)
        message = await stack.runs.finished(asked["run_id"])

    assert [event["seq"] for event in events] == list(range(1, 9))
    assert types(events)[-2:] == ["warning", "error"]
    assert (message.status, message.content) == ("failed", "水从渠中来。")


async def test_a_run_has_a_hard_limit(tmp_path: Path) -> None:
    gate = Gate()

    async def between(_: RunEmitter, number: int) -> None:
        if number == 2:
            await gate.wait()

    async with a_stack(tmp_path, between=between) as stack:
        asked = await stack.ask(run_limit_s=0.05)
        events = await stack.all_of(asked)
        message = await stack.runs.finished(asked["run_id"])

    assert events[-1]["data"] == {"code": "run_limit", "status": 504}
    assert events[-1]["content"] == "回答用时超过 0.05 秒，已被终止。"
    assert (message.status, message.content) == ("failed", "水从渠")


async def test_the_events_win_over_the_state(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def signing(emit: RunEmitter) -> None:
        emit("answer", "!", data={"segment": emit.new_segment()})

    async with a_stack(tmp_path, signing=signing) as stack:
        asked = await stack.ask()
        message = await stack.runs.finished(asked["run_id"])
        events = await stack.events.read(asked["run_id"])

    assert message.content == ANSWER + "!" == live_answer(events)
    assert "the events win" in caplog.text


async def test_references_are_stored_by_hash_and_read_with_their_text(tmp_path: Path) -> None:
    text = "水从渠中来。\nWater comes down the headrace."

    async with a_stack(tmp_path) as stack:

        async def looking(emit: RunEmitter) -> None:
            (passage,) = await stack.texts.keep([text])
            for alias in ("c1", "c2"):
                emit("references", knowledge_references=[a_reference(alias, passage)])

        stack.hooks["looking"] = looking
        asked = await stack.ask()
        events = await stack.all_of(asked)
        message = await stack.runs.finished(asked["run_id"])
        stored = await stack.journal.read(
            lambda c: c.execute("select refs from messages where role = 'assistant'").fetchone()
        )
        turns = await stack.sessions.turns(asked["session_id"], before="", limit=10)

    shown = [event for event in events if event["response_type"] == "references"]
    assert [event.get("knowledge_references", [{}])[0]["content"] for event in shown] == [text, text]
    assert [(r["alias"], r["content"]) for r in message.references] == [("c2", text)]
    assert "水" not in stored[0]
    assert "\\u6c34" not in stored[0]
    (turn,) = turns
    assert (turn["user"], turn["assistant"]) == (asked["query"], ANSWER)
    assert turn["references"][0]["chunk_id"] == "chunk"
    assert turn["references"][0].get("passage") == message.references[0]["passage"]
    assert turn["references"][0]["source"]["page"] == 3


def a_reference(alias: str, passage: str) -> dict[str, object]:
    return {
        "id": "chunk",
        "alias": alias,
        "chunk_type": "text",
        "knowledge_base_id": "kb",
        "knowledge_id": "document",
        "knowledge_title": "渠.md",
        "chunk_index": 12,
        "sub_chunk_ids": [],
        "score": 0.7,
        "scores": {"vector": 0.7},
        "match_type": "vector",
        "page": 3,
        "boxes": [],
        "section": "1",
        "url": None,
        "date": None,
        "passage": passage,
    }


async def test_many_runs_at_once_each_tell_their_own_story(tmp_path: Path) -> None:
    async with a_stack(tmp_path) as stack:
        asked = await asyncio.gather(*(stack.ask(f"问题 {n}") for n in range(12)))
        logs = await asyncio.gather(*(stack.all_of(one) for one in asked))

    for one, events in zip(asked, logs, strict=True):
        assert [event["seq"] for event in events] == list(range(1, 11))
        assert {event["run_id"] for event in events} == {one["run_id"]}
        assert live_answer(events) == ANSWER
