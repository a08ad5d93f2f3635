"""The report of a difference, from documents made by hand."""

from io import StringIO

from rich.console import Console

from headrace.cli.diff import MOST, diff_report
from headrace.graph.tracing.shapes import Diff

from .documents import a_diff, a_move, a_place, a_run, a_stage_diff

FIRST = '每晚不超过 450 元<kb doc="员工手册.md" knowledge_id="d" chunk_id="c-1"/>。'
SECOND = FIRST.replace("450", "500") + '<kb doc="LS-200.md" knowledge_id="d2" chunk_id="c-2"/>'


def told(diff: Diff, *, everything: bool = False) -> str:
    console = Console(file=StringIO(), width=100, markup=False)
    console.print(diff_report(diff, everything=everything))
    assert isinstance(console.file, StringIO)
    return "\n".join(text.rstrip() for text in console.file.getvalue().splitlines())


def test_the_same_answer_is_said_and_shown_once() -> None:
    report = told(a_diff())
    assert "same answer" in report
    assert report.count("每晚 450 元。") == 1


def test_answers_differ_word_by_word_with_one_numbering_of_sources() -> None:
    report = told(a_diff(answer=[FIRST, SECOND], same_answer=False))
    assert "每晚不超过 [-450-]{+500+} 元[1]。{+[2]+}" in report
    assert report.endswith("[1] 员工手册.md\n[2] LS-200.md")


def test_settings_and_prompts_stand_side_by_side() -> None:
    report = told(a_diff(settings={"rerank_threshold": [0.3, None]}, prompts={"answer": [None, "用一句话"]}))
    assert "rerank_threshold  0.3           –" in report
    assert "prompt answer     as installed  用一句话" in report
    assert "the same" in told(a_diff())


def test_each_stage_says_what_differs() -> None:
    entered = [a_place("LS-200.md", 3, reason="below_threshold")]
    moved = [a_move("员工手册.md", 1, 2)]
    stage = a_stage_diff(
        hits_out=[10, 11], entered=entered, moved=moved, changed={"rerank_verdict": ["ok", "skipped"]}
    )
    report = told(a_diff(stages=[stage]))
    assert "10 → 11  1 entered, 1 moved, rerank_verdict" in report
    assert "rerank_verdict: ok → skipped" in report
    assert "+ 3. LS-200.md (below_threshold)" in report
    assert "~ 员工手册.md: 1 → 2" in report


def test_a_stage_that_only_one_run_has_is_marked() -> None:
    stage = a_stage_diff("fallback", **{"in": "second", "duration_ms": [None, 3.0]})
    report = told(a_diff(stages=[stage], outcome=["answered", "fallback"]))
    assert "–  3.0 ms            only in run 2" in report
    assert "outcome: answered → fallback" in report


def test_many_passages_are_counted_unless_all_are_asked_for() -> None:
    left = [a_place(f"文件{n}.md", n, chunk_id=f"x{n}") for n in range(1, MOST + 4)]
    diff = a_diff(stages=[a_stage_diff(left=left)])
    assert "- 3 more: --all shows them" in told(diff)
    assert f"文件{MOST + 3}.md" in told(diff, everything=True)


def test_what_a_stage_only_passes_on_is_not_told_again() -> None:
    gone, up = a_place("员工手册.md", 4, reason="not_diverse"), a_move("LS-200.md", 5, 1, chunk_id="y")
    further = a_move("LS-200.md", 5, 2, chunk_id="y")
    stages = [
        a_stage_diff("rerank", left=[gone], moved=[up]),
        a_stage_diff("merge_chunks", left=[gone], moved=[up]),
        a_stage_diff("filter_top_k", moved=[further]),
    ]
    report = told(a_diff(stages=stages))
    assert report.count("1 left") == 2
    assert report.count("员工手册.md (not_diverse)") == 1
    assert report.count("LS-200.md: 5 → 1") == 1
    assert report.count("LS-200.md: 5 → 2") == 1


def test_passages_of_one_document_are_told_apart() -> None:
    entered = [a_place("手册.pdf", 3, chunk_index=7, page=2, reason="not_found")]
    moved = [a_move("手册.pdf", 1, 2, chunk_id="y", chunk_index=0)]
    report = told(a_diff(stages=[a_stage_diff(entered=entered, moved=moved)]))
    assert "+ 3. 手册.pdf #7 p. 2 (not found by the other run)" in report
    assert "~ 手册.pdf #0: 1 → 2" in report


def test_of_two_objects_only_the_fields_that_differ_are_told() -> None:
    stage = a_stage_diff(changed={"budget": [{"kept": 10, "dropped": 0}, {"kept": 2, "dropped": 0}]})
    report = told(a_diff(stages=[stage]))
    assert "budget.kept: 10 → 2" in report
    assert "budget.dropped" not in report


def test_what_is_no_longer_kept_is_said_of_each_run() -> None:
    report = told(a_diff(missing=[[], ["Its checkpoints were removed."]]))
    assert "No longer kept of run 2\nIts checkpoints were removed." in report


def test_two_runs_of_different_questions_show_both() -> None:
    report = told(a_diff(runs=[a_run(question="年休假？"), a_run(question="Which grease?")]))
    assert "年休假？" in report
    assert "Which grease?" in report


def test_nothing_from_outside_steers_the_terminal_or_is_taken_for_markup() -> None:
    evil = "[red]坏\x1b[2J\u202e"
    place, move = a_place(evil, 1, reason=evil), a_move(evil, 1, 2)
    stage = a_stage_diff(evil, entered=[place], left=[place], moved=[move], changed={evil: [evil, evil]})
    report = told(
        a_diff(
            settings={evil: [evil, evil]},
            prompts={evil: [evil, evil]},
            stages=[stage],
            answer=[evil, evil + f'<kb doc="{evil}" chunk_id="c"/>'],
            same_answer=False,
        )
    )
    assert not {"\x1b", "\u202e"} & set(report)
    assert "[red]坏[2J" in report
