"""The measurement against the real pipeline, with the built-in embedder and texts of its own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


BANK = [
    {
        "id": "reset",
        "question": "怎么重置密码？",
        "similar_questions": ["密码忘了怎么办？", "Password lost, what now?"],
        "negative_questions": ["怎么修改用户名？"],
        "answers": ["在登录页点“忘记密码”。"],
    },
    {"id": "invoice", "question": "How do I get an invoice?", "answers": ["Ask accounting."]},
    {"id": "again", "question": "怎么重置密码", "answers": ["同上。"]},
    {"id": "dog", "question": "可以带狗来上班吗？"},
]
BANK_QUERIES = [
    ("q1", "我忘记密码了", "reset"),
    ("q2", "Where does my invoice come from?", "invoice"),
    ("n1", "Wie hoch ist der Mount Everest?", None),
    ("n2", "怎么修改用户名", None),
]


def written(folder: Path, **rows: list[dict[str, Any]]) -> list[str]:
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return [part for name in rows for part in (f"--{name}", str(folder / name))]


def asked(queries: Sequence[tuple[str, str, str | None]]) -> dict[str, list[dict[str, Any]]]:
    return {
        "queries": [{"id": id, "text": text} for id, text, _ in queries],
        "qrels": [{"qid": id, "doc_id": gold, "relevance": 1} for id, _, gold in queries if gold],
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("task")
    corpus = [{"id": id, "title": title, "text": text} for id, title, text in CORPUS]
    return [*written(folder, corpus=corpus, **asked(QUERIES)), "--cache", str(folder / "vectors.sqlite")]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("bank")
    return [
        *written(folder, faq=BANK, **asked(BANK_QUERIES)),
        *("--cache", str(folder / "vectors.sqlite")),
    ]


def evaluated(files: list[str], where: Path, *more: str) -> dict[str, Any]:
    assert main(["eval", *files, "--json", str(where), *more]) == 0
    return json.loads(where.read_text("utf-8"))


def test_every_stage_is_measured_and_finds_what_is_there(files: list[str], tmp_path: Path) -> None:
    report = evaluated(files, tmp_path / "report.json")
    assert (report["n"], report["negatives"]) == (3, 1)
    assert report["config"]["embedding_top_k"] == 100
    assert [*report["stages"]] == ["vector", "keyword", "unplaced", "fused", "expanded", "reranked", "final"]
    assert report["stages"]["fused"]["ndcg@10"] == 1.0
    assert report["stages"]["final"]["hit@1"] == 1.0
    assert 0.0 <= report["stages"]["keyword"]["recall@10"] <= 1.0


def test_a_question_without_an_answer_is_a_negative(files: list[str], tmp_path: Path) -> None:
    report = evaluated(files, tmp_path / "report.json")
    assert [row["qid"] for row in report["per_query"] if row["negative"]] == ["n1"]
    assert report["false_accept"] is not None
    assert report["auc"] is not None


def test_a_bank_of_questions_is_searched_as_one(bank: list[str], tmp_path: Path) -> None:
    report = evaluated(bank, tmp_path / "report.json")
    for stage in ("vector", "fused", "expanded", "final"):
        assert report["stages"][stage]["hit@1"] == 1.0, stage
    first = report["per_query"][0]
    assert first["final"]["top"][:2] == ["reset", "again"]  # which asks the same, so the bank has it once


def test_a_bank_says_how_likely_it_holds_the_question(bank: list[str], tmp_path: Path) -> None:
    report = evaluated(bank, tmp_path / "report.json")
    assert [row["qid"] for row in report["per_query"] if row["near_miss"]] == ["n2"]
    assert report["same_question"]["auc"] == 1.0
    assert report["same_question"]["false_accept"] == 0.0
    assert all(0 <= row["same_question"] <= 1 for row in report["per_query"])


def test_an_entry_that_no_bank_would_take_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = written(tmp_path, faq=[{"id": "长", "question": "长" * 2000}], **asked(BANK_QUERIES))
    assert main(["eval", *bad, "--cache", str(tmp_path / "vectors.sqlite")]) == 1
    assert "Entry '长'" in capsys.readouterr().err


def test_cut_texts_are_found_by_their_pieces(files: list[str], tmp_path: Path) -> None:
    long = "\n\n".join(
        f"第{n}条 员工每年享有第{n}种假期，须提前{n}天书面申请并由主管批准。" for n in range(60)
    )
    cut = written(tmp_path, corpus=[{"id": id, "title": t, "text": f"{long}\n\n{x}"} for id, t, x in CORPUS])
    report = evaluated([*files[2:], *cut], tmp_path / "report.json", "--chunk")
    assert report["config"]["chunk"]
    assert report["stages"]["fused"]["recall@10"] == 1.0
    assert {one for row in report["per_query"] for one in row["fused"]["top"]} <= {id for id, _, _ in CORPUS}


@pytest.mark.parametrize("task", ["files", "bank"])
def test_the_same_task_gives_the_same_rankings(
    task: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    given = request.getfixturevalue(task)
    first, second = (evaluated(given, tmp_path / name)["per_query"] for name in ("one", "two"))
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
