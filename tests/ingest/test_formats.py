import io
import struct
import zipfile

import pytest

from headrace.errors import UnsupportedFormat
from headrace.ingest.formats import (
    MEDIA_TYPES,
    SUFFIXES,
    clean_name,
    format_of,
    format_of_media_type,
)

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)


def a_zip(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("说明.txt", "正文".encode(), "text"),
        ("README.MD", b"# Title", "markdown"),
        ("page.mdx", b"# Title", "markdown"),
        ("a.htm", b"<p>x", "html"),
        ("a.tsv", b"a\tb", "csv"),
        ("a.pdf", PDF, "pdf"),
        ("a.docx", a_zip("[Content_Types].xml", "word/document.xml"), "docx"),
        ("a.pptx", a_zip("ppt/presentation.xml"), "pptx"),
        ("a.xlsx", a_zip("xl/workbook.xml"), "xlsx"),
        ("a.epub", a_zip("mimetype", "META-INF/container.xml"), "epub"),
        ("BMW prices.txt", b"BMW sells cars", "text"),
        ("ID3.txt", b"ID3 is a tag format for sound files.", "text"),
        ("utf16.txt", "正文".encode("utf-16"), "text"),
    ],
)
def test_suffix_and_content_agree(name: str, content: bytes, expected: str) -> None:
    assert format_of(name, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("report.docx", PDF, "pdf"),
        ("report.txt", PDF, "pdf"),
        ("slides.docx", a_zip("ppt/presentation.xml"), "pptx"),
        ("old.bin", a_zip("xl/workbook.xml"), "xlsx"),
    ],
)
def test_a_wrong_suffix_is_read_for_what_the_content_is(name: str, content: bytes, expected: str) -> None:
    assert format_of(name, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("图.txt", PNG, "图.txt: its content is a PNG image"),
        ("a.pdf", b"just text", "its content is not PDF"),
        ("a.docx", b"<html>", "its content is not DOCX"),
        ("a.docx", OLE, "encrypted or of an Office before 2007"),
        ("a.xls", OLE, ".xls files are not supported"),
        ("a.txt", a_zip("other.txt"), "its content is a ZIP archive"),
        ("a.docx", b"PK\x03\x04 broken", "damaged archive"),
        ("song.mp3", b"ID3", ".mp3 files are not supported"),
        ("Makefile", b"all:", "files without a suffix are not supported"),
    ],
)
def test_what_is_not_read_is_refused_by_name_with_what_is(name: str, content: bytes, why: str) -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        format_of(name, content)
    assert why in caught.value.message
    assert caught.value.message.startswith(name)
    assert "Supported are txt, md" in caught.value.message
    assert caught.value.details["name"] == name


def test_an_archive_of_endless_parts_is_refused_before_they_are_listed() -> None:
    directory = bytes(46) * 100_000  # told by its size, whatever stands in it
    end = b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, 1, 1, len(directory), 0, 0)
    with pytest.raises(UnsupportedFormat, match="too many parts"):
        format_of("书.docx", b"PK\x03\x04" + directory + end)


def test_media_types_lead_back_to_the_format() -> None:
    for format in SUFFIXES.values():
        assert format_of_media_type(MEDIA_TYPES[format]) == format
    with pytest.raises(UnsupportedFormat):
        format_of_media_type("audio/mpeg")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\Users\\me\\合同.docx", "合同.docx"),
        ("a\0b\n.txt", "ab.txt"),
        ("📚 手册 😀.md", "📚 手册 😀.md"),
        ("  spaced   out .pdf", "spaced out.pdf"),
        (".pdf", "untitled.pdf"),
        ("", "untitled"),
        ("..", "untitled"),
        ("evil\u202egpj.txt", "evilgpj.txt"),
        ("evil\u2066gpj\u2069\u200f.txt", "evilgpj.txt"),
        ("\u200b\ufeff.txt", "untitled.txt"),
        ("👨\u200d👩\u200d👧.txt", "👨\u200d👩\u200d👧.txt"),
        ("\udcff.txt", "?.txt"),
    ],
)
def test_names_become_titles(name: str, title: str) -> None:
    assert clean_name(name) == title


def test_a_long_name_is_cut_and_keeps_its_suffix() -> None:
    title = clean_name("很长的名字" * 100 + ".docx")
    assert len(title) == 255
    assert title.endswith(".docx")
