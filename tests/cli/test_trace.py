"""The report of a trace, from documents made by hand; commands against a server are in test_debugging.py."""

from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from headrace.cli.trace import trace_report
from headrace.graph.tracing.shapes import Trace

from .documents import a_call, a_run, a_stage, a_trace, gone, selected

ANSWER = '不超过 450 元<kb doc="员工手册.md" knowledge_id="d-1" chunk_id="c-1"/>。'


def told(trace: Trace, *, width: int = 100, **options: bool) -> str:
    console = Console(file=StringIO(), width=width, markup=False)
    console.print(trace_report(trace, **options))
    assert isinstance(console.file, StringIO)
    return "\n".join(text.rstrip() for text in console.file.getvalue().splitlines())


def test_the_question_and_how_it_was_rewritten_come_first() -> None:
    report = told(a_trace())
    assert "Question   国内出差的住宿标准是多少？" in report
    assert "Rewritten  国内出差住宿费标准" in report
    assert report.index("Question") < report.index("Stages")


@pytest.mark.parametrize("rewritten", [None, "Which grease is used?"])
def test_a_question_that_was_not_rewritten_is_said_to_be_as_asked(rewritten: str | None) -> None:
    report = told(a_trace(query="Which grease is used?", rewritten_query=rewritten))
    assert "Rewritten  as it was asked" in report


def test_the_answer_cites_the_names_of_the_table() -> None:
    report = told(a_trace(candidates=[selected("c-1", 1, cited=True)], answer=ANSWER))
    assert report.endswith("不超过 450 元[c1]。")
    assert "Passages: 1 of 1 reached the model" in report


def test_hidden_passages_are_counted_and_shown_when_asked_for() -> None:
    trace = a_trace(
        candidates=[gone(f"x{number}", document_title=f"文件{number}.md") for number in range(14)]
    )
    assert "4 more that left: --all shows them." in told(trace)
    assert "文件13.md" not in told(trace)
    assert "文件13.md" in told(trace, everything=True)
    assert "rerank_top_k 10" in told(trace, everything=True)


def test_calls_of_models_show_tokens_times_and_errors() -> None:
    failed = a_call(stage="rerank", role="rerank", usage={}, error="dependency_failed", messages=None)
    report = told(a_trace(calls=[a_call(), failed]))
    assert "generate_answer  chat    qwen3-4b  1.23 s        812   64" in report
    assert "dependency_failed" in report
    assert "只用资料回答" not in report


def test_prompts_are_told_in_full_when_asked_for() -> None:
    calls = [a_call(exact=False), a_call(messages=None, exact=None, model="other")]
    report = told(a_trace(calls=calls), prompts=True)
    assert "system:\n  只用资料回答。\nuser:\n  问：住宿标准？" in report
    assert "what was sent differed" in report
    assert "It is not kept" in report


def test_warnings_errors_and_what_is_no_longer_kept_are_told() -> None:
    warning = {"stage": "rerank", "code": "rerank_failed", "message": "重排 did not answer."}
    error = {"code": "dependency_failed", "message": "The chat model is not answering."}
    report = told(a_trace(warnings=[warning], error=error, missing=["Checkpoints were removed."]))
    assert "rerank: 重排 did not answer." in report
    assert "The chat model is not answering." in report
    assert "Checkpoints were removed." in report


def test_a_run_that_has_just_begun_has_a_trace_too() -> None:
    run = a_run(status="running", outcome=None, timing=None, ended_at=None)
    trace = a_trace(run=run, stages=[], rewritten_query=None, intent=None, outcome=None)
    report = told(trace)
    assert " running, 2026-11-30" in report
    assert "Rewritten" not in report
    assert "Passages\n(none yet)" in report
    assert report.endswith("Answer\n(none yet)")


@pytest.mark.parametrize(
    ("stages", "why"), [(["search_chunks"], "None was found."), ([], "Nothing was searched.")]
)
def test_a_run_without_passages_says_whether_it_searched(stages: list[str], why: str) -> None:
    report = told(a_trace(stages=[a_stage(name) for name in ["understand_query", *stages]]))
    assert f"Passages\n{why}" in report
    assert report.endswith("Answer\n(none)")


def test_calls_that_the_origin_of_a_fork_made_are_marked() -> None:
    report = told(a_trace(calls=[a_call(stage="understand_query", inherited=True), a_call()]))
    understood, answered = (row for row in report.splitlines() if "qwen3-4b" in row)
    assert understood.endswith("before the fork")
    assert answered.endswith("64")


def test_a_fork_names_its_origin_and_an_origin_its_forks() -> None:
    report = told(a_trace(run=a_run(forked_from="r0", fork_stage="rerank", forks=["r2", "r3"])))
    assert "Fork of    r0 from rerank" in report
    assert "Forks      r2, r3" in report


def test_nothing_from_outside_steers_the_terminal_or_is_taken_for_markup() -> None:
    evil = "[bold red]坏\x1b[2J\x9d evil\u202e[/]"
    message = {"role": evil, "content": evil}
    trace = a_trace(
        run=a_run(question=evil, id=evil, forked_from=evil, fork_stage=evil),
        query=evil,
        rewritten_query=f"{evil}2",
        intent=evil,
        settings={evil: evil},
        prompts={evil: evil},
        stages=[a_stage(evil, departures={evil: 1})],
        candidates=[
            selected("c-1", 1, **dict.fromkeys(["document_title", "section", "snippet"], evil), marks=[evil]),
            gone(evil, evil),
        ],
        calls=[a_call(**dict.fromkeys(["stage", "model", "role", "error"], evil), messages=[message])],
        warnings=[{"stage": evil, "code": "x", "message": evil}],
        answer=evil,
        missing=[evil],
    )
    report = told(trace, everything=True, prompts=True, width=300)
    assert not {"\x1b", "\x9d", "\u202e"} & set(report)
    assert report.count("[bold red]坏[2J evil[/]") >= 15


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "国内出差的住宿标准 and the grease of the pump " * 5
    stages = [
        a_stage("understand_query", departures={"below_threshold": 40, "over_count": 12, "duplicate": 9})
    ]
    trace = a_trace(query=long, candidates=[selected("c-1", 1, snippet=long)], stages=stages, answer=long)
    report = told(trace, width=width, everything=True)
    assert max(map(cell_len, report.splitlines())) <= width
