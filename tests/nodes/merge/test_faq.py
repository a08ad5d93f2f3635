"""Step 6: the answers of an entry, by its strategy."""

from dataclasses import replace

import pytest

from headrace.context import FaqEntry
from headrace.nodes.merge.faq import chosen, content_of, entry_ids, with_answers

from .pieces import a_piece

ENTRY = FaqEntry(
    id="f", kb_id="kb1", question="年假几天？", answers=["十五天。", "Fifteen days.", "见手册。"]
)


@pytest.mark.parametrize(
    ("strategy", "content"),
    [("all", "年假几天？\n\n十五天。\nFifteen days.\n见手册。"), ("first", "年假几天？\n\n十五天。")],
)
def test_the_content_is_the_question_and_what_the_strategy_takes(strategy: str, content: str) -> None:
    entry = replace(ENTRY, answer_strategy=strategy)
    [piece] = with_answers([a_piece("f", "as indexed", kind="faq")], {"f": entry}, run_id="r")
    assert piece.text == content


def test_a_random_answer_is_the_same_in_every_replay_of_a_run() -> None:
    entry = replace(ENTRY, answer_strategy="random")
    drawn = {run: chosen(entry, run_id=run) for run in map(str, range(60))}
    assert {tuple(answers) for answers in drawn.values()} == {(answer,) for answer in ENTRY.answers}
    assert all(chosen(entry, run_id=run) == answers for run, answers in drawn.items())


@pytest.mark.parametrize("strategy", ["all", "first", "random"])
def test_an_entry_without_answers_is_its_question(strategy: str) -> None:
    assert content_of(replace(ENTRY, answers=[], answer_strategy=strategy), run_id="r") == "年假几天？"


def test_an_entry_that_cannot_be_read_stays_what_was_indexed() -> None:
    piece = a_piece("f", "年假几天？\n\n十五天。", kind="faq")
    assert with_answers([piece], {}, run_id="r") == [piece]


def test_only_known_questions_are_looked_up() -> None:
    assert entry_ids([a_piece("f", "q", kind="faq"), a_piece("a", "text")]) == ["f"]
