"""Step 8: what counts as said already, and what does not."""

from dataclasses import replace

from headrace.nodes.merge.overlaps import without_overlaps

from ...fakes import FakeTokens
from .pieces import a_piece, ids


def table(*rows: str) -> str:
    return "\n".join(f"| {row} |" for row in ("设备 | 数量", *rows))


def test_tables_of_the_same_few_rows_are_different_tables() -> None:
    pieces = [
        a_piece("a", table(*["pump | 1"] * 9, "阀 | 2"), score=0.9, kind="table"),
        a_piece("b", table("pump | 1", *["阀 | 2"] * 9), kind="table", document_id="doc2"),
    ]
    assert ids(without_overlaps(pieces, FakeTokens())[0]) == ["a", "b"]


def test_a_table_with_nearly_the_same_rows_is_not_needed_twice() -> None:
    rows = [f"pump {n} | {n}" for n in range(30)]
    pieces = [
        a_piece("a", table(*rows), score=0.9, kind="table"),
        a_piece("b", table(*rows[1:]), kind="table", document_id="doc2"),
    ]
    assert ids(without_overlaps(pieces, FakeTokens())[0]) == ["a"]


def test_what_was_found_stays_though_what_was_put_around_it_is_there_already() -> None:
    around = " ".join(f"word{n}" for n in range(60))
    reordered = " ".join(reversed(around.split()))
    better = a_piece("a", reordered, score=0.9, document_id="doc2")
    found = a_piece("b", "年假为二十天")
    longer = replace(found, text=f"年假为二十天\n{around}")
    assert ids(without_overlaps([better, longer], FakeTokens())[0]) == ["a", "b"]


def test_a_known_question_stays_beside_a_longer_text_that_has_it() -> None:
    entry = a_piece("f", "年假几天？十五天。", score=0.9, kind="faq", document_id="faq")
    text = a_piece("a", "问：年假几天？十五天。其他见手册。")
    assert ids(without_overlaps([entry, text], FakeTokens())[0]) == ["f", "a"]
