import re
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.context import Chunk
from headrace.ingest.chunking import CHILD, CHILD_LIMIT, OVERLAP, PARENT_LIMIT, Chunks, chunk, search_text
from headrace.ingest.parsed import Block, Parsed, row_line

ZH = "水轮机每周检查一次，发现漏水要立即报告。"
EN = "The gate is opened slowly, and the water follows. "


def cut(*blocks: Block) -> Chunks:
    return chunk(Parsed(blocks=blocks), kb_id="kb", document_id="d1", revision=3)


def heading(text: str, level: int = 1) -> Block:
    return Block(kind="heading", text=text, level=level)


def text(text: str, page: int | None = None) -> Block:
    return Block(kind="text", text=text, page=page)


def table(rows: Sequence[Sequence[str]]) -> Block:
    return Block(kind="table", text="\n".join(map(row_line, rows)))


def squashed(text: str) -> str:
    return re.sub(r"[\s\0]+", "", text)


# --- headings and sections ---


def test_section_is_the_path_of_headings() -> None:
    chunks = cut(heading("手册"), heading("检修", 2), text(ZH * 30), heading("润滑", 2), text(ZH * 30))
    sections = [child.section for child in chunks.children]
    assert sections[0] == "手册 > 检修"
    assert sections[-1] == "手册 > 润滑"


def test_consecutive_headings_form_one_chunk_with_what_follows() -> None:
    (child,) = cut(heading("Manual"), heading("Repair", 2), heading("Gates", 3), text(EN)).children
    assert child.text == f"Manual\nRepair\nGates\n{EN.strip()}"
    assert child.section == "Manual > Repair > Gates"


def test_a_heading_is_never_the_end_of_a_chunk() -> None:
    chunks = cut(*(block for n in range(40) for block in (heading(f"Part {n}", 2), text(EN * 4))))
    for one in [*chunks.children, *chunks.parents]:
        assert not one.text.split("\n")[-1].startswith("Part")


def test_numbered_chinese_headings_are_found_in_plain_text() -> None:
    chunks = cut(text("第一章 总则"), text("第一节 范围"), text(ZH * 30), text("第二章 检修"), text(ZH * 30))
    assert chunks.children[0].section == "第一章 总则 > 第一节 范围"
    assert chunks.children[-1].section == "第二章 检修"


def test_a_numbered_list_is_not_a_row_of_headings() -> None:
    chunks = cut(text("1. 打开闸门"), text("2. 等待水流"), text("3. 启动机组"), text(ZH))
    assert chunks.children[0].section is None


def test_a_question_as_heading_is_body_and_still_begins_a_chunk() -> None:
    chunks = cut(
        heading("FAQ"), heading("怎么停机？", 2), text(ZH * 12), heading("怎么开机？", 2), text(ZH * 3)
    )
    last = chunks.children[-1]
    assert last.text.startswith("怎么开机？")
    assert last.section == "FAQ"


def test_a_chunk_over_small_sections_has_what_they_share() -> None:
    (child,) = cut(heading("A"), heading("B", 2), text("One."), heading("C", 2), text("Two.")).children
    assert child.section == "A"


# --- sizes and cuts ---


def test_sizes_are_as_planned_for_running_text() -> None:
    chunks = cut(text(ZH * 500))
    children = [len(child.text) for child in chunks.children[:-1]]
    parents = [len(parent.text) for parent in chunks.parents[:-1]]
    assert min(parents) > 1_700
    assert sorted(children)[len(children) // 2] > 330


def test_cuts_are_at_sentence_ends_and_overlap_by_sentences() -> None:
    for sentence in (ZH, EN):
        chunks = cut(text(sentence * 60))
        for before, after in zip(chunks.children, chunks.children[1:], strict=False):
            assert before.text.endswith(sentence.strip())
            assert after.text.startswith(sentence.strip())
            if before.parent_chunk_id == after.parent_chunk_id:
                assert before.text[-OVERLAP:].count(sentence.strip()) >= 1


def test_one_line_of_100_000_characters_without_punctuation() -> None:
    for character in ("水", "x"):
        chunks = cut(text(character * 100_000))
        assert max(len(child.text) for child in chunks.children) <= CHILD_LIMIT
        assert squashed("".join(parent.text for parent in chunks.parents)) == character * 100_000


def test_a_large_table_repeats_its_header_in_every_piece() -> None:
    rows = [["编号", "名称", "价格"], *([str(n), f"零件{n}", f"{n} 元"] for n in range(400))]
    chunks = cut(table(rows))
    header = row_line(rows[0])
    assert all(child.kind == "table" for child in chunks.children)
    assert all(one.text.startswith(header) for one in [*chunks.children, *chunks.parents])
    lines = [line for child in chunks.children for line in child.text.split("\n") if line != header]
    assert lines == [row_line(row) for row in rows[1:]]


def test_a_table_that_fits_is_whole() -> None:
    rows = [["name", "price"], *([f"part {n}", f"{n} EUR"] for n in range(15))]
    chunks = cut(text(EN * 5), table(rows), text(EN * 5))
    (only,) = [child for child in chunks.children if child.kind == "table"]
    assert only.text == table(rows).text


def test_code_that_fits_is_whole_and_longer_code_is_cut_between_lines() -> None:
    code = "\n".join(f"    total = total + values[{n}]  # 第{n}项" for n in range(8))
    chunks = cut(text(ZH * 14), Block(kind="code", text=code))
    assert code in chunks.children[-1].text
    long = "\n".join(f"print({n})" for n in range(1000))
    lines = [line for child in cut(Block(kind="code", text=long)).children for line in child.text.split("\n")]
    assert lines == long.split("\n")


def test_pages_and_boxes_are_kept() -> None:
    first = Block(kind="text", text=EN, page=3, boxes=[[3, 10, 10, 200, 30]])
    second = Block(kind="text", text=EN, page=4, boxes=[[4, 10, 10, 200, 30]])
    (child,) = cut(first, second).children
    assert child.page == 3
    assert child.boxes == [[3, 10, 10, 200, 30], [4, 10, 10, 200, 30]]


def test_the_same_document_again_has_the_same_ids_and_another_revision_others() -> None:
    parsed = Parsed(blocks=[text(ZH * 100)])
    one = chunk(parsed, kb_id="kb", document_id="d", revision=1)
    assert chunk(parsed, kb_id="kb", document_id="d", revision=1) == one
    other = chunk(parsed, kb_id="kb", document_id="d", revision=2)
    assert not {child.id for child in one.children} & {child.id for child in other.children}


def test_search_text_says_title_and_section_once() -> None:
    chunks = cut(heading("手册"), heading("润滑", 2), text(ZH * 40))
    first, *_, last = chunks.children
    assert search_text(first, "机组").startswith("机组\n手册\n润滑\n")
    assert search_text(last, "机组").startswith("机组\n手册 > 润滑\n")


# --- whatever comes in ---

WORDS = st.text(min_size=1, max_size=30)
PARAGRAPHS = st.one_of(
    st.text(max_size=900),
    st.lists(st.sampled_from([ZH, EN, "很长的一段没有标点的文字", "第一章 总则", "1. Item", "\n"])).map(
        "".join
    ),
    st.integers(1, 3000).map(lambda n: "字" * n),
)
BLOCKS = st.one_of(
    PARAGRAPHS.map(text),
    st.builds(heading, WORDS, st.integers(1, 9)),
    PARAGRAPHS.map(lambda body: Block(kind="code", text=body)),
    st.lists(st.lists(st.text(max_size=40), min_size=1, max_size=4), min_size=1, max_size=25).map(table),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(BLOCKS, max_size=25))
def test_nothing_is_lost_and_the_order_is_kept(blocks: list[Block]) -> None:
    without_headers = [block for block in blocks if block.kind != "table"]
    chunks = cut(*without_headers)
    whole = squashed("".join(block.text for block in without_headers))
    assert squashed("".join(parent.text for parent in chunks.parents)) == whole


@settings(max_examples=120, deadline=None)
@given(st.lists(BLOCKS, max_size=25))
def test_every_row_of_every_table_is_in_a_child(blocks: list[Block]) -> None:
    chunks = cut(*blocks)
    children = squashed("".join(child.text for child in chunks.children if child.kind == "table"))
    small = squashed("".join(child.text for child in chunks.children))
    for block in blocks:
        for line in block.text.split("\n") if block.kind == "table" else []:
            assert len(line) > CHILD or squashed(line) in children or squashed(line) in small


@settings(max_examples=120, deadline=None)
@given(st.lists(BLOCKS, max_size=25))
def test_children_cover_their_parents(blocks: list[Block]) -> None:
    chunks = cut(*blocks)
    for parent in chunks.parents:
        own = [child for child in chunks.children if child.parent_chunk_id == parent.id]
        assert covers(squashed(parent.text), own)


@settings(max_examples=120, deadline=None)
@given(st.lists(BLOCKS, max_size=25))
def test_sizes_are_bounded_and_links_are_consistent(blocks: list[Block]) -> None:
    chunks = cut(*blocks)
    assert all(0 < len(child.text) <= CHILD_LIMIT for child in chunks.children)
    assert all(0 < len(parent.text) <= PARENT_LIMIT for parent in chunks.parents)
    ids = [one.id for one in [*chunks.parents, *chunks.children]]
    assert len(ids) == len({*ids})
    for row in (chunks.parents, chunks.children):
        assert [one.chunk_index for one in row] == [*range(len(row))]
        assert [one.pre_chunk_id for one in row] == [None, *(one.id for one in row)][: len(row)]
        assert [one.next_chunk_id for one in row] == [*(one.id for one in row[1:]), None][: len(row)]
    parents = [parent.id for parent in chunks.parents]
    places = [parents.index(child.parent_chunk_id or "") for child in chunks.children]
    assert places == sorted(places)
    assert {*places} == {*range(len(parents))}


def covers(parent: str, children: Sequence[Chunk]) -> bool:
    """Children, one after the other, reach from the start to the end of the parent without a gap."""
    reached = {0}  # where the text so far may end: repeated text leaves several possibilities
    for child in children:
        lines = child.text.split("\n")
        # A repeated header is not where the text goes on.
        bodies = {
            squashed(child.text),
            squashed("\n".join(lines[1:]) if child.kind == "table" else child.text),
        }
        reached = {
            start + len(body)
            for body in bodies
            for end in reached
            for start in range(max(0, end - OVERLAP), end + 1)
            if body and parent.startswith(body, start)
        }
    return len(parent) in reached
