"""How many candidates, and which calls a store gets."""

from dataclasses import replace

import pytest

from headrace.nodes.searching.targets import MEDIA, Call, Target, calls_of, candidates, store_groups

from ...fakes import a_kb


@pytest.mark.parametrize(
    ("match_count", "kbs", "wanted"),
    [(50, 1, 250), (5, 1, 50), (50, 2, 500), (100, 1, 500), (5, 3, 150), (1, 1, 50)],
)
def test_more_candidates_are_recalled_than_are_kept(match_count: int, kbs: int, wanted: int) -> None:
    assert candidates(match_count, kbs) == wanted


def target(id: str, *documents: str, kind: str = "document", store: str = "embedded") -> Target:
    kb = replace(a_kb(id), kind=kind, store=store)  # pyright: ignore[reportArgumentType]
    return Target(kb=kb, document_ids=documents)


def test_whole_knowledge_bases_share_a_call_and_narrowed_ones_have_their_own() -> None:
    targets = [target("a"), target("b", "d1"), target("c"), target("d", "d2")]
    assert calls_of(targets, {}, limit=9, faq_answers=False) == [
        Call(kb_ids=["a", "c"], limit=9),
        Call(kb_ids=["b"], limit=9, document_ids=("d1",)),
        Call(kb_ids=["d"], limit=9, document_ids=("d2",)),
    ]


@pytest.mark.parametrize(("answers", "kinds"), [(False, ("question",)), (True, ("question", "faq"))])
def test_known_questions_are_searched_by_their_questions(answers: bool, kinds: tuple[str, ...]) -> None:
    calls = calls_of([target("a", kind="faq"), target("b", kind="faq")], {}, limit=9, faq_answers=answers)
    assert calls == [Call(kb_ids=["a", "b"], limit=9, kinds=kinds, folds=True)]


def test_tables_get_a_small_recall_of_their_own_where_there_are_any() -> None:
    calls = calls_of([target("a"), target("b")], {"b": {"table"}}, limit=9, faq_answers=False)
    assert calls == [Call(kb_ids=["a", "b"], limit=9), Call(kb_ids=["b"], limit=5, kinds=MEDIA)]


def test_questions_made_for_texts_are_reckoned_with() -> None:
    [call] = calls_of([target("a"), target("b")], {"b": {"question"}}, limit=9, faq_answers=False)
    assert call.folds


def test_other_languages_are_searched_by_themselves() -> None:
    targets = [target("a"), target("b", "d1"), target("f", kind="faq"), target("c")]
    calls = calls_of(targets, {"a": {"table"}}, limit=50, foreign=["en"])
    apart = [call for call in calls if not call.words]
    assert [(call.kb_ids, call.document_ids, call.kinds) for call in apart] == [
        (["a", "c"], (), ()),
        (["b"], ("d1",), ()),
        (["f"], (), ("question",)),
    ]
    assert {(call.limit, *call.languages) for call in apart} == {(20, "en")}
    own = [call for call in calls if call.words and not call.is_media]
    assert {(call.limit, *call.languages) for call in own} == {(50, "", "zh")}
    assert [call.languages for call in calls if call.is_media] == [()]


def test_stores_are_asked_each_for_its_own() -> None:
    groups = store_groups({}, [target("a"), target("b", store="far"), target("c")])
    assert [(group.name, group.kb_ids) for group in groups] == [("embedded", ["a", "c"]), ("far", ["b"])]
