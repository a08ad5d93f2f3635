import json
from pathlib import Path
from typing import Any

import pytest

from headrace.evaluation.files import BadTask, Task, read_task


def written(folder: Path, **rows: list[Any]) -> dict[str, Path]:
    for name, lines in rows.items():
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        (folder / name).write_text(text + "\n", "utf-8")
    return {name: folder / name for name in rows}


def a_task(folder: Path, **changed: list[Any]) -> Task:
    rows: dict[str, list[Any]] = {
        "corpus": [{"id": "a", "title": "年假", "text": "十二天"}, {"id": "b", "text": "seal kit"}],
        "queries": [{"id": "q1", "text": "年假几天？"}, {"id": "q2", "text": "谁？"}],
        "qrels": [{"qid": "q1", "doc_id": "a", "relevance": 2}],
    }
    paths = written(folder, **(rows | changed))
    return read_task(
        corpus=None if "faq" in changed else paths["corpus"],
        faq=paths.get("faq"),
        queries=paths["queries"],
        qrels=paths["qrels"],
    )


def test_a_corpus_entry_is_one_text_with_its_title(tmp_path: Path) -> None:
    task = a_task(tmp_path)
    assert [unit.texts for unit in task.units] == [["年假\n十二天"], ["seal kit"]]
    assert task.grades == {"q1": {"a": 2}}


def test_every_phrasing_of_a_faq_entry_finds_it(tmp_path: Path) -> None:
    task = a_task(tmp_path, faq=[{"id": "f", "question": "几天？", "similar_questions": ["多久？", " "]}])
    assert [unit.texts for unit in task.units] == [["几天？", "多久？"]]


def test_a_relevance_of_zero_makes_no_answer(tmp_path: Path) -> None:
    assert a_task(tmp_path, qrels=[{"qid": "q1", "doc_id": "a", "relevance": 0}]).grades == {}


def test_line_separators_inside_a_text_end_no_line(tmp_path: Path) -> None:
    task = a_task(tmp_path, corpus=['{"id": "a", "text": "one\u2028two"}'])
    assert [unit.texts for unit in task.units] == [["one\u2028two"]]


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
        read_task(corpus=tmp_path / "nowhere", faq=None, queries=tmp_path, qrels=tmp_path)
