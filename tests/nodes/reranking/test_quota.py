import pytest

from headrace.nodes.reranking.quota import asked_kinds, good_on_their_own, raised, within_quota

from ...fakes import a_hit


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("系统架构图在哪里", {"image", "chart"}),
        ("图 2 说明了什么", {"image", "chart"}),
        ("Show me the diagram of the canal", {"image", "chart"}),
        ("fig. 3 shows what?", {"image", "chart"}),
        ("哪张表列出了住宿标准", {"table"}),
        ("表3的数据", {"table"}),
        ("Which table lists the rates?", {"table"}),
        ("给我看图表", {"image", "chart", "table"}),
    ],
)
def test_a_query_may_ask_for_an_image_or_a_table(query: str, kinds: set[str]) -> None:
    assert asked_kinds(query) == kinds


@pytest.mark.parametrize(
    "query",
    [
        "图书馆几点开门",
        "他的意图是什么",
        "谁代表公司签字",
        "表示同意的方式",
        "发表论文的奖励",
        "What is a stable job?",
        "How imaginative",
        "上表面粗糙度",
        "企图逃税",
        "发表3篇论文",
    ],
)
def test_words_that_only_contain_the_characters_ask_for_neither(query: str) -> None:
    assert asked_kinds(query) == set()


def test_what_is_asked_for_counts_half_as_much_again_but_no_more_than_all() -> None:
    hits = [a_hit("a", kind="table"), a_hit("b", kind="table"), a_hit("c")]
    assert raised(hits, {"a": 0.1, "b": 0.9, "c": 0.1}, "哪张表") == pytest.approx(
        {"a": 0.15, "b": 1, "c": 0.1}
    )
    assert raised(hits, {"a": 0.1, "b": 0.9, "c": 0.1}, "年假几天") == {"a": 0.1, "b": 0.9, "c": 0.1}


def test_five_images_and_tables_stay_whatever_their_score() -> None:
    hits = [a_hit(f"t{n}", kind="table" if n % 2 else "image") for n in range(7)] + [a_hit("text")]
    scores = {f"t{n}": n / 100 for n in range(7)} | {"text": 0.9}
    assert [hit["chunk_id"] for hit in within_quota(hits, scores, 0.3)] == ["t6", "t5", "t4", "t3", "t2"]


def test_those_that_pass_as_a_text_would_are_not_counted_off() -> None:
    hits = [a_hit(f"t{n}", kind="table") for n in range(7)]
    assert len(within_quota(hits, {f"t{n}": 0.5 for n in range(7)}, 0.3)) == 7


def test_without_any_text_they_need_a_tenth_of_what_a_text_needs() -> None:
    hits = [a_hit("t", kind="table")]
    assert good_on_their_own(hits, {"t": 0.015})
    assert not good_on_their_own(hits, {"t": 0.014})
