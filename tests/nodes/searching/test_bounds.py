"""Asking about fewer candidates changes nothing among the best."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.context import Scored
from headrace.nodes.searching.bounds import UNKNOWN, Edge, edge_of, undecided, widest
from headrace.nodes.searching.channels import Recall, recall_of
from headrace.text.fusion import by_coverage

MOST, WEIGHT, KEEP, LIMIT = 10.0, 0.1, 4, 6

# Every entry of an index: its cosine, and its BM25 score, which most have not.
indexes = st.lists(st.tuples(st.floats(0.5, 1), st.one_of(st.just(0.0), st.floats(0.1, MOST))), max_size=30)


def top(scores: dict[str, float]) -> list[Scored]:
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [Scored(chunk_id=id, score=score) for id, score in ordered if score > 0][:LIMIT]


def ranked(recall: Recall, cosines: dict[str, float], bm25: dict[str, float]) -> list[tuple[str, float]]:
    known = recall.scores
    scores = {"vector": {**known["vector"], **cosines}, "keyword": {**known["keyword"], **bm25}}
    fused = by_coverage(recall.channels, scores, MOST, WEIGHT)
    return [(one.chunk_id, one.score) for one in fused[:KEEP]]


def asked_for(recall: Recall) -> tuple[list[str], list[str]]:
    return undecided(recall, edge_of(recall, LIMIT), weight=WEIGHT, most=MOST, keep=KEEP)


@given(indexes)
def test_the_best_are_those_that_all_scores_would_give(entries: list[tuple[float, float]]) -> None:
    cosines = {f"c{n:02}": cosine for n, (cosine, _) in enumerate(entries)}
    bm25 = {f"c{n:02}": score for n, (_, score) in enumerate(entries)}
    recall = recall_of({"vector": top(cosines), "keyword": top(bm25)})
    vectors, keywords = asked_for(recall)
    assert not {*vectors} & {*recall.scores["vector"]}
    assert not {*keywords} & {*recall.scores["keyword"]}
    all_scores = {id: score for id, score in bm25.items() if score}
    assert ranked(recall, {id: cosines[id] for id in vectors}, {id: bm25[id] for id in keywords}) == ranked(
        recall, cosines, all_scores
    )


def test_words_that_were_not_found_in_all_places_asked_for_are_nowhere_else() -> None:
    recall = recall_of({"vector": top({"a": 0.9, "b": 0.8}), "keyword": top({"a": 3.0})})
    assert asked_for(recall) == ([], [])


def test_what_is_not_among_all_vectors_there_are_is_asked_for() -> None:
    recall = recall_of({"vector": top({"a": 0.9}), "keyword": top({"a": 3.0, "lost": 2.0})})
    assert asked_for(recall) == (["lost"], [])


def test_where_nothing_is_known_of_the_rest_all_are_asked_for() -> None:
    recall = recall_of({"vector": top({"a": 0.9, "b": 0.5}), "keyword": top({"c": 3.0})})
    assert undecided(recall, UNKNOWN, weight=WEIGHT, most=MOST, keep=1) == (["c"], ["a", "b"])


def test_several_calls_leave_out_what_the_widest_of_them_leaves_out() -> None:
    edges = [Edge(vector=0.5, keyword=3.0), Edge(vector=0.8, keyword=1.0)]
    assert widest(edges) == Edge(vector=0.8, keyword=3.0)
