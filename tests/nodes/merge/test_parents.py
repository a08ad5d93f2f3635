"""Step 4 where it is not plain: edited chunks, tables, images."""

from dataclasses import replace

from headrace.nodes.merge.parents import grandparent_ids, parent_ids, with_parents

from ...fakes import a_chunk
from .pieces import a_piece, ids

PARENT = a_chunk("p", "年假为十五天。请向主管申请。", kind="parent")


def urls(images: object) -> list[str]:
    assert isinstance(images, list)
    return [image["url"] for image in images]  # pyright: ignore[reportUnknownVariableType]


def test_an_edited_chunk_is_not_covered_by_a_parent_that_says_what_it_said_before() -> None:
    edited = a_piece("a", "年假为二十天。", parent_chunk_id="p", entry_id="e1")
    assert [piece.text for piece in with_parents([edited], {"p": PARENT})[0]] == ["年假为二十天。"]


def test_an_edited_parent_does_not_take_the_words_out_of_what_was_found() -> None:
    child = a_piece("a", "年假为二十天。", parent_chunk_id="p")
    [piece] = with_parents([child], {"p": PARENT})[0]
    assert piece.text == f"年假为二十天。\n{PARENT.text}"


def test_a_piece_of_a_table_needs_its_repeated_header_only_once() -> None:
    parent = replace(PARENT, text="| 设备 | 数量 |\n| pump | 1 |\n| 阀 | 2 |")
    piece = a_piece("a", "| 设备 | 数量 |\n| 阀 | 2 |", kind="table", parent_chunk_id="p")
    assert with_parents([piece], {"p": parent})[0][0].text == parent.text


def test_a_parent_brings_only_those_images_that_its_chunk_shows_or_names() -> None:
    images = [{"url": f"/{n}.png", "caption": f"图 {n}"} for n in range(4)]
    parent = replace(PARENT, images=images)
    child = a_piece("a", "年假为十五天。见 /2.png", parent_chunk_id="p", images=[{"url": "/1.png"}])
    [piece] = with_parents([child], {"p": parent})[0]
    assert urls(piece.images) == ["/1.png", "/2.png"]


def test_what_was_read_in_an_image_is_read_in_the_text_around_it() -> None:
    image = a_piece("i", "压力曲线 pressure", kind="image", parent_chunk_id="t", images=[{"url": "/1.png"}])
    text = a_chunk("t", "见图一。", parent_chunk_id="p")
    assert parent_ids([image]) == ["t"]
    assert grandparent_ids([image], {"t": text}) == ["p"]
    [piece] = with_parents([image], {"t": text, "p": PARENT})[0]
    assert piece.text == f"压力曲线 pressure\n{PARENT.text}"
    assert urls(piece.images) == ["/1.png"]


def test_an_image_whose_text_has_no_parent_is_read_in_that_text() -> None:
    image = a_piece("i", "caption", kind="image", parent_chunk_id="t")
    assert with_parents([image], {"t": a_chunk("t", "见图一。")})[0][0].text == "caption\n见图一。"


def test_only_for_images_the_parent_of_a_parent_is_looked_up() -> None:
    piece = a_piece("a", "年假", parent_chunk_id="t")
    assert grandparent_ids([piece], {"t": a_chunk("t", "年假", parent_chunk_id="p")}) == []


def test_an_image_and_a_text_below_one_parent_are_one_hit_that_says_both() -> None:
    image = a_piece("i", "caption", kind="image", index=3, score=0.9, parent_chunk_id="p")
    text = a_piece("a", "年假为十五天。", parent_chunk_id="p")
    pieces, [gone] = with_parents([image, text], {"p": PARENT})
    assert ids(pieces) == ["i"]
    assert pieces[0].text == f"caption\n{PARENT.text}"
    assert (gone["chunk_id"], gone["reason"], gone.get("other")) == ("a", "same_parent", "i")


def test_a_known_question_has_no_parent() -> None:
    assert parent_ids([a_piece("q", "年假几天？", kind="question", parent_chunk_id="f")]) == []
