import datetime
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.comments import Comment

from headrace.errors import Unreadable
from headrace.ingest.parse import parse
from headrace.ingest.parsed import Block


def blocks_of(book: Any, folder: Path) -> list[Block]:
    path = folder / "a.xlsx"
    book.save(path)
    return [*parse(path, "a.xlsx").blocks]


def a_book(*sheets: tuple[str, list[list[Any]]]) -> Any:
    book = openpyxl.Workbook()
    book.remove(book.active)  # pyright: ignore[reportArgumentType]
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book


def test_every_sheet_is_a_heading_and_its_tables(tmp_path: Path) -> None:
    book = a_book(("价格", [["零件", "价格"], ["闸门", 12]]), ("Hidden", [["x", "y"]]))
    book["Hidden"].sheet_state = "hidden"
    assert [(block.kind, block.text, block.page) for block in blocks_of(book, tmp_path)] == [
        ("heading", "价格", 1),
        ("table", "| 零件 | 价格 |\n| 闸门 | 12 |", 1),
        ("heading", "Hidden", 2),
        ("table", "| x | y |", 2),
    ]


def test_empty_rows_part_tables_and_single_cells_are_titles(tmp_path: Path) -> None:
    rows = [["Annual report", None], ["a", "b"], [1, 2], [None, None], ["c", "d"], [3, 4]]
    blocks = blocks_of(a_book(("S", rows)), tmp_path)
    assert [(block.kind, block.text) for block in blocks[1:]] == [
        ("text", "Annual report"),
        ("table", "| a | b |\n| 1 | 2 |"),
        ("table", "| c | d |\n| 3 | 4 |"),
    ]


def test_values_are_shown_as_a_person_sees_them(tmp_path: Path) -> None:
    book = a_book(("S", [["k", "v"]]))
    sheet = book["S"]
    values = [
        datetime.datetime(2024, 1, 5),
        datetime.datetime(2024, 1, 5, 8, 30),
        2.0,
        0.1 + 0.2,
        True,
        "两行\n文字",
    ]
    for value in values:
        sheet.append(["x", value])
    sheet.append(["x", 0.925])
    sheet.cell(sheet.max_row, 2).number_format = "0.0%"
    (table,) = [block.text for block in blocks_of(book, tmp_path) if block.kind == "table"]
    shown = [line.split(" | ")[1].removesuffix(" |") for line in table.split("\n")[1:]]
    assert shown == ["2024-01-05", "2024-01-05 08:30:00", "2", "0.3", "TRUE", "两行 文字", "92.5%"]


@pytest.mark.parametrize("areas", [["A1:XFD1048576"], ["A:C"], ["A1:A150000", "C1:C150000"]])
def test_a_workbook_that_is_merged_over_whole_sheets_is_refused_at_once(
    areas: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.xlsx"
    a_book(("S", [["问题", "答案"]])).save(path)
    marks = "".join(f'<mergeCell ref="{area}"/>' for area in areas)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            merged = f"</sheetData><mergeCells>{marks}</mergeCells>".encode()
            book.writestr(name, part.replace(b"</sheetData>", merged))
    with pytest.raises(Unreadable, match="200,000 cells are merged"):
        parse(path, "a.xlsx")


def test_merged_cells_name_every_row(tmp_path: Path) -> None:
    book = a_book(("S", [["类别", "零件"], ["钢", "闸门"], [None, "轴"]]))
    book["S"].merge_cells("A2:A3")
    (table,) = [block.text for block in blocks_of(book, tmp_path) if block.kind == "table"]
    assert table == "| 类别 | 零件 |\n| 钢 | 闸门 |\n| 钢 | 轴 |"


def test_formulas_never_calculated_are_shown_and_comments_read(tmp_path: Path) -> None:
    book = a_book(("S", [["a", "sum"], [1, "=A2+1"]]))
    book["S"]["A2"].comment = Comment("估计值", "me")
    (table,) = [block.text for block in blocks_of(book, tmp_path) if block.kind == "table"]
    assert table == "| a | sum |\n| 1 (估计值) | =A2+1 |"


def test_an_original_kept_without_its_suffix_is_read(tmp_path: Path) -> None:
    a_book(("收入", [["年份", "营业收入"], [2021, 21380]])).save(tmp_path / "a.xlsx")
    kept = (tmp_path / "a.xlsx").rename(tmp_path / "0f3a")
    assert "营业收入" in parse(kept, "收入.xlsx").blocks[-1].text


def test_a_stray_cell_a_million_rows_down_costs_nothing(tmp_path: Path) -> None:
    book = a_book(("S", [["a", "b"], [1, 2]]))
    book["S"].cell(1_048_576, 3).value = "末尾"
    assert [block.text for block in blocks_of(book, tmp_path)[1:]] == ["| a | b |\n| 1 | 2 |", "末尾"]
