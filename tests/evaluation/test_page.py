from pathlib import Path
from typing import Any

import pytest

from headrace.errors import BadRequest
from headrace.evaluation.page import BEGIN, END, compared, measured, write_between
from headrace.evaluation.suite import ListedTask
from headrace.evaluation.summary import RANKED

TASK = ListedTask.model_validate({"name": "own", "corpus": "c", "queries": "q", "qrels": "r"})
BANK = ListedTask.model_validate({"name": "bank", "faq": "f", "queries": "q", "qrels": "r"})


def a_report(*scores: float) -> dict[str, Any]:
    stages = {name: {"ndcg@10": scores[0], "recall@10": 1.0, "hit@1": 0.5} for name in RANKED}
    asked = [
        {
            "qid": f"问{n}",
            "negative": False,
            "near_miss": False,
            "same_question": 0.9,
            **{name: {"ndcg@10": s} for name in RANKED},
        }
        for n, s in enumerate(scores)
    ]
    same = {"auc": 0.91, "auc_with_near_misses": 0.6, "accepted": 0.5, "false_accept": None}
    return {
        "n": len(scores),
        "stages": stages,
        "search_ms": {"p50": 12.34, "p95": 20.0},
        "same_question": same,
        "per_query": asked,
    }


def test_every_task_has_a_line_and_every_bar_a_verdict() -> None:
    page = measured([TASK, BANK], {"own": a_report(0.5), "bank": a_report(0.7)}, name="默认")
    assert "### Settings: 默认" in page
    assert (
        "| own | 1 | 0.500 | 0.500 | 0.500 | 0.500 | 0.500 | 1.000 | 0.500 | +0.000 | +0.000 | 12 | 20 |"
        in page
    )
    assert "| bank | 0.500 | 0.500 | 0.500 | 0.910 | 0.600 | 0.500 | – |" in page
    assert "| worst regret of fused | 0.0000 | ≤ 0.01 | met |" in page
    assert "| nDCG@10 fused, stard | – | ≥ 0.6 | not measured |" in page


def test_two_configurations_are_compared_question_by_question() -> None:
    first, second = {"own": a_report(0.5, 0.5, 0.5)}, {"own": a_report(0.7, 0.7, 0.7)}
    page = compared([TASK], first, second, names=["vorher", "之后"])
    assert "### vorher → 之后" in page
    assert "| own | 0.500 → 0.700 | +0.2000 [+0.2000, +0.2000] | 0.000 |" in page


def test_only_what_is_between_the_markers_is_written(tmp_path: Path) -> None:
    page = tmp_path / "quality.md"
    page.write_text(f"# 质量\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n", "utf-8")
    write_between(page, "new")
    write_between(page, "newer")
    assert page.read_text("utf-8") == f"# 质量\n\n{BEGIN}\n\nnewer\n\n{END}\n\nafter\n"


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "other.md"
    page.write_text("words", "utf-8")
    with pytest.raises(BadRequest, match="needs the lines"):
        write_between(page, "new")
    assert page.read_text("utf-8") == "words"
