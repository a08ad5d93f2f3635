import zipfile
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from headrace.errors import Unreadable
from headrace.ingest.parse import parse
from headrace.ingest.parsed import Block

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
FOOTNOTES = (
    f'<?xml version="1.0"?><w:footnotes {WORD}><w:footnote w:id="2"><w:p><w:r>'
    "<w:t>脚注：检修须停机。</w:t></w:r></w:p></w:footnote></w:footnotes>"
)


def a_document() -> Any:
    return docx.Document()


def blocks_of(document: Any, folder: Path) -> list[Block]:
    path = folder / "a.docx"
    document.save(str(path))
    return [*parse(path, "a.docx").blocks]


def texts_of(document: Any, folder: Path) -> list[str]:
    return [block.text for block in blocks_of(document, folder)]


def test_headings_paragraphs_and_tables_come_in_order(tmp_path: Path) -> None:
    document = a_document()
    document.add_heading("水轮机手册", 0)
    document.add_heading("检修", 2)
    document.add_paragraph("每周检查一次。")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Part", "Price", "Gate", "12 | 15"], strict=True):
        cell.text = text
    document.add_paragraph("After the table.")
    assert [(block.kind, block.level, block.text) for block in blocks_of(document, tmp_path)] == [
        ("heading", 1, "水轮机手册"),
        ("heading", 2, "检修"),
        ("text", 0, "每周检查一次。"),
        ("table", 0, "| Part | Price |\n| Gate | 12 ¦ 15 |"),
        ("text", 0, "After the table."),
    ]


def test_lists_are_one_block(tmp_path: Path) -> None:
    document = a_document()
    for item in ("打开闸门", "启动机组"):
        document.add_paragraph(item, style="List Number")
    assert texts_of(document, tmp_path) == ["- 打开闸门\n- 启动机组"]


def test_merged_cells_stand_once(tmp_path: Path) -> None:
    document = a_document()
    table = document.add_table(rows=3, cols=3)
    for place, cell in enumerate(table._cells):
        cell.text = f"c{place}"
    table.cell(0, 0).merge(table.cell(0, 2)).text = "wide"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "tall"
    assert texts_of(document, tmp_path) == ["| wide |\n| tall | c4 | c5 |\n|  | c7 | c8 |"]


def test_headers_and_footers_are_read_without_page_numbers(tmp_path: Path) -> None:
    document = a_document()
    document.add_paragraph("Body.")
    document.sections[0].header.paragraphs[0].text = "内部资料"
    document.sections[0].footer.paragraphs[0].text = "3 / 12"
    assert texts_of(document, tmp_path) == ["内部资料", "Body."]


def test_links_show_where_they_lead(tmp_path: Path) -> None:
    document = a_document()
    paragraph = document.add_paragraph("See ")
    link = document.part.relate_to(
        "https://example.org/manual",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink",
        is_external=True,
    )
    names = nsdecls("w", "r")
    paragraph._p.append(
        parse_xml(f'<w:hyperlink {names} r:id="{link}"><w:r><w:t>the manual</w:t></w:r></w:hyperlink>')
    )
    paragraph.add_run(" first.")
    assert texts_of(document, tmp_path) == ["See the manual (https://example.org/manual) first."]


def test_changes_are_read_as_accepted_and_boxes_once(tmp_path: Path) -> None:
    document = a_document()
    paragraph = document.add_paragraph("Open ")
    for piece in (
        "<w:del {0}><w:r><w:delText>slowly</w:delText></w:r></w:del>",
        "<w:ins {0}><w:r><w:t>gently</w:t></w:r></w:ins>",
        '<w:r {0} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:AlternateContent>'
        "<mc:Choice Requires='wps'><w:txbxContent><w:p><w:r><w:t>框中文字</w:t></w:r></w:p></w:txbxContent>"
        "</mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>框中文字</w:t></w:r></w:p></w:txbxContent>"
        "</mc:Fallback></mc:AlternateContent></w:r>",
    ):
        paragraph._p.append(parse_xml(piece.format(nsdecls("w"))))
    assert texts_of(document, tmp_path) == ["Open gently", "框中文字"]


def test_content_controls_and_formulas_are_read(tmp_path: Path) -> None:
    document = a_document()
    body = document.element.body
    body.insert(
        0,
        parse_xml(
            f"<w:sdt {nsdecls('w')}><w:sdtContent>"
            "<w:p><w:r><w:t>控件</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        ),
    )
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    body.insert(
        1,
        parse_xml(
            f'<w:p {nsdecls("w")}><m:oMath xmlns:m="{math}"><m:r><m:t>E=mc</m:t></m:r></m:oMath></w:p>'
        ),
    )
    assert texts_of(document, tmp_path) == ["控件", "E=mc"]


def test_footnotes_follow_the_text(tmp_path: Path) -> None:
    document = a_document()
    paragraph = document.add_paragraph("停机检修")
    paragraph._p.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'))
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    content_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), content_type, FOOTNOTES.encode(), document.part.package)
    document.part.relate_to(
        part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    )
    assert texts_of(document, tmp_path) == ["停机检修", "脚注：检修须停机。"]


def test_a_damaged_file_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w:document")
    with pytest.raises(Unreadable, match="damaged"):
        parse(path, "a.docx")
