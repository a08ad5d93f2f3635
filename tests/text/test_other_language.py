from headrace.text.other_language import places_kept


def test_a_question_that_nothing_covers_makes_more_room_for_the_other_language() -> None:
    assert places_kept(0.2) == (4, 7, 10)
    assert places_kept(0.8) == (10,)


def test_without_keywords_nothing_is_covered() -> None:
    assert places_kept(0.0) == (4, 7, 10)
