import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from headrace.cli import main
from headrace.cli.search_trace import search_report
from headrace.graph.tracing.search import SearchTrace

from .documents import gone, report_of, selected


def search(folder: Path, *words: str, code: int = 0) -> Any:
    return report_of("--data", str(folder), "search", *words, code=code)


def titles(found: dict[str, Any]) -> set[str]:
    return {one["knowledge_title"] for one in found["knowledge_references"]}


def test_search_prints_passages_best_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "住宿标准", "--kb", "文档", "--data", str(folder)]) == 0
    assert "450 元" in capsys.readouterr().out
    assert main(["search", "grease", "--kb", "文档", "--json", "--top-k", "1", "--data", str(folder)]) == 0
    (reference,) = json.loads(capsys.readouterr().out)["knowledge_references"]
    assert "lithium" in reference["content"]


def test_a_search_is_narrowed_to_documents_and_tags(folder: Path) -> None:
    both = search(folder, "grease 休假", "--kb", "文档")
    assert titles(both) == {"LS-200.md", "员工手册.md"}
    by_title = search(folder, "grease 休假", "--kb", "文档", "--document", "ls-200.md")
    assert titles(by_title) == {"LS-200.md"}
    (id, *_) = (one["knowledge_id"] for one in by_title["knowledge_references"])
    assert titles(search(folder, "grease 休假", "--kb", "文档", "--document", id)) == {"LS-200.md"}
    data = ("--data", str(folder))
    report_of(*data, "tag", "add", "制度", "--kb", "文档")
    report_of(*data, "tag", "set", "员工手册.md", "制度", "--kb", "文档")
    assert titles(search(folder, "grease 休假", "--kb", "文档", "--tag", "制度")) == {"员工手册.md"}
    assert search(folder, "x", "--kb", "文档", "--tag", "没有", code=1)["error"]["code"] == "tag_not_found"
    refused = search(folder, "x", "--kb", "文档", "--document", "没有.md", code=1)
    assert refused["error"]["code"] == "document_not_found"


def test_several_knowledge_bases_are_searched_as_one(folder: Path) -> None:
    data = ("--data", str(folder))
    report_of(*data, "kb", "create", "问答", "--kind", "faq")
    report_of(
        *data, "faq", "add", "Which grease 润滑脂?", "--answer", "NLGI 2.", "--tag", "泵", "--kb", "问答"
    )
    words = ("Which grease 润滑脂", "--kb", "文档", "--kb", "问答")
    assert titles(search(folder, *words)) > {"Which grease 润滑脂?", "LS-200.md"}
    assert titles(search(folder, *words, "--tag", "泵")) == {"Which grease 润滑脂?"}
    assert titles(search(folder, *words, "--document", "which grease 润滑脂?")) == {"Which grease 润滑脂?"}
    report_of(*data, "kb", "delete", "问答", "--yes")


def test_every_knob_can_be_set_for_one_search(folder: Path) -> None:
    words = ("grease", "--kb", "文档", "--trace", "--no-rerank")
    knobs = ("--knob", "fusion=rrf", "--knob", "mmr_lambda=0.4", "--knob", "enable_query_expansion=false")
    trace = search(folder, *words, *knobs)["trace"]
    told = {"fusion": "rrf", "mmr_lambda": 0.4, "enable_query_expansion": False}
    assert told.items() <= trace["settings"].items()
    assert trace["rerank_verdict"] == "skipped"
    refused = search(folder, "grease", "--kb", "文档", "--knob", "fusion=max", code=2)
    assert refused["error"]["code"] == "bad_setting"


def test_nothing_found_is_exit_code_three(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["search", "泵", "--kb", "文档", "--trace", "--knob", "vector_threshold=1", "--knob"]
    assert main(["--data", str(folder), *words, "keyword_threshold=1000"]) == 3
    told = capsys.readouterr()
    assert told.err == "Nothing found.\n"
    assert "below_vector_threshold" in told.out


def test_a_trace_is_printed_below_the_passages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(folder), "search", "住宿标准", "--kb", "文档", "--trace"]) == 0
    told = capsys.readouterr().out
    assert told.index("450 元") < told.index("Stages") < told.index("Candidates: ")
    assert "search_chunks" in told
    assert "Query (zh)" in told
    assert max(map(cell_len, told[told.index("Stages") :].splitlines())) <= 100


def a_search_trace(**changes: Any) -> SearchTrace:
    return {  # pyright: ignore[reportReturnType]  # of any value, so that a test can change each
        "query": "哪种油脂？",
        "queries": {"zh": "哪种油脂？", "en": "Which grease?"},
        "variants": ["油脂"],
        "stages": [
            {
                "stage": "rerank",
                "duration_ms": 12.5,
                "hits_in": 9,
                "hits_out": 2,
                "output": {},
                "departures": {"below_threshold": 7},
            }
        ],
        "candidates": [selected("a", 1, question="Which grease?"), gone("b")],
        "channels": {"vector": 9, "keyword_en": 3},
        "departures": [],
        "warnings": [{"stage": "rerank", "code": "dependency_failed", "message": "not answering"}],
        "calls": [
            {
                "stage": "rerank",
                "role": "rerank",
                "model": "bge",
                "duration_ms": 3,
                "usage": {},
                "error": "dependency_failed",
            }
        ],
        "rerank_verdict": "failed",
        "cache": {"query": "miss"},
        "settings": {"fusion": "rrf", "mmr_lambda": None},
        **changes,
    }


def printed(trace: SearchTrace, *, everything: bool = False, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width, markup=False)
    console.print(search_report(trace, everything=everything))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_everything_that_was_looked_for_is_told() -> None:
    told = printed(a_search_trace())
    for text in ("Query (en)", "Which grease?", "Also", "vector 9, keyword_en 3", "failed", "query: miss"):
        assert text in told
    assert "7 below_threshold" in told
    assert "1 of 2 returned" in told
    assert "[1]" in told
    assert "“Which grease?”" in told
    assert "✗ rerank: below_threshold 0.210, limit 0.3" in told
    assert "rerank: not answering" in told
    assert "fusion rrf" not in told
    assert "fusion rrf, mmr_lambda –" in printed(a_search_trace(), everything=True)


def test_a_search_without_candidates_says_so() -> None:
    told = printed(a_search_trace(candidates=[], channels={}, calls=[], warnings=[], cache={}, variants=[]))
    assert "None was found." in told
    assert "none found anything" in told


@pytest.mark.parametrize("width", [80, 120])
def test_a_report_fits_its_width_and_cannot_steer_the_terminal(width: int) -> None:
    evil = "很长的 text \x1b[2J\u202e" * 20
    trace = a_search_trace(
        query=evil,
        queries={"zh": evil},
        candidates=[selected("a", 1, question=evil, document_title=evil, snippet=evil)],
        warnings=[{"stage": "x", "code": "y", "message": evil}],
    )
    told = printed(trace, everything=True, width=width)
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert max(map(cell_len, told.splitlines())) <= width
