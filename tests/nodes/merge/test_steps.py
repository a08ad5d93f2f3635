"""Each step of merging, as values in and values out."""

from collections.abc import Mapping

from headrace.context import Chunk
from headrace.nodes.merge.dedupe import without_repeats
from headrace.nodes.merge.history import earlier_references, held_share, history_pieces
from headrace.nodes.merge.overlaps import without_overlaps
from headrace.nodes.merge.parents import parent_ids, with_parents
from headrace.nodes.merge.pieces import Piece
from headrace.nodes.merge.sequences import JOINED_LIMIT, joined
from headrace.nodes.merge.short_context import ENOUGH, MOST, extended

from ...fakes import FakeTokens, a_chunk, a_hit, a_turn, asked
from .pieces import a_piece, ids

# --- repeats and overlaps ---


def test_the_better_of_two_equal_texts_stays() -> None:
    kept, departures = without_repeats(
        [a_piece("a", "差旅报销", score=0.4), a_piece("b", "差旅 报销！", score=0.6)]
    )
    assert ids(kept) == ["b"]
    assert [(left["chunk_id"], left["reason"], left.get("other")) for left in departures] == [
        ("a", "same_text", "b")
    ]


def test_a_text_that_a_better_one_holds_leaves() -> None:
    whole = a_piece("a", "Annual leave is fifteen days. Ask your manager.", score=0.9)
    part = a_piece("b", "Annual leave is fifteen days.", score=0.5, document_id="doc2")
    kept, departures = without_overlaps([part, whole], FakeTokens())
    assert ids(kept) == ["a"]
    assert (departures[0]["reason"], departures[0].get("other")) == ("overlap", "a")


def test_a_longer_text_takes_the_place_and_the_score_of_a_better_part_of_it() -> None:
    whole = a_piece("a", "年假为十五天。请向主管申请。", score=0.5)
    part = a_piece("b", "年假为十五天。", score=0.9, document_id="doc2")
    kept, [left] = without_overlaps([whole, part], FakeTokens())
    assert (left["chunk_id"], left.get("other")) == ("b", "a")
    assert [(piece.hit["chunk_id"], piece.hit["score"]) for piece in kept] == [("a", 0.9)]


def test_texts_that_share_most_words_are_one() -> None:
    words = [f"w{n}" for n in range(20)]
    better = a_piece("a", " ".join(words), score=0.9)
    other = a_piece("b", " ".join(reversed(words)), score=0.5)
    assert ids(without_overlaps([other, better], FakeTokens())[0]) == ["a"]


def test_texts_that_share_little_both_stay() -> None:
    pieces = [a_piece("a", "travel expenses", score=0.9), a_piece("b", "annual leave", score=0.5)]
    assert ids(without_overlaps(pieces, FakeTokens())[0]) == ["a", "b"]


# --- history ---


def test_references_of_the_latest_turn_that_has_any_are_looked_at() -> None:
    history = [a_turn("q1", references=[a_hit("old")]), a_turn("q2", references=[a_hit("new")]), a_turn("q3")]
    assert [hit["chunk_id"] for hit in earlier_references(history, asked())] == ["new"]


def test_references_out_of_this_run_s_scope_are_not() -> None:
    history = [a_turn("q", references=[a_hit("a", kb_id="kb9"), a_hit("b", document_id="doc9"), a_hit("c")])]
    assert [hit["chunk_id"] for hit in earlier_references(history, asked(document_ids=["doc1"]))] == ["c"]


def test_an_earlier_reference_about_the_question_comes_in_at_a_discount() -> None:
    chunks = {"a": a_chunk("a", "差旅报销标准"), "b": a_chunk("b", "年假")}
    references = [a_hit("a", score=0.5), a_hit("b", score=0.9)]
    [piece] = history_pieces(references, chunks, [], "差旅报销", FakeTokens())
    assert piece.hit["chunk_id"] == "a"
    assert (piece.hit["match_type"], piece.hit["score"]) == ("history", 0.3)


def test_gone_disabled_and_present_references_stay_out() -> None:
    chunks = {"off": a_chunk("off", "leave", enabled=False), "here": a_chunk("here", "leave")}
    references = [a_hit("gone"), a_hit("off"), a_hit("here")]
    assert history_pieces(references, chunks, [a_piece("here", "leave")], "leave", FakeTokens()) == []


def test_at_most_three_references_come_in() -> None:
    chunks = {f"c{n}": a_chunk(f"c{n}", f"leave {n}") for n in range(5)}
    assert len(history_pieces([a_hit(id) for id in chunks], chunks, [], "leave", FakeTokens())) == 3


def test_rare_words_weigh_more() -> None:
    background = [{"leave", "days"}, {"leave"}, {"leave", "x"}]
    assert held_share({"leave", "days"}, {"days"}, background) > held_share(
        {"leave", "days"}, {"leave"}, background
    )
    assert held_share(set(), {"a"}, background) == 0.0


# --- parents ---


def test_a_child_is_read_with_its_parent() -> None:
    child = a_piece("a", "十五天。", parent_chunk_id="p")
    parent = a_chunk("p", "年假为十五天。请向主管申请。", kind="parent")
    assert parent_ids([child]) == ["p"]
    [piece] = with_parents([child], {"p": parent})[0]
    assert (piece.hit["chunk_id"], piece.text) == ("a", parent.text)


def test_children_of_one_parent_become_one_hit() -> None:
    parent = a_chunk("p", "one two three", kind="parent")
    children = [
        a_piece("a", "one", score=0.5, index=0, parent_chunk_id="p"),
        a_piece("b", "two", score=0.8, index=1, parent_chunk_id="p"),
        a_piece("c", "three", score=0.2, index=2, parent_chunk_id="p"),
    ]
    [piece], departures = with_parents(children, {"p": parent})
    assert (piece.hit["chunk_id"], piece.hit["score"], piece.text) == ("b", 0.8, "one two three")
    assert set(piece.hit["sub_chunk_ids"]) == {"a", "b", "c"}
    assert [(left["reason"], left.get("other")) for left in departures] == [("same_parent", "b")] * 2


def test_a_child_without_its_parent_stays_as_it_is() -> None:
    child = a_piece("a", "text", parent_chunk_id="p")
    assert with_parents([child], {})[0] == [child]
    assert with_parents([child], {"p": a_chunk("p", "hidden", enabled=False)})[0] == [child]


# --- sequences ---


def test_neighbours_are_joined_without_repeating_their_overlap() -> None:
    first = a_piece("a", "差旅费用应在十个工作日内报销，逾期不予受理。", index=3, score=0.4)
    second = a_piece("b", "报销，逾期不予受理。餐费每天不超过一百元。", index=4, score=0.9)
    [piece], departures = joined([second, first])
    assert piece.text == "差旅费用应在十个工作日内报销，逾期不予受理。餐费每天不超过一百元。"
    assert (piece.hit["chunk_id"], piece.hit["score"]) == ("b", 0.9)
    assert set(piece.hit["sub_chunk_ids"]) == {"a", "b"}
    assert [(left["chunk_id"], left["reason"], left.get("other")) for left in departures] == [
        ("a", "joined", "b")
    ]


def test_chunks_with_a_gap_or_of_two_documents_stay_apart() -> None:
    pieces = [
        a_piece("a", "one", index=1),
        a_piece("b", "three", index=3),
        a_piece("c", "two", index=2, document_id="doc2"),
    ]
    assert len(joined(pieces)[0]) == 3


def test_tables_are_not_joined_to_text() -> None:
    pieces = [a_piece("a", "text", index=1), a_piece("b", "| row |", index=2, kind="table")]
    assert len(joined(pieces)[0]) == 2


def test_three_in_a_row_become_one() -> None:
    pieces = [a_piece(id, f"sentence {id}.", index=n) for n, id in enumerate("abc")]
    [piece], _ = joined(pieces)
    assert piece.text == "sentence a.\nsentence b.\nsentence c."


def test_a_passage_does_not_grow_without_limit() -> None:
    pieces = [a_piece(id, id * 3000, index=n) for n, id in enumerate("ab")]
    assert len(joined(pieces)[0]) == 2
    assert 6000 > JOINED_LIMIT


def test_of_two_neighbours_too_long_together_what_they_hold_of_each_other_still_goes() -> None:
    long = "x" * JOINED_LIMIT
    [piece], [gone] = joined([a_piece("a", long + "y", index=1), a_piece("b", long, index=2, score=0.4)])
    assert (piece.text, gone["reason"]) == (long + "y", "joined")


def test_neighbours_below_two_parents_have_no_seam() -> None:
    first = a_piece("a", "See the manager first.", parent_chunk_id="p1")
    second = a_piece("b", "See the manager first.\nThen pay.", index=1, parent_chunk_id="p2")
    [piece], _ = joined([first, second])
    assert piece.text == "See the manager first.\nSee the manager first.\nThen pay."


def test_known_questions_are_never_joined() -> None:
    pieces = [
        a_piece("a", "问一", kind="faq", document_id="f"),
        a_piece("b", "问一 二", index=1, kind="faq", document_id="f"),
    ]
    assert len(joined(pieces)[0]) == 2


# --- short context ---


def extend(piece: Piece, known: Mapping[str, Chunk]) -> Piece:
    (longer,) = extended([piece], known).pieces
    return longer


def test_a_short_passage_gets_its_neighbours_until_it_is_long_enough() -> None:
    known = {
        "before": a_chunk("before", "前" * 200, next_chunk_id="a"),
        "after": a_chunk("after", "后" * 200, pre_chunk_id="a"),
    }
    piece = a_piece("a", "短" * 10, pre_chunk_id="before", next_chunk_id="after")
    assert extended([piece], {}).missing == ["before", "after"]
    longer = extend(piece, known)
    assert longer.text == f"{'前' * 200}\n{'短' * 10}\n{'后' * 200}"
    assert longer.hit["sub_chunk_ids"] == ["a", "before", "after"]


def test_one_neighbour_is_enough_when_it_makes_the_passage_long_enough() -> None:
    known = {"before": a_chunk("before", "x" * ENOUGH), "after": a_chunk("after", "y" * ENOUGH)}
    longer = extend(a_piece("a", "short", pre_chunk_id="before", next_chunk_id="after"), known)
    assert "y" not in longer.text


def test_a_passage_never_grows_past_the_limit_and_keeps_its_own_text() -> None:
    known = {"before": a_chunk("before", "x" * 3000)}
    longer = extend(a_piece("a", "the passage", pre_chunk_id="before"), known)
    assert len(longer.text) == MOST
    assert longer.text.endswith("the passage")


def test_chains_that_run_in_circles_end() -> None:
    known = {"b": a_chunk("b", "b", pre_chunk_id="a", next_chunk_id="a")}
    longer = extend(a_piece("a", "a", pre_chunk_id="b", next_chunk_id="b"), known)
    assert longer.text == "b\na"


def test_neighbours_of_another_document_and_disabled_ones_are_left_out() -> None:
    known = {
        "before": a_chunk("before", "x", document_id="doc2"),
        "after": a_chunk("after", "y", enabled=False),
    }
    piece = a_piece("a", "short", pre_chunk_id="before", next_chunk_id="after")
    assert extend(piece, known) == piece


def test_a_long_passage_needs_no_neighbours() -> None:
    piece = a_piece("a", "x" * ENOUGH, pre_chunk_id="b")
    assert extended([piece], {}).missing == []
    assert extend(piece, {"b": a_chunk("b", "y")}) == piece


def test_a_neighbour_that_does_not_fit_gives_the_sentences_next_to_the_passage() -> None:
    said = "".join(f"第{n}条规定的内容。" for n in range(200))
    longer = extend(a_piece("a", "短句。", index=1, pre_chunk_id="b"), {"b": a_chunk("b", said)})
    assert ENOUGH <= len(longer.text) <= MOST
    assert longer.text.startswith("第")
    assert longer.text.endswith("第199条规定的内容。\n短句。")


def test_a_chunk_that_another_piece_has_or_that_left_is_not_taken() -> None:
    first, second = (
        a_piece("a", "one", index=1, next_chunk_id="m"),
        a_piece("c", "three", index=3, pre_chunk_id="m"),
    )
    known = {"m": a_chunk("m", "the middle", chunk_index=2)}
    assert [piece.text for piece in extended([first, second], known).pieces] == ["one\nthe middle", "three"]
    assert [piece.text for piece in extended([first, second], known, left=["m"]).pieces] == ["one", "three"]


def test_nor_one_whose_parent_another_piece_has() -> None:
    parent = a_chunk("p", "whole text of it", kind="parent")
    below, _ = with_parents(
        [a_piece("x", "whole text", score=0.9, index=5, parent_chunk_id="p")], {"p": parent}
    )
    piece = a_piece("a", "short", index=1, next_chunk_id="m")
    known = {"m": a_chunk("m", "text of it", chunk_index=2, parent_chunk_id="p")}
    assert extended([*below, piece], known).pieces[1] == piece


def test_known_questions_are_not_extended() -> None:
    piece = a_piece("a", "短", kind="faq", next_chunk_id="b")
    assert extend(piece, {"b": a_chunk("b", "后文", chunk_index=1)}) == piece


def test_a_hole_that_an_extension_left_is_filled_when_its_other_side_comes() -> None:
    middle = "".join(f"第{n}条。" for n in range(300))
    first = extend(a_piece("a", "开头。", next_chunk_id="m"), {"m": a_chunk("m", middle, chunk_index=1)})
    assert len(first.text) < len(middle)
    [piece], _ = joined([first, a_piece("c", "结尾。", index=2)])
    assert piece.text == f"开头。\n{middle}\n结尾。"
