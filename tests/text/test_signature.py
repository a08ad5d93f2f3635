from headrace.text.signature import chunk_id, text_hash


def test_the_same_chunk_has_the_same_id() -> None:
    assert chunk_id("d1", 1, "text", 0) == chunk_id("d1", 1, "text", 0)
    assert len(chunk_id("文档", 1, "text", 0)) == 32


def test_every_part_of_the_key_counts() -> None:
    keys = [
        ("d1", 1, "text", 1),
        ("d1", 2, "text", 1),
        ("d1", 1, "parent", 1),
        ("d1", 1, "text", 11),
        ("d11", 1, "text", 1),
    ]
    assert len({chunk_id(*key) for key in keys}) == len(keys)


def test_any_text_has_a_hash() -> None:
    assert text_hash("年假") != text_hash("leave")
    assert len(text_hash("\ud800")) == 64
