from hypothesis import given
from hypothesis import strategies as st

from headrace.nodes.reranking.enrichment import MOST_ADDED, for_scoring


def test_captions_texts_in_images_and_questions_follow_the_passage() -> None:
    images = [{"url": "a.png", "caption": "**水渠** 剖面", "ocr_text": "坝高 12 m"}, {"caption": "Canal"}]
    found = for_scoring("## 水坝", images, ["坝有多高？", "How high is the dam?"])
    assert found == "水坝\n水渠 剖面\nCanal\n坝高 12 m\n坝有多高？\nHow high is the dam?"


def test_what_the_passage_says_already_is_not_said_twice() -> None:
    assert for_scoring("见图：水渠剖面。", [{"caption": "水渠 剖面"}], ["水渠剖面？"]) == "见图：水渠剖面。"


def test_pictures_without_words_add_nothing() -> None:
    assert for_scoring("a dam", [{"url": "x.png"}, {"caption": None}, {"ocr_text": "  "}]) == "a dam"


def test_a_passage_without_words_is_scored_by_its_picture() -> None:
    assert for_scoring("![](x.png)", [{"caption": "流程图"}]) == "流程图"


def test_only_the_first_five_questions_are_added() -> None:
    questions = [f"问题{n}" for n in range(9)]
    assert for_scoring("x", [], questions).split("\n") == ["x", *questions[:5]]


@given(st.text(max_size=50), st.lists(st.text(max_size=900), max_size=4), st.lists(st.text(), max_size=3))
def test_never_more_than_so_much_is_added(text: str, captions: list[str], questions: list[str]) -> None:
    found = for_scoring(text, [{"caption": caption} for caption in captions], questions)
    assert len(found) <= len(text) * 3 + MOST_ADDED + 7
