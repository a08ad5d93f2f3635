import json
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.evaluation.files import BadTask
from headrace.evaluation.suite import laid_out, read_list

TASK = {"name": "汉", "corpus": "c.jsonl", "queries": "q.jsonl", "qrels": "r.jsonl"}


def a_list(folder: Path, *tasks: dict[str, Any]) -> Path:
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return folder


def a_task(name: str, **more: Any) -> dict[str, Any]:
    return TASK | {"name": name} | more


def test_tasks_come_in_the_order_of_the_list(tmp_path: Path) -> None:
    folder = a_list(tmp_path, a_task("b"), a_task("a", min_relevance=2, mixed=True, n=3))
    assert [(task.name, task.min_relevance, task.mixed) for task in read_list(folder)] == [
        ("b", 1, False),
        ("a", 2, True),
    ]
    assert [task.name for task in read_list(folder, ["a"])] == ["a"]


def test_a_task_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTask, match="no task ccc"):
        read_list(a_list(tmp_path, a_task("a")), ["ccc"])


@pytest.mark.parametrize("name", ["../up", "", "a/b", "汉"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadTask, match="is not a list of tasks"):
        read_list(a_list(tmp_path, a_task(name)))


def test_a_task_searches_texts_or_a_bank(tmp_path: Path) -> None:
    (task,) = read_list(a_list(tmp_path, a_task("both", faq="f.jsonl")))
    with pytest.raises(BadTask, match="one of corpus and faq"):
        task.read_corpus(tmp_path)


def test_a_folder_without_a_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTask, match=r"tasks\.json cannot be read"):
        read_list(tmp_path)


def test_a_program_lays_its_tasks_out(tmp_path: Path) -> None:
    program = tmp_path / "lay.py"
    program.write_text(
        "import pathlib, sys\n"
        "out = pathlib.Path(sys.argv[1]); out.mkdir(parents=True)\n"
        "(out / 'tasks.json').write_text('[]'); (out / 'split').write_text(sys.argv[3])\n"
    )
    folder = laid_out(program, tmp_path / "out", split="heldout")
    assert read_list(folder) == []
    assert (folder / "split").read_text() == "heldout"
    assert laid_out(folder, tmp_path / "other") == folder


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    program = tmp_path / "lay.py"
    program.write_text(f"import sys; sys.exit('没有数据 {sys.version_info.major}')", "utf-8")
    with pytest.raises(BadTask, match="没有数据"):
        laid_out(program, tmp_path / "out")
