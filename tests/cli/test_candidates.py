from collections.abc import Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console

from headrace.cli.candidates import NEAREST, candidate_table, departure, shown
from headrace.graph.tracing.shapes import Candidate

from .documents import a_candidate, gone, selected


def drawn(candidates: Sequence[Candidate], *, everything: bool = False, width: int = 100) -> list[str]:
    console = Console(file=StringIO(), width=width, markup=False)
    console.print(candidate_table(candidates, everything=everything))
    assert isinstance(console.file, StringIO)
    return [text.rstrip() for text in console.file.getvalue().splitlines()]


def test_places_stand_above_scores_under_their_heading() -> None:
    heading, upper, lower = drawn([selected("c-1", 1, cited=True)])
    end = heading.index("keyw.") + len("keyw.")
    assert upper[: cell(upper, end)].split()[-1] == "1"
    assert lower[: cell(lower, end)].split()[-1] == "12.5"
    assert upper.startswith("c1 ✓  员工手册.md #3 › 差旅")
    assert "国内出差住宿标准" in lower


def cell(text: str, column: int) -> int:
    """The index of the character at a column of the screen."""
    return next(index for index in range(len(text) + 1) if cell_len(text[:index]) >= column)


def test_a_column_that_nobody_has_is_left_out() -> None:
    assert "rerank" not in drawn([selected("c-1", 1)])[0]
    assert "rerank" in drawn([selected("c-1", 1, scores={"rerank": 0.9})])[0]


def test_what_left_says_where_why_and_by_how_much() -> None:
    assert departure(gone("x"), {}) == "✗ rerank: below_threshold 0.210, limit 0.3"
    left = {"stage": "filter_top_k", "reason": "too_similar", "score": None, "limit": None, "other": "c-1"}
    assert departure(gone("x", left=left), {"c-1": "c1"}) == "✗ filter_top_k: too_similar, like c1"
    read = gone("x", shown_in="c-2")
    assert departure(read, {"c-2": "c4"}) == "✗ rerank: below_threshold 0.210, limit 0.3; read with c4"
    merged = a_candidate("x", merged_into="c-1", merged_by="containment")
    assert departure(merged, {"c-1": "c2"}) == "merged into c2 (containment)"
    assert departure(a_candidate("x"), {}) == ""


def test_only_the_nearest_that_left_are_shown_unless_all_are_asked_for() -> None:
    candidates = [selected("a", 1), *(gone(f"x{number}") for number in range(NEAREST + 5))]
    assert len(shown(candidates, everything=False)) == 1 + NEAREST
    assert shown(candidates, everything=True) == candidates


def test_every_line_fits_the_width_in_both_languages() -> None:
    long = {
        "document_title": "很长的文件名" * 12,
        "section": "Maintenance " * 20,
        "snippet": "油脂 grease " * 30,
    }
    for width in (80, 100):
        table = drawn([selected("a", 1, **long), gone("b", **long)], everything=True, width=width)
        assert max(map(cell_len, table)) <= width


def test_text_of_documents_is_neither_markup_nor_an_order_to_the_terminal() -> None:
    told = "\n".join(
        drawn([selected("a", 1, document_title="[red]手\x1b[31m册[/red]", snippet=":smile: \x1b[2J")])
    )
    assert "[red]手[31m册[/red]" in told
    assert ":smile: [2J" in told
    assert "\x1b" not in told
