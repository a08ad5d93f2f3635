"""What fits into a context."""

from headrace.nodes.budget import LEAST_PASSAGE, PASSAGE_OVERHEAD, fit, shortened, token_estimate

ZH = "差旅报销应在出差结束后十个工作日内提交，逾期不予受理。" * 40
EN = "Travel expenses are refunded within ten working days after approval. " * 40


def test_chinese_counts_a_token_a_character_and_english_about_a_third() -> None:
    assert token_estimate("报销流程") == 5
    assert 30 <= token_estimate("x" * 100) <= 32


def test_what_fits_is_kept_whole() -> None:
    assert fit([ZH, EN], tokens=5000) == [ZH, EN]


def test_the_last_that_fits_is_shortened_and_those_after_it_go() -> None:
    first, second, third = fit([ZH, EN, ZH], tokens=token_estimate(ZH) + 400)
    assert first == ZH
    assert second is not None
    assert LEAST_PASSAGE <= len(second) < len(EN)
    assert third is None


def test_a_passage_is_dropped_rather_than_made_meaningless() -> None:
    assert fit([ZH], tokens=PASSAGE_OVERHEAD + 100) == [None]


def test_a_shortened_passage_ends_with_a_sentence() -> None:
    text = shortened(ZH, tokens=600)
    assert text is not None
    assert text.endswith("。")
    assert token_estimate(text) <= 600


def test_text_without_sentences_is_cut_where_the_room_ends() -> None:
    text = shortened("长" * 2000, tokens=500)
    assert text is not None
    assert 450 <= len(text) <= 500


def test_no_room_at_all_keeps_nothing() -> None:
    assert fit(["short"], tokens=-10) == [None]
