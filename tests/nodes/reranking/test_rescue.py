from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.reranking.candidates import Candidates
from headrace.nodes.reranking.rescue import MOST_RESCUED, rare_terms, rescued
from headrace.state import Hit

from ...fakes import a_hit, words


def among(*hits: Hit, query: str = "", exact: tuple[str, ...] = (), **texts: str) -> Candidates:
    found = {hit["chunk_id"]: texts.get(hit["chunk_id"], "") for hit in hits}
    return Candidates(
        query=query,
        hits=hits,
        texts=found,
        words={chunk_id: set(words(text)) for chunk_id, text in found.items()},
        terms=words(query),
        exact=frozenset(exact),
    )


def in_section(chunk_id: str, section: str | None, **parts: Any) -> Hit:
    return a_hit(chunk_id, source={"page": None, "boxes": [], "section": section, "url": None}, **parts)


def test_what_the_query_names_exactly_is_lifted_just_over_the_threshold() -> None:
    candidates = among(a_hit("a"), a_hit("b"), a_hit("c"), exact=("b",))
    assert rescued(candidates, {"a": 0.9, "b": 0.1, "c": 0.1}, 0.3) == {"b": pytest.approx(0.31)}


def test_nothing_is_lifted_over_the_best_one() -> None:
    candidates = among(a_hit("a"), a_hit("b"), exact=("b",))
    assert rescued(candidates, {"a": 0.302, "b": 0.1}, 0.3) == {"b": 0.302}


def test_what_passes_anyway_is_not_rescued() -> None:
    candidates = among(a_hit("a"), a_hit("b"), exact=("a", "b"))
    assert rescued(candidates, {"a": 0.9, "b": 0.4}, 0.3) == {}


SPREAD = {"a": 0.9, "b": 0.8, "low": 0.1, "d": 0.05}


def with_keyword_rank(rank: int, text: str = "quokka 补贴") -> Candidates:
    hits = [a_hit("a"), a_hit("b"), a_hit("low", ranks={"keyword": rank}), a_hit("d")]
    return among(*hits, query="补贴 quokka", a="补贴 one", b="补贴 two", low=text, d="补贴 three")


def test_one_with_every_rare_word_that_the_keyword_search_liked_is_rescued() -> None:
    assert [*rescued(with_keyword_rank(3), SPREAD, 0.3)] == ["low"]


def test_it_has_to_be_among_the_keyword_search_s_first_three() -> None:
    assert rescued(with_keyword_rank(4), SPREAD, 0.3) == {}


def test_it_has_to_hold_them_all() -> None:
    hits = [a_hit("a"), a_hit("b"), a_hit("low", ranks={"keyword": 1}), a_hit("d")]
    candidates = among(*hits, query="quokka wombat", a="wombat", low="quokka")
    assert rare_terms(candidates) == {"quokka", "wombat"}
    assert rescued(candidates, SPREAD, 0.3) == {}


def test_it_has_to_lie_in_the_lower_half_for_the_model() -> None:
    assert rescued(with_keyword_rank(1), {"a": 0.9, "b": 0.05, "low": 0.2, "d": 0.1}, 0.3) == {}


def test_a_word_that_nobody_holds_is_not_asked_for() -> None:
    hits = [a_hit(name) for name in "abcdefghij"]
    texts: Any = dict.fromkeys("abcdefghij", "年假") | {"a": "年假 leave"}
    candidates = among(*hits, query="年假 leave missing", **texts)
    assert rare_terms(candidates) == {"leave"}


def test_the_best_of_a_section_found_again_and_again_is_rescued() -> None:
    hits = [a_hit("top"), *(in_section(f"s{n}", "第三章 差旅") for n in range(3))]
    scores = {"top": 0.9, "s0": 0.1, "s1": 0.2, "s2": 0.05}
    assert [*rescued(among(*hits), scores, 0.3)] == ["s1"]


@pytest.mark.parametrize(
    "hits",
    [
        [in_section("s0", "Travel"), in_section("s1", "Travel")],
        [in_section("s0", None), in_section("s1", None), in_section("s2", None)],
        [in_section("s0", "A"), in_section("s1", "A"), in_section("s2", "A", document_id="other")],
    ],
)
def test_fewer_or_none_or_another_document_s_section_is_not(hits: list[Hit]) -> None:
    scores = {"top": 0.9, **{hit["chunk_id"]: 0.1 for hit in hits}}
    assert rescued(among(a_hit("top"), *hits), scores, 0.3) == {}


def test_a_section_with_one_that_passes_needs_no_rescue() -> None:
    hits = [in_section(f"s{n}", "差旅") for n in range(4)]
    assert rescued(among(*hits), {"s0": 0.9, "s1": 0.1, "s2": 0.1, "s3": 0.1}, 0.3) == {}


def test_images_and_tables_are_left_to_their_quota() -> None:
    candidates = among(a_hit("a"), a_hit("b", kind="table"), exact=("b",))
    assert rescued(candidates, {"a": 0.9, "b": 0.1}, 0.3) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1), st.integers(0, 12))
def test_at_most_three_are_rescued_and_none_beyond_the_best(
    given_scores: list[float], limit: float, exact: int
) -> None:
    hits = [in_section(f"c{n}", f"章{n % 2}", ranks={"keyword": n + 1}) for n in range(len(given_scores))]
    scores = {f"c{n}": score for n, score in enumerate(given_scores)}
    names = tuple(f"c{n}" for n in range(min(exact, len(hits))))
    found = rescued(among(*hits, exact=names), scores, limit)
    assert len(found) <= MOST_RESCUED
    for chunk_id, floor in found.items():
        assert scores[chunk_id] < limit <= floor <= max(given_scores)
