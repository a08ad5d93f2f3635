"""The measurement against the real pipeline, with the built-in embedder and texts of its own."""

import json
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.evaluation.files import Said
from headrace.evaluation.measure import turns_of

CORPUS = [
    ("leave", "年休假", "累计工龄满十年的员工每年享有十二天年休假。"),
    ("travel", "差旅", "国内出差住宿标准为每晚不超过四百五十元。"),
    ("pump", "LS-200", "Replace the seal kit every 4000 operating hours."),
    ("noise", "LS-200", "The pump runs at 62 dB(A) at one metre."),
]
QUERIES = [
    ("q1", "工龄十年可以休几天年假？", "leave"),
    ("q2", "When must the seal kit be replaced?", "pump"),
    ("q3", "出差住酒店每晚最多多少钱？", "travel"),
    ("n1", "Wer hat die Firma gegründet?", None),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("task")
    rows = {
        "corpus": [{"id": id, "title": title, "text": text} for id, title, text in CORPUS],
        "queries": [{"id": id, "text": text} for id, text, _ in QUERIES],
        "qrels": [{"qid": id, "doc_id": gold, "relevance": 1} for id, _, gold in QUERIES if gold],
    }
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(map(json.dumps, lines)), "utf-8")
    given = [part for name in rows for part in (f"--{name}", str(folder / name))]
    return [*given, "--cache", str(folder / "vectors.sqlite")]


def evaluated(files: list[str], where: Path, *more: str) -> dict[str, dict[str, dict[str, float]]]:
    assert main(["eval", *files, "--json", str(where), *more]) == 0
    return json.loads(where.read_text("utf-8"))


def test_every_stage_is_measured_and_finds_what_is_there(files: list[str], tmp_path: Path) -> None:
    report = evaluated(files, tmp_path / "report.json")
    assert (report["n"], report["negatives"]) == (3, 1)
    assert report["config"]["embedding_top_k"] == 100
    assert [*report["stages"]] == ["vector", "keyword", "fused", "expanded", "reranked", "final"]
    assert report["stages"]["fused"]["ndcg@10"] == 1.0
    assert report["stages"]["final"]["hit@1"] == 1.0
    assert 0.0 <= report["stages"]["keyword"]["recall@10"] <= 1.0


def test_a_question_without_an_answer_is_a_negative(files: list[str], tmp_path: Path) -> None:
    report = evaluated(files, tmp_path / "report.json")
    assert [row["qid"] for row in report["per_query"] if row["negative"]] == ["n1"]  # pyright: ignore
    assert report["false_accept"] is not None
    assert report["auc"] is not None


def test_the_same_task_gives_the_same_rankings(files: list[str], tmp_path: Path) -> None:
    first, second = (evaluated(files, tmp_path / name)["per_query"] for name in ("one", "two"))
    assert first == second


def test_two_reports_are_compared(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated(files, tmp_path / "a")
    capsys.readouterr()
    assert main(["eval", "--compare", str(tmp_path / "a"), str(tmp_path / "a")]) == 0
    assert "+0.0000" in capsys.readouterr().out


def test_half_a_task_is_wrong_use(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", *files[:2]]) == 2
    assert "--queries" in capsys.readouterr().err


def test_something_else_than_a_report_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("[]")
    assert main(["eval", "--compare", str(tmp_path / "a"), str(tmp_path / "a")]) == 1
    assert "is not a report" in capsys.readouterr().err


def test_a_history_becomes_turns() -> None:
    said = [("user", "年假几天？"), ("assistant", "十二天。"), ("user", "能结转吗？")]
    turns = turns_of([Said(role=role, text=text) for role, text in said])  # pyright: ignore
    assert [(turn["user"], turn["assistant"]) for turn in turns] == [
        ("年假几天？", "十二天。"),
        ("能结转吗？", ""),
    ]
