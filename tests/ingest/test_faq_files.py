"""FAQ files of every kind, encoding and habit; what is written comes back the same."""

import csv
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.errors import BadRequest, Unreadable
from headrace.ingest.faq_columns import column_of, guarded, joined, split, unguarded
from headrace.ingest.faq_drafts import ANSWER_LENGTH, FaqDraft, good_draft
from headrace.ingest.faq_files import FORMATS, MOST_ROWS, FaqFile, FaqFormat, from_json, to_json, written
from headrace.ingest.faq_reading import read

LEAVE = FaqDraft(
    question="年假有几天？",
    similar_questions=["How many days of leave?", "年休假天数"],
    negative_questions=["病假有几天？"],
    answers=["满十年为 10 天。\n\n## 结转\n最多 3 天。", "Ten days."],
    answer_strategy="random",
    tags=["HR", "休假"],
    enabled=False,
)
WEKNORA = (
    "分类(必填),问题(必填),相似问题(选填-多个用##分隔),反例问题(选填-多个用##分隔),"
    "机器人回答(必填-多个用##分隔),是否全部回复(选填-默认FALSE),是否停用(选填-默认FALSE)\n"
    "售后,怎么退货？,退货流程##如何退货,怎么换货,七天内可退。##请联系客服。,TRUE,FALSE\n"
    "售后,怎么开发票？,,,在订单页申请。,,TRUE\n"
)


def read_bytes(content: bytes, format: FaqFormat = "csv") -> FaqFile:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        return read(path, format)


def drafts(file: FaqFile) -> list[FaqDraft]:
    return [good_draft(FaqDraft(**row.given)) for row in file.rows]


def rejections(file: FaqFile) -> list[tuple[int, str]]:
    return [(one.row, one.code) for one in file.rejected]


def a_book(rows: Sequence[Sequence[Any]], *before: Sequence[Sequence[Any]]) -> bytes:
    """A workbook of these sheets."""
    book: Any = openpyxl.Workbook()
    book.remove(book.active)
    for sheet_rows in (*before, rows):
        sheet = book.create_sheet()
        for row in sheet_rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


# --- what is written comes back -----------------------------------------------------------------


def is_good(draft: FaqDraft) -> bool:
    try:
        return bool(good_draft(draft))
    except BadRequest:
        return False


TEXTS = st.text(max_size=40) | st.text(alphabet="#\\'=+-@＝,，;、\n\t _x005FaA\ufffe\"年", max_size=14)
ENTRIES = st.builds(
    FaqDraft,
    question=TEXTS,
    similar_questions=st.lists(TEXTS, max_size=4),
    negative_questions=st.lists(TEXTS, max_size=3),
    answers=st.lists(TEXTS, max_size=4),
    answer_strategy=st.sampled_from(["all", "first", "random"]),
    tags=st.lists(TEXTS, max_size=3),
    enabled=st.booleans(),
).filter(is_good).map(good_draft)  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=150, deadline=None)
@given(entries=st.lists(ENTRIES, min_size=1, max_size=3, unique_by=lambda draft: draft.question))
@example(entries=[LEAVE])
@example(
    entries=[
        good_draft(FaqDraft(question="=1+1", answers=["'=x", "''@y", "-", "'不变"], tags=["a,b", "c\\"]))
    ]
)
@example(entries=[good_draft(FaqDraft(question="_x000D_", answers=["_x005F_x0041_", "####", "a\\##", "\\"]))])
def test_any_entries_come_back_as_they_were(format: FaqFormat, entries: list[FaqDraft]) -> None:
    file = read_bytes(written(entries, format), format)
    kept = [entry for entry in entries if entry.question not in file.rejected_questions]
    assert drafts(file) == kept
    # Two questions that differ in signs only are one question.
    assert {code for _, code in rejections(file)} <= {"faq_duplicate_row"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_says_every_field_of_an_entry(format: FaqFormat) -> None:
    (row,) = read_bytes(written([LEAVE], format), format).rows
    assert {*row.given} == {field.name for field in fields(FaqDraft)}


def test_texts_too_long_for_a_cell_of_excel_come_back_whole() -> None:
    long = good_draft(FaqDraft(question="长", answers=[f"{n}" + "#" * (ANSWER_LENGTH - 2) for n in range(4)]))
    content = written([LEAVE, long], "xlsx")
    assert drafts(read_bytes(content, "xlsx")) == [LEAVE, long]
    sheet: Any = openpyxl.load_workbook(io.BytesIO(content)).active
    assert [cell.value for cell in sheet[1]].count("answers") == 4
    assert max(len(cell.value or "") for cell in sheet[3]) <= 32_767


@given(st.lists(st.text(alphabet="#\\ab,；\n", max_size=8)))
def test_parting_a_cell_undoes_joining_its_values(values: list[str]) -> None:
    for column in ("answers", "tags", "similar_questions"):
        lines = values if column == "answers" else [value.replace("\n", "") for value in values]
        kept = [line.strip() for line in lines if line.strip()]
        assert split(joined(kept, column), column) == kept


@given(st.text(alphabet="'=+-@＝\ta", max_size=5))
def test_no_cell_begins_like_a_formula_and_the_sign_before_it_goes_again(text: str) -> None:
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "＝"))
    assert unguarded(guarded(text)) == text


def test_no_spreadsheet_runs_what_is_written() -> None:
    evil = FaqDraft(question="=cmd|' /C calc'!A0", answers=["@SUM(1)", "-1"], similar_questions=["+1"])
    (_, row) = csv.reader(io.StringIO(written([evil], "csv").decode("utf-8-sig"), newline=""))
    assert [cell[:2] for cell in row[:4]] == ["'=", "'+", "", "'@"]
    sheet: Any = openpyxl.load_workbook(io.BytesIO(written([evil], "xlsx"))).active
    assert {cell.data_type for cell in sheet[2] if cell.value} == {"s"}
    assert sheet["A2"].value == evil.question
    assert sheet["A2"].quotePrefix


def test_excel_is_told_that_a_csv_file_is_utf_8() -> None:
    assert written([LEAVE], "csv").startswith("\ufeffquestion,".encode())


# --- what people bring --------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_read_in_any_encoding_and_with_any_separator(encoding: str, separator: str) -> None:
    lines = [
        ["标准问", "答案", "标签"],
        ["出差住宿标准是多少？", "国内出差住宿标准为每晚不超过 450 元，凭发票报销。", "差旅"],
        ["How often is the seal kit replaced?", "Every 4000 operating hours.", "pump"],
    ]
    text = "\r\n".join(separator.join(line) for line in lines)
    first, second = drafts(read_bytes(text.encode(encoding)))
    assert (first.question, first.answers, first.tags) == (lines[1][0], [lines[1][1]], ["差旅"])
    assert (second.question, second.tags) == (lines[2][0], ["pump"])


def test_a_table_in_big5_is_read() -> None:
    text = "標準問題,答案\n出差的住宿標準是多少？,國內出差的住宿標準為每晚不超過四百五十元，憑發票報銷。\n"
    (draft,) = drafts(read_bytes(text.encode("big5")))
    assert draft.question == "出差的住宿標準是多少？"


def test_the_template_of_weknora_is_read() -> None:
    first, second = drafts(read_bytes(WEKNORA.encode("gbk")))
    assert first == FaqDraft(
        question="怎么退货？",
        similar_questions=["退货流程", "如何退货"],
        negative_questions=["怎么换货"],
        answers=["七天内可退。", "请联系客服。"],
        answer_strategy="all",
        tags=["售后"],
        enabled=True,
    )
    assert (second.answer_strategy, second.enabled, second.similar_questions) == ("random", False, [])


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("Question", "question"),
        ("*问题（必填）", "question"),
        ("Similar Questions", "similar_questions"),
        ("相似问", "similar_questions"),
        ("反例问题", "negative_questions"),
        ("ANSWER", "answers"),
        ("答案 ", "answers"),
        ("answer-strategy", "answer_strategy"),
        ("答案策略", "answer_strategy"),
        ("ｔａｇｓ", "tags"),
        ("启用", "enabled"),
        ("是否停用", "disabled"),
        ("备注", None),
        ("", None),
    ],
)
def test_columns_are_known_in_both_languages(header: str, column: str | None) -> None:
    assert column_of(header) == column


@pytest.mark.parametrize(
    ("header", "word", "enabled"),
    [
        ("启用", "是", True),
        ("启用", "否", False),
        ("enabled", "TRUE", True),
        ("enabled", "0", False),
        ("enabled", "", True),
        ("启用", "停用", False),
        ("停用", "是", False),
        ("停用", "", True),
        ("是否停用", "停用", False),
        ("disabled", "No", True),
    ],
)
def test_yes_and_no_are_understood(header: str, word: str, enabled: bool) -> None:
    (draft,) = drafts(read_bytes(f"问题,{header}\n年假？,{word}\n".encode()))
    assert draft.enabled is enabled


def test_answers_keep_their_lines_and_questions_are_parted_by_them() -> None:
    text = '问题,相似问,答案\n年假？,"几天\nHow many\n",“十天”\n病假？,,"第一行\n第二行##Another\\##one\\"\n'
    first, second = drafts(read_bytes(text.encode()))
    assert first.similar_questions == ["几天", "How many"]
    assert second.answers == ["第一行\n第二行", "Another##one\\"]


def test_what_no_column_gives_is_left_open() -> None:
    file = read_bytes("备注,问题,答案\nx,年假？,\n".encode())
    assert [dict(row.given) for row in file.rows] == [{"question": "年假？", "answers": []}]
    assert file.ignored_columns == ["备注"]


def test_of_many_columns_that_say_nothing_a_few_are_named_and_the_rest_counted() -> None:
    names = ["列" * 500, *(f"x{number}" for number in range(1, 1000))]
    file = read_bytes(f"问题,{','.join(names)}\n年假？\n".encode())
    assert [*file.ignored_columns[:2], *file.ignored_columns[-2:]] == ["列" * 40, "x1", "x11", "… 988 more"]


def test_titles_above_the_header_and_empty_rows_do_not_matter() -> None:
    file = read_bytes("常见问题\n\n问题,答案\n年假？,十天\n,\nLeave?,Ten\n".encode())
    assert [(row.row, row.question) for row in file.rows] == [(4, "年假？"), (6, "Leave?")]


def test_rows_that_cannot_be_are_told_with_their_number() -> None:
    text = (
        "问题,答案,启用,答案策略\n年假？,十天,也许,\n,没有问题,,\n病假？,,,sometimes\n"
        "Leave?,Ten,是,all\nleave,Ten,,\n"
    )
    file = read_bytes(text.encode())
    assert rejections(file) == [
        (2, "faq_bad_boolean"),
        (3, "faq_question_empty"),
        (4, "faq_bad_strategy"),
        (6, "faq_duplicate_row"),
    ]
    assert [row.question for row in file.rows] == ["Leave?"]
    assert file.rejected[3].reason == "Row 5 asks the same question."
    assert "'也许'" in file.rejected[0].reason
    assert file.rejected_questions == ["年假？", "病假？", "leave"]


def test_a_file_without_questions_is_told_what_its_columns_are() -> None:
    with pytest.raises(Unreadable, match="'姓名', 'Phone'") as refused:
        read_bytes("姓名,Phone\n王,1\n".encode())
    assert refused.value.code == "faq_no_question_column"
    with pytest.raises(Unreadable, match="'姓名', 'Phone'"):
        read_bytes(a_book([["姓名", "Phone"], ["王", 1]], []), "xlsx")
    with pytest.raises(Unreadable, match="it is empty"):
        read_bytes(b"\n")


def test_a_workbook_is_read_where_it_has_questions() -> None:
    rows = [
        ["FAQ 2026"],
        ["问题", "答案", "启用", "标签"],
        ["年假？", 10, True, "HR"],
        ["=1+1", "a\nb\r\nc", False, None],
    ]
    content = a_book(rows, [["说明"], ["Fill in the second sheet"]])
    first, second = drafts(read_bytes(content, "xlsx"))
    assert (first.question, first.answers, first.enabled, first.tags) == ("年假？", ["10"], True, ["HR"])
    # A formula that no program has calculated is shown, never run.
    assert (second.question, second.answers, second.enabled) == ("=1+1", ["a\nb\nc"], False)


def test_half_a_character_in_a_workbook_is_none() -> None:
    rows = [["question", "_xDC00_"], ["_xD800_", "没有"], ["_xD83D__xDE00_ 怎么退款?", "one"]]
    file = read_bytes(a_book(rows), "xlsx")
    assert drafts(file)[-1].question == "😀 怎么退款?"
    json.dumps(to_json(file), ensure_ascii=False).encode("utf-8")


def test_a_merged_category_counts_for_each_of_its_rows() -> None:
    book: Any = openpyxl.Workbook()
    for row in (["分类", "问题"], ["休假", "年假？"], [None, "病假？"]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    file = io.BytesIO()
    book.save(file)
    assert [draft.tags for draft in drafts(read_bytes(file.getvalue(), "xlsx"))] == [["休假"], ["休假"]]


@pytest.mark.parametrize("whole", [True, False])
def test_json_is_a_list_of_entries_or_one_on_each_line(whole: bool) -> None:
    entries = [
        {"id": "x", "问题": "年假？", "答案": "## 十天 ##\n一行", "tags": None},
        {
            "standard_question": "Leave?",
            "answers": ["Ten", 10],
            "is_enabled": False,
            "answer_strategy": "first",
        },
    ]
    text = json.dumps({"entries": entries}) if whole else "\n\n".join(map(json.dumps, entries))
    file = read_bytes(text.encode(), "json")
    first, second = drafts(file)
    assert (first.question, first.answers, first.tags) == ("年假？", ["## 十天 ##\n一行"], [])
    assert (second.answers, second.enabled, second.answer_strategy) == (["Ten", "10"], False, "first")
    assert [row.row for row in file.rows] == ([1, 2] if whole else [1, 3])


def test_json_may_be_a_single_entry_and_of_another_encoding() -> None:
    (draft,) = drafts(read_bytes('{"question": "国内出差的住宿标准是多少？"}'.encode("gbk"), "json"))
    assert draft.question == "国内出差的住宿标准是多少？"


def test_json_entries_of_another_shape_are_rejected() -> None:
    entries = [
        "年假？",
        {"answers": ["x"]},
        {"question": {"a": 1}},
        {"question": "a", "answers": [["b"]]},
        None,
    ]
    file = read_bytes(json.dumps(entries).encode(), "json")
    assert rejections(file) == [
        (1, "faq_bad_value"),
        (2, "faq_question_empty"),
        (3, "faq_bad_value"),
        (4, "faq_bad_value"),
        (5, "faq_bad_value"),
    ]


@pytest.mark.parametrize("text", ["问题", '{"a": 1}', '"x"', "5", "[" * 100_000, '{"question": NaN}'])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_bytes(text.encode(), "json")
    assert refused.value.code == "faq_not_json"


def test_no_more_rows_are_kept_than_are_needed_to_see_that_there_are_too_many() -> None:
    text = "问题\n" + "\n".join(f"问 {n}" for n in range(MOST_ROWS + 50))
    assert len(read_bytes(text.encode()).rows) == MOST_ROWS + 1


def test_an_archive_bomb_is_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 50_000_000)
    with pytest.raises(Unreadable) as refused:
        read_bytes(file.getvalue(), "xlsx")
    assert refused.value.code == "archive_bomb"


def test_a_damaged_workbook_is_refused() -> None:
    with pytest.raises(Unreadable) as refused:
        read_bytes(b"PK\x03\x04 no archive", "xlsx")
    assert refused.value.code == "damaged_document"


def test_what_was_read_goes_through_json() -> None:
    file = read_bytes("问题,启用,备注\n年假？,是,\n病假？,也许,\n".encode())
    assert from_json(json.loads(json.dumps(to_json(file)))) == file
