"""Files with bytes changed or missing: read, or refused with a reason, never with another error."""

import random
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest

from headrace.errors import HeadraceError
from headrace.ingest.parse import parse

from ..pdfs import Page, a_pdf


def a_docx(path: Path) -> None:
    document: Any = docx.Document()
    document.add_heading("引水", 1)
    document.add_table(rows=2, cols=2)
    document.save(str(path))


def an_xlsx(path: Path) -> None:
    book: Any = openpyxl.Workbook()
    book.active.append(["零件", "Price"])
    book.save(path)


def pdf(path: Path) -> None:
    page = Page()
    page.write("The gate is opened slowly.", y=100)
    path.write_bytes(a_pdf([page]))


@pytest.mark.parametrize(("make", "format"), [(a_docx, "docx"), (an_xlsx, "xlsx"), (pdf, "pdf")])
def test_damage_is_read_or_refused(tmp_path: Path, make: Any, format: Any) -> None:
    path = tmp_path / "whole"
    make(path)
    whole, chance = path.read_bytes(), random.Random(7)
    reasons: list[str] = []
    for round in range(25):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 10, 50))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(len(data))] if round % 4 == 0 else data)
        try:
            parse(path, f"a.{format}", format)
        except HeadraceError as error:
            reasons.append(error.message)
    assert all(reasons)
