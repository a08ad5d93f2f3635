import json
from pathlib import Path
from typing import Any

import pytest

from headrace.evaluation.files import BadTask, Corpus, Questions, read_corpus, read_faq, read_questions


def written(folder: Path, **rows: list[Any]) -> dict[str, Path]:
    for name, lines in rows.items():
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        (folder / name).write_text(text + "\n", "utf-8")
    return {name: folder / name for name in rows}


def a_task(folder: Path, **changed: list[Any]) -> tuple[Corpus, Questions]:
    rows: dict[str, list[Any]] = {
        "corpus": [{"id": "a", "title": "年假", "text": "十二天"}, {"id": "b", "text": "seal kit"}],
        "queries": [{"id": "q1", "text": "年假几天？"}, {"id": "q2", "text": "谁？"}],
        "qrels": [{"qid": "q1", "doc_id": "a", "relevance": 2}],
    }
    paths = written(folder, **(rows | changed))
    corpus = read_faq(paths["faq"]) if "faq" in changed else read_corpus(paths["corpus"])
    return corpus, read_questions(paths["queries"], paths["qrels"])


def test_a_task_is_texts_questions_and_grades(tmp_path: Path) -> None:
    corpus, questions = a_task(tmp_path)
    assert [(row.id, row.title, row.text) for row in corpus.texts] == [
        ("a", "年假", "十二天"),
        ("b", None, "seal kit"),
    ]
    assert [query.id for query in questions.queries] == ["q1", "q2"]
    assert questions.grades == {"q1": {"a": 2}}


def test_a_bank_of_questions_has_entries(tmp_path: Path) -> None:
    corpus, _ = a_task(tmp_path, faq=[{"id": 7, "question": "几天？", "similar_questions": ["多久？"]}])
    assert [(row.id, row.question, row.similar_questions) for row in corpus.entries] == [
        ("7", "几天？", ["多久？"])
    ]


def test_a_relevance_of_zero_makes_no_answer(tmp_path: Path) -> None:
    assert a_task(tmp_path, qrels=[{"qid": "q1", "doc_id": "a", "relevance": 0}])[1].grades == {}


def test_line_separators_inside_a_text_end_no_line(tmp_path: Path) -> None:
    corpus, _ = a_task(tmp_path, corpus=['{"id": "a", "text": "one\u2028two"}'])
    assert [row.text for row in corpus.texts] == ["one\u2028two"]


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("corpus", {"id": "c"}, "corpus, line 1: text"),
        ("queries", "{", "queries, line 1: not JSON"),
        ("qrels", {"qid": "q1", "doc_id": "a", "relevance": "viel"}, "qrels, line 1: relevance"),
        ("queries", {"id": "q", "text": "?", "history": [{"role": "system", "text": ""}]}, "history.0.role"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, name: str, row: Any, said: str) -> None:
    with pytest.raises(BadTask, match=said):
        a_task(tmp_path, **{name: [row]})


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadTask, match="'q1' stands there twice"):
        a_task(tmp_path, queries=[{"id": "q1", "text": "x"}, {"id": "q1", "text": "y"}])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTask, match="nowhere cannot be read"):
        read_corpus(tmp_path / "nowhere")
