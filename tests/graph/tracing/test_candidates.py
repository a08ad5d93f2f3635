"""What a trace says of one candidate: places, scores, and where it went."""

from dataclasses import replace

import pytest

from headrace.context import Chunk
from headrace.graph.tracing.candidates import SNIPPET
from headrace.graph.tracing.trace import build_trace

from ...fakes import FakeReranker, ScriptedChat, World, a_chunk, a_hit, a_turn
from .recording import an_event, candidate, hides, recorded, traced

pytestmark = pytest.mark.anyio

REPEATED = " ".join(f"word{n}" for n in range(20))


async def a_world(*chunks: Chunk, title: str | None = None) -> World:
    world = World()
    await world.add(*chunks, title=title)
    return world


async def three_documents() -> World:
    return await a_world(
        a_chunk("a", "差旅报销标准为每晚 450 元", document_id="zh", page=7, section="3 差旅"),
        a_chunk("b", "travel expenses 差旅", document_id="en"),
        a_chunk("c", "年假 差旅", document_id="leave"),
    )


async def test_the_places_and_scores_of_every_stage_stand_side_by_side() -> None:
    judge = FakeReranker({"450": 0.9}, rest=0.5)
    trace = await traced((await three_documents()).context(reranker=judge), "差旅报销标准")
    first = trace["candidates"][0]
    assert (first["chunk_id"], first["document_title"]) == ("a", "zh")
    assert (first["section"], first["page"]) == ("3 差旅", 7)
    assert first["ranks"] == {
        "vector": 1,
        "keyword": 1,
        "fused": 1,
        "collected": 1,
        "reranked": 1,
        "merged": 1,
        "selected": 1,
    }
    scores = first["scores"]
    assert (scores["rerank"], scores["keyword"], scores["coverage"]) == (0.9, 6.0, None)
    assert scores["fused"] == 1.0
    assert scores["composite"] == scores["final"] == pytest.approx(0.6 * 0.9 + 0.3 + 0.1)
    assert scores["mmr"] == 0.7
    assert (first["alias"], first["fate"], first["match_type"]) == ("c1", "selected", "both")


async def test_selected_ones_come_first_then_those_that_came_farther() -> None:
    judge = FakeReranker({"年假": 0.1}, rest=0.9)
    trace = await traced((await three_documents()).context(reranker=judge), "差旅报销", rerank_top_k=1)
    assert [(one["chunk_id"], one["fate"]) for one in trace["candidates"]] == [
        ("a", "selected"),
        ("b", "left"),
        ("c", "left"),
    ]


async def test_what_the_answer_cites_is_told_from_what_it_only_had() -> None:
    chat = ScriptedChat(['每晚 450 元<ref id="c1"/>。'])
    trace = await traced((await three_documents()).context(chat=chat), "差旅报销标准")
    assert [one["alias"] for one in trace["candidates"] if one["cited"]] == ["c1"]
    assert len([one for one in trace["candidates"] if one["alias"]]) == 3


async def test_a_hit_under_the_threshold_has_the_score_and_the_limit() -> None:
    judge = FakeReranker({"年假": 0.1}, rest=0.9)
    trace = await traced((await three_documents()).context(reranker=judge), "差旅报销")
    gone = candidate(trace, "c")
    assert gone["left"] == {
        "stage": "rerank",
        "reason": "below_threshold",
        "score": 0.1,
        "limit": 0.3,
        "other": None,
    }
    assert (gone["scores"]["rerank"], gone["scores"]["final"]) == (0.1, None)
    assert gone["scores"]["composite"] is not None
    assert "reranked" not in gone["ranks"]


async def test_a_near_duplicate_names_the_hit_that_it_repeats() -> None:
    world = await a_world(
        a_chunk("a", f"travel {REPEATED}", document_id="d1"),
        a_chunk("b", f"travel {REPEATED} more", document_id="d2"),
    )
    gone = candidate(await traced(world.context(), f"travel {REPEATED}"), "b")
    assert gone["left"] is not None
    assert (gone["left"]["reason"], gone["left"]["other"]) == ("near_duplicate", "a")
    assert gone["scores"]["composite"] is not None


async def test_a_hit_that_says_nothing_new_has_its_value_and_what_it_is_like() -> None:
    world = await a_world(
        a_chunk("a", "travel one two three four", document_id="d1"),
        a_chunk("b", "travel one two three five", document_id="d2"),
    )
    context = world.context(reranker=FakeReranker(rest=0.9))
    gone = candidate(await traced(context, "travel one two three four", rerank_top_k=1), "b")
    assert gone["left"] is not None
    assert (gone["left"]["reason"], gone["left"]["other"], gone["left"]["limit"]) == ("not_diverse", "a", 1)
    assert gone["scores"]["mmr"] is not None


async def test_a_text_found_twice_is_part_of_the_better_one() -> None:
    world = await a_world(
        a_chunk("a", "差旅 报销。", document_id="d1"), a_chunk("b", "差旅报销", document_id="d2")
    )
    trace = await traced(world.context(), "差旅报销")
    assert candidate(trace, "b")["merged_into"] == "a"
    assert (candidate(trace, "b")["fate"], candidate(trace, "b")["merged_by"]) == ("merged", "same_text")
    assert candidate(trace, "b")["left"] is None


async def test_children_of_one_parent_are_part_of_the_best_of_them() -> None:
    world = await a_world(
        a_chunk("p", "差旅报销标准。出差须经批准。", kind="parent"),
        a_chunk("a", "差旅报销标准", parent_chunk_id="p"),
        a_chunk("b", "出差 差旅", parent_chunk_id="p", chunk_index=1),
    )
    trace = await traced(world.context(), "差旅报销标准")
    assert (candidate(trace, "b")["merged_into"], candidate(trace, "b")["merged_by"]) == ("a", "same_parent")


async def test_what_went_into_a_hit_that_went_into_another_is_part_of_the_last_one() -> None:
    whole = f"travel permits are given to all. {REPEATED}"
    world = await a_world(
        a_chunk("p", "travel permits are given to all.", kind="parent", document_id="d1"),
        a_chunk("a", "travel permits are given", parent_chunk_id="p", document_id="d1"),
        a_chunk("b", "permits are given to all", parent_chunk_id="p", chunk_index=1, document_id="d1"),
        a_chunk("z", whole, document_id="d2"),
    )
    trace = await traced(world.context(), "travel permits")
    assert candidate(trace, "a")["merged_into"] == "z"
    assert (candidate(trace, "b")["merged_into"], candidate(trace, "b")["merged_by"]) == ("z", "same_parent")


async def test_what_left_may_still_be_read_below_the_same_parent() -> None:
    world = await a_world(
        a_chunk("p", "差旅报销标准。出差须经批准。", kind="parent"),
        a_chunk("a", "差旅报销标准", parent_chunk_id="p"),
        a_chunk("b", "出差 差旅 批准", parent_chunk_id="p", chunk_index=1),
    )
    context = world.context(reranker=FakeReranker({"批准": 0.1}, rest=0.9))
    gone = candidate(await traced(context, "差旅报销标准"), "b")
    assert (gone["fate"], gone["merged_into"], gone["shown_in"]) == ("left", None, "a")


async def test_a_passage_of_the_last_answer_has_only_this_question_s_scores() -> None:
    world = await three_documents()
    await world.add(a_chunk("old", "expenses of hotels", document_id="hotels"))
    await world.keywords.delete("kb1", ["old"])
    world.vectors.entries["kb1", "fake-embedder"].pop("old")
    earlier = a_turn("hotels?", references=[a_hit("old", document_id="hotels")])
    trace = await traced(world.context(history=[earlier]), "expenses of hotels")
    found = candidate(trace, "old")
    assert (found["match_type"], found["fate"]) == ("history", "selected")
    assert (found["scores"]["vector"], found["scores"]["fused"]) == (None, None)
    assert found["scores"]["final"] is not None
    assert {*found["ranks"]} == {"merged", "selected"}


async def test_what_left_before_it_was_a_hit_is_known_by_its_chunk() -> None:
    world = await three_documents()
    await world.vectors.delete("kb1", "fake-embedder", ["c"])
    gone = candidate(await traced(world.context(), "差旅报销标准", keyword_threshold=3.0), "c")
    assert gone["left"] is not None
    assert gone["left"]["reason"] == "below_keyword_threshold"
    assert (gone["document_title"], gone["scores"]["keyword"]) == ("leave", 2.0)
    assert (gone["match_type"], gone["snippet"]) == ("keyword", "年假 差旅")


async def test_the_snippet_is_one_short_line() -> None:
    world = await a_world(a_chunk("a", "差旅\n\n报销。" * 100))
    snippet = candidate(await traced(world.context(), "差旅"), "a")["snippet"]
    assert len(snippet) == SNIPPET
    assert snippet.startswith("差旅 报销。差旅")
    assert snippet.endswith("…")


async def test_a_secret_at_the_cut_of_a_snippet_does_not_show_its_beginning() -> None:
    world = await a_world(a_chunk("a", f"{'差旅' * 97}sk-1234567890abcdef"))
    run = await recorded(world.context(), "差旅")
    trace = build_trace(replace(run, hide=hides("sk-1234567890abcdef")))
    assert "sk-" not in candidate(trace, "a")["snippet"]


async def test_a_chunk_that_was_edited_since_shows_what_was_read_then() -> None:
    world = await a_world(a_chunk("a", "差旅报销标准"))
    run = await recorded(world.context(), "差旅")
    world.catalogue.all_chunks["a"] = a_chunk("a", "全新的文字", revision=2)
    edited = {**run.chunks, "a": world.catalogue.all_chunks["a"]}
    assert candidate(build_trace(replace(run, chunks=edited)), "a")["snippet"] == "差旅报销标准"


async def test_a_deleted_document_is_called_as_the_answer_called_it() -> None:
    run = await recorded((await three_documents()).context(), "差旅报销标准")
    told = an_event(1, "references")
    told["knowledge_references"] = [{"id": "a", "knowledge_id": "zh", "knowledge_title": "旧制度.md"}]
    trace = build_trace(replace(run, documents={}, chunks={}, texts={}, events=[told]))
    assert candidate(trace, "a")["document_title"] == "旧制度.md"
    assert (candidate(trace, "b")["document_title"], candidate(trace, "b")["snippet"]) == ("", "")
    assert "The texts of 3 selected passages are gone: prompts stand without them." in trace["missing"]
    assert "Deleted since: documents that candidates came from (3)." in trace["missing"]
