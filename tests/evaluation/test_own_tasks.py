"""Retrieval of this version over a few texts of the repository's own, in both languages, and a small bank.

Bars are those of `scripts/quality`, which measures what takes longer (docs/quality.md).
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.evaluation.measure import ask_all, measured_with, opened_bench
from headrace.evaluation.report import report
from headrace.evaluation.suite import read_list
from headrace.evaluation.summary import Row, rows
from headrace.settings import load_settings

FOLDER = Path(__file__).with_name("own")


def silent(what: str, done: int, total: int) -> None:
    return


async def measured(folder: Path) -> dict[str, dict[str, Any]]:
    settings = load_settings(data=folder)
    reports: dict[str, dict[str, Any]] = {}
    for task in read_list(FOLDER):
        questions = task.read_questions(FOLDER)
        corpus = task.read_corpus(FOLDER)
        cache = folder / "vectors.sqlite"
        async with opened_bench(corpus, settings, cache=cache, progress=silent) as bench:
            results = await ask_all(bench, questions.queries, understanding=False, progress=silent)
        config = measured_with(settings)
        reports[task.name] = report(results, questions.grades, least=task.min_relevance, config=config)
    return reports


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return asyncio.run(measured(tmp_path_factory.mktemp("own")))


@pytest.fixture(scope="module")
def own(reports: dict[str, dict[str, Any]]) -> dict[str, Row]:
    return {row.task.name: row for row in rows(read_list(FOLDER), reports)}


@pytest.mark.parametrize("task", ["own", "own-bank"])
def test_both_channels_together_are_no_worse_than_the_better_one(task: str, own: dict[str, Row]) -> None:
    assert own[task].regret <= 0.01


@pytest.mark.parametrize("task", ["own", "own-bank"])
def test_merging_and_cutting_lose_next_to_nothing(task: str, own: dict[str, Row]) -> None:
    assert own[task].change >= -0.005


def test_answers_are_found_in_both_languages_and_across_them(own: dict[str, Row]) -> None:
    assert own["own"].ndcg["fused"] >= 0.9
    assert own["own"].recall == 1.0


def test_a_bank_has_the_right_entry_first(own: dict[str, Row]) -> None:
    assert own["own-bank"].hit["fused"] >= 0.88


def test_questions_that_a_bank_does_not_hold_are_told_from_those_it_does(
    reports: dict[str, dict[str, Any]],
) -> None:
    assert reports["own-bank"]["same_question"]["auc"] >= 0.9
    assert reports["own-bank"]["same_question"]["false_accept"] == 0.0
