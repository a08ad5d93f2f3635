import subprocess
import sys
import zipfile
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path

import openpyxl
import pytest

from headrace.errors import Unreadable
from headrace.ingest.parse.process import ParserProcess
from headrace.settings import load_settings

pytestmark = pytest.mark.anyio


@pytest.fixture
async def parser() -> AsyncGenerator[ParserProcess]:
    parser = ParserProcess(load_settings(parse_timeout_s=20, parse_memory_mb=512))
    yield parser
    await parser.close()


def a_file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def endless_pdf() -> bytes:
    """A page that is drawn for minutes: a few hundred bytes that unpack to millions of operators."""
    stream = zlib.compress(b"BT /F1 9 Tf (x) Tj ET " * 3_000_000, 9)
    head = b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
    head += b"2 0 obj\n<</Type/Pages/Count 1/Kids[3 0 R]>>\nendobj\n"
    head += b"3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>\nendobj\n"
    body = b"4 0 obj\n<</Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\nendobj\n" % (
        len(stream),
        stream,
    )
    return head + body + b"trailer\n<</Size 5/Root 1 0 R>>\n%%EOF"


async def test_a_file_comes_back_as_blocks(parser: ParserProcess, tmp_path: Path) -> None:
    path = a_file(tmp_path, "hash", "# 引水\n\n水从渠道来。".encode())
    parsed = await parser.parse(path, "引水.md", "markdown")
    assert parsed.title == "引水"
    assert [(block.kind, block.text) for block in parsed.blocks] == [
        ("heading", "引水"),
        ("text", "水从渠道来。"),
    ]


async def test_what_is_unreadable_keeps_its_reason(parser: ParserProcess, tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        await parser.parse(a_file(tmp_path, "a", b" "), "a.txt", "text")
    assert caught.value.code == "empty_document"


async def test_too_long_a_parse_is_killed_and_the_next_file_works(tmp_path: Path) -> None:
    parser = ParserProcess(load_settings(parse_timeout_s=1.5, parse_memory_mb=1024))
    with pytest.raises(Unreadable, match=r"longer than 1\.5 seconds") as caught:
        await parser.parse(a_file(tmp_path, "a", endless_pdf()), "a.pdf", "pdf")
    assert caught.value.code == "parse_timeout"
    parsed = await parser.parse(a_file(tmp_path, "b", b"Text."), "b.txt", "text")
    assert parsed.blocks[0].text == "Text."
    await parser.close()


async def test_too_much_memory_is_refused_and_the_next_file_works(
    parser: ParserProcess, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(600 * 1024 * 1024)
    with pytest.raises(Unreadable):
        await parser.parse(path, "a.txt", "text")
    parsed = await parser.parse(a_file(tmp_path, "b", b"Text."), "b.txt", "text")
    assert parsed.blocks[0].text == "Text."


async def test_a_file_that_fills_the_memory_bit_by_bit_leaves_none_of_it_to_the_next(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0]["A1"] = "合并"
    book.save(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    row = "".join(f"<c><v>{number * number % 9973}</v></c>" for number in range(10_000))
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(
        b"</sheetData>", f"<row>{row}</row>".encode() * 200 + b"</sheetData>"
    )
    with zipfile.ZipFile(tmp_path / "a", "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    parser = ParserProcess(load_settings(parse_timeout_s=30, parse_memory_mb=256))
    with pytest.raises(Unreadable, match="memory"):
        await parser.parse(tmp_path / "a", "a.xlsx", "xlsx")
    parsed = await parser.parse(a_file(tmp_path, "b", b"<h1>Text</h1>"), "b.html", "html")
    assert parsed.title == "Text"
    await parser.close()


async def test_a_worker_that_dies_costs_only_its_file(tmp_path: Path) -> None:
    # Less than the interpreter itself needs: the worker dies at once.
    parser = ParserProcess(load_settings().model_copy(update={"parse_memory_mb": 1}))
    with pytest.raises(Unreadable):
        await parser.parse(a_file(tmp_path, "a", b"Text."), "a.txt", "text")
    await parser.close()


async def test_closing_twice_or_before_the_first_file_is_fine(parser: ParserProcess) -> None:
    await parser.close()
    await parser.close()


def test_the_worker_cannot_write_files(tmp_path: Path) -> None:
    code = (
        "from headrace.ingest.worker import _limit; _limit(512)\n"
        f"import pathlib; pathlib.Path({str(tmp_path / 'x')!r}).write_text('no')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"File too large" in done.stderr


def test_the_worker_loads_nothing_heavy() -> None:
    code = "import sys, headrace.ingest.worker as w; print(*sys.modules)"
    loaded = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    )
    heavy = {
        "chromadb",
        "numpy",
        "langgraph",
        "tantivy",
        "pdfplumber",
        "docx",
        "openpyxl",
        "pydantic",
        "jieba",
    }
    assert not heavy & {*loaded}
