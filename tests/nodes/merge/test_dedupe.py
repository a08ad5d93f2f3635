"""What says the same begins the same, so that most texts need not be normalised whole."""

import unicodedata

from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.nodes.merge.dedupe import opening, without_repeats
from headrace.text.similarity import signature

from .pieces import a_piece, ids

spoilt = st.text(alphabet="年假Ａaｂ１2,.：:… －\n㎏½é́ﬁ한", min_size=1, max_size=200)


@given(spoilt, st.integers(0, 200))
def test_one_signature_one_opening(text: str, place: int) -> None:
    other = unicodedata.normalize("NFKC", text[:place] + " \n" + text[place:]).upper()
    assume(signature(text) == signature(other))
    assert opening(text) == opening(other)


@given(st.lists(spoilt, min_size=1, max_size=12))
def test_each_text_stays_once(texts: list[str]) -> None:
    pieces = [a_piece(f"c{n:02}", text, score=0.5, document_id=f"d{n:02}") for n, text in enumerate(texts)]
    kept, departures = without_repeats(pieces)
    assert len(kept) + len(departures) == len(texts)
    assert [signature(piece.text) for piece in kept] == list(dict.fromkeys(map(signature, texts)))


def test_a_chunk_that_came_twice_stays_once_and_does_not_leave() -> None:
    kept, departures = without_repeats([a_piece("a", "年假", score=0.4), a_piece("a", "年假", score=0.6)])
    assert (ids(kept), kept[0].hit["score"], departures) == (["a"], 0.6, [])
