import pytest
from rich.cells import cell_len

from headrace.cli.screen import cut, duration, line, lines, passage, score

from .documents import a_candidate


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (None, "–"),
        (0.44, "0.4 ms"),
        (12.4, "12 ms"),
        (1523, "1.52 s"),
        (125_000, "2 min 5 s"),
        (119_999.9, "2 min 0 s"),
        (999.7, "1.00 s"),
        (9.97, "10 ms"),
        (59_999, "1 min 0 s"),
    ],
)
def test_a_duration_is_read_by_a_person(ms: float | None, said: str) -> None:
    assert duration(ms) == said


@pytest.mark.parametrize(("value", "said"), [(None, ""), (0.5, "0.500"), (-1.25, "-1.250"), (12.34, "12.3")])
def test_a_score_fits_six_columns(value: float | None, said: str) -> None:
    assert score(value) == said


@pytest.mark.parametrize("width", [1, 2, 7, 8, 40])
def test_a_cut_text_never_takes_more_columns_than_it_is_given(width: int) -> None:
    for text in ("国内出差的住宿标准是多少？", "Which grease is used?", "a国b内c"):
        assert cell_len(cut(text, width)) <= width
    assert cut("国内", 4) == "国内"
    assert cut("国内出差", 5) == "国内…"


def test_text_cannot_steer_the_terminal_or_turn_its_direction() -> None:
    hostile = "\x1b[2J红\x9b31m [bold]年\u202e假\u2066[/bold]\r\nnext\tone\x07"
    assert line(hostile) == "[2J红31m [bold]年假[/bold] next one"
    assert lines("一\x1b]0;x\x07\n\u202e二\t三") == "一]0;x\n二    三"


def test_a_passage_says_title_number_page_and_section() -> None:
    assert passage(a_candidate(page=2)) == "员工手册.md #3 p. 2 › 差旅"
    bare = a_candidate(document_title="LS-200 manual", chunk_index=None, section=None)
    assert passage(bare) == "LS-200 manual"
    assert passage(a_candidate(document_title="")) == "(document d-1) #3 › 差旅"
