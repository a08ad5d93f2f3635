import pytest
from rich.cells import cell_len

from headrace.cli.runs import run_lines

from .documents import a_run


def test_a_run_is_one_line_with_id_end_time_and_question() -> None:
    (told,) = run_lines([a_run(question="住宿标准\n是多少？")])
    assert told.startswith(a_run()["id"])
    assert told.endswith("answered     1.52 s  住宿标准 是多少？")


def test_a_fork_is_marked_with_its_stage() -> None:
    (told,) = run_lines([a_run(forked_from="r0", fork_stage="rerank", question="Which grease?")])
    assert told.endswith("  ↳ rerank · Which grease?")


def test_a_run_under_way_shows_its_status_and_no_time() -> None:
    (told,) = run_lines([a_run(status="queued", outcome=None, timing=None, ended_at=None)])
    assert "queued" in told
    assert " –  " in told


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_question_is_cut_at_the_width_of_the_terminal(width: int) -> None:
    (told,) = run_lines([a_run(question="国内出差的住宿标准是多少？" * 20)], width=width)
    assert cell_len(told) <= width
    assert told.endswith("…")
