"""What fits into a context."""

from headrace.nodes.answering.budget import LEAST_PASSAGE, PASSAGE_OVERHEAD, fit, shortened, token_estimate

ZH = "差旅报销应在出差结束后十个工作日内提交，逾期不予受理。" * 40
EN = "Travel expenses are refunded within ten working days after approval. " * 40


def test_chinese_counts_a_token_a_character_and_english_about_a_third() -> None:
    assert token_estimate("报销流程") == 5
    assert 30 <= token_estimate("x" * 100) <= 32


def test_what_fits_is_kept_whole() -> None:
    assert fit([ZH, EN], ["", ""], tokens=5000) == [ZH, EN]


def test_the_lowest_is_shortened_as_far_as_needed() -> None:
    first, second = fit([ZH, EN], ["", ""], tokens=token_estimate(ZH) + 2 * PASSAGE_OVERHEAD + 400)
    assert first == ZH
    assert second is not None
    assert LEAST_PASSAGE <= len(second) < len(EN)
    assert EN.startswith(second)


def test_all_are_shortened_before_one_is_dropped() -> None:
    fitted = fit([ZH] * 3, [""] * 3, tokens=1500)
    assert all(text and len(text) < len(ZH) for text in fitted)
    assert [text is None for text in fit([ZH] * 3, [""] * 3, tokens=1000)] == [False, False, True]


def test_a_passage_is_dropped_rather_than_made_meaningless() -> None:
    assert fit([ZH], [""], tokens=PASSAGE_OVERHEAD + 100) == [None]
    assert fit(["short"], [""], tokens=-10) == [None]


def test_a_shortened_passage_keeps_what_was_found_in_it() -> None:
    found = "关键的一句话在这里。"
    text = shortened(f"{ZH}{found}{ZH}", found, tokens=400)
    assert found in text
    assert len(text) <= 400
    assert text.endswith("。")


def test_a_shortened_passage_ends_with_a_sentence() -> None:
    text = shortened(EN, "", tokens=200)
    assert text.endswith(".")
    assert token_estimate(text) <= 200


def test_text_without_sentences_is_cut_where_the_room_ends() -> None:
    assert 450 <= len(shortened("长" * 2000, "", tokens=500)) <= 500
