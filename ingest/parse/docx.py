"""Word: paragraphs, tables, boxes, charts and notes in the order in which they are read."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import PackageNotFoundError

from ...errors import Unreadable
from ..parsed import Block, Parsed, row_line
from .archives import opened_archive
from .markup import Element, etree, xml_tree
from .office import chart_text, diagram_text

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"

BOX = f"{W}txbxContent"
# Deleted text, the older copy of the same drawing, field codes; boxes are read after their paragraph.
LEFT_OUT = {f"{W}del", f"{W}moveFrom", FALLBACK, f"{W}instrText", f"{W}delText", BOX, f"{W}pPr", f"{W}rPr"}
SIGNS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-", f"{W}ptab": "\t"}
NOTES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}
CONTAINERS = {f"{W}sdt", f"{W}sdtContent", f"{W}ins", f"{W}moveTo", f"{W}customXml", f"{W}smartTag"}
HEADING_STYLE = re.compile(r"(?:heading|标题|標題|überschrift|titre)\s*([1-9])$", re.IGNORECASE)


def parse(path: Path) -> Parsed:
    with opened_archive(path):
        pass
    try:
        document = docx.Document(str(path))
    except (KeyError, ValueError, PackageNotFoundError, SyntaxError) as error:
        raise Unreadable("the file is damaged: it is no Word document", code="damaged_document") from error
    reader = _Reader(document.part, _heading_levels(document))
    blocks = [*_margins(reader, document, "header"), *reader.blocks(document.element.body)]
    blocks += [*reader.notes(), *_margins(reader, document, "footer")]
    return Parsed(title=document.core_properties.title, blocks=blocks)


def _heading_levels(document: Any) -> Mapping[str, int]:
    """Level by style id, from the style's name or outline level, inherited from the style it is based on."""
    levels: dict[str, int] = {}
    styles = {style.get(f"{W}styleId"): style for style in document.styles.element.iter(f"{W}style")}
    for style_id in styles:
        current, seen = style_id, set[Any]()
        while current in styles and current not in seen and style_id not in levels:
            seen.add(current)
            if level := _own_level(styles[current]):
                levels[style_id] = level
            based = styles[current].find(f"{W}basedOn")
            current = based.get(f"{W}val") if based is not None else None
    return levels


def _own_level(style: Element) -> int:
    name = style.find(f"{W}name")
    text = (name.get(f"{W}val") or "") if name is not None else ""
    if text.lower() in ("title", "标题", "標題"):
        return 1
    if found := HEADING_STYLE.match(text.strip()):
        return int(found[1])
    outline = style.find(f"{W}pPr/{W}outlineLvl")
    return _outline_level(outline)


def _outline_level(outline: Element | None) -> int:
    level = int(outline.get(f"{W}val") or 9) if outline is not None else 9
    return level + 1 if level < 9 else 0  # 9 is "body text"


def _margins(reader: "_Reader", document: Any, which: str) -> Iterator[Block]:
    """Headers or footers of all sections, each text once."""
    seen: set[str] = set()
    for section in document.sections:
        for kind in (f"first_page_{which}", f"even_page_{which}", which):
            margin = getattr(section, kind)
            if margin.is_linked_to_previous:
                continue
            for block in _Reader(margin.part, reader.levels).blocks(margin._element):
                if block.text not in seen and not re.fullmatch(r"[\d\s/|-]*", block.text):
                    seen.add(block.text)
                    yield Block(kind="table" if block.kind == "table" else "text", text=block.text)


class _Reader:
    """Reads the body of one part: relations (links, charts, notes) are looked up in that part."""

    def __init__(self, part: Any, levels: Mapping[str, int]) -> None:
        self.levels = levels
        self._part = part
        self._notes: list[tuple[str, str]] = []

    def blocks(self, body: Element) -> Iterator[Block]:
        items: list[str] = []
        for element in _content(body):
            if element.tag == f"{W}p" and _is_item(element):
                items += [f"- {text}" for text in [self._text(element).strip()] if text]
                extra = [*self._boxes(element)]
                if not extra:
                    continue
            else:
                extra = []
            if items:
                yield Block(kind="text", text="\n".join(items))
                items.clear()
            if extra:
                yield from extra
            elif element.tag == f"{W}tbl":
                yield from self._table(element)
            elif element.tag == f"{W}p":
                yield from self._paragraph(element)
        if items:
            yield Block(kind="text", text="\n".join(items))

    def notes(self) -> Iterator[Block]:
        """Footnotes and endnotes in the order in which the text refers to them."""
        for kind, note_id in self._notes:
            for note in self._note_part(kind).iter(f"{W}{kind.removesuffix('s')}"):
                if note.get(f"{W}id") == note_id:
                    text = " ".join(self._text(paragraph).strip() for paragraph in note.iter(f"{W}p"))
                    yield Block(kind="text", text=text.strip())

    def _note_part(self, kind: str) -> Element:
        relation = RELATIONSHIP_TYPE.FOOTNOTES if kind == "footnotes" else RELATIONSHIP_TYPE.ENDNOTES
        for rel in self._part.rels.values():
            if rel.reltype == relation:
                return xml_tree(rel.target_part.blob)
        return etree.Element("none")

    def _paragraph(self, element: Element) -> Iterator[Block]:
        text = self._text(element).strip()
        level = self._level(element)
        if text and level:
            yield Block(kind="heading", text=" ".join(text.split()), level=level)
        elif text:
            yield Block(kind="text", text=text)
        yield from self._boxes(element)

    def _level(self, element: Element) -> int:
        own = element.find(f"{W}pPr/{W}outlineLvl")
        style = element.find(f"{W}pPr/{W}pStyle")
        by_style = self.levels.get(style.get(f"{W}val") or "", 0) if style is not None else 0
        return _outline_level(own) or by_style

    def _text(self, element: Element) -> str:
        pieces: list[str] = []
        self._collect(element, pieces)
        return "".join(pieces)

    def _collect(self, element: Element, pieces: list[str]) -> None:
        for child in element:
            tag = child.tag
            if tag in LEFT_OUT:
                continue
            if tag in (f"{W}t", f"{M}t"):
                pieces.append(child.text or "")
            elif tag in SIGNS:
                pieces.append(SIGNS[tag])
            elif tag in NOTES:
                self._notes.append((NOTES[tag], child.get(f"{W}id") or ""))
            elif tag == f"{WP}docPr" and (child.get("descr") or "").strip():
                pieces.append(f"[{' '.join(child.get('descr').split())}]")
            elif tag == f"{W}hyperlink":
                pieces.append(self._link(child))
            else:
                self._collect(child, pieces)

    def _link(self, element: Element) -> str:
        text = self._text(element)
        rel = self._part.rels.get(element.get(f"{R}id") or "")
        address = rel.target_ref if rel is not None and rel.is_external else ""
        return f"{text} ({address})" if address and address.rstrip("/") != text.strip().rstrip("/") else text

    def _boxes(self, element: Element) -> Iterator[Block]:
        """Text boxes, charts and diagrams anchored in a paragraph."""
        for found in element.iter(BOX, f"{C}chart", f"{DGM}relIds"):
            if any(parent.tag in (FALLBACK, f"{W}del") for parent in found.iterancestors()):
                continue
            if found.tag == BOX:
                if not any(parent.tag == BOX for parent in found.iterancestors()):
                    yield from self.blocks(found)
            elif found.tag == f"{C}chart":
                title, table = chart_text(xml_tree(self._related(found.get(f"{R}id"))))
                yield Block(kind="text", text=title)
                yield Block(kind="table", text=table)
            else:
                yield Block(kind="text", text=diagram_text(xml_tree(self._related(found.get(f"{R}dm")))))

    def _related(self, relation_id: str | None) -> bytes:
        rel = self._part.rels.get(relation_id or "")
        return rel.target_part.blob if rel is not None and not rel.is_external else b"<none/>"

    def _table(self, table: Element) -> Iterator[Block]:
        rows = [self._cells(row) for row in _content(table) if row.tag == f"{W}tr"]
        lines = [row_line(cells) for cells in rows if any(cells)]
        if max((len(cells) for cells in rows), default=0) == 1:
            # One column is a frame around text, not a table.
            yield Block(kind="text", text="\n".join(cells[0] for cells in rows if cells[0]))
        else:
            yield Block(kind="table", text="\n".join(lines))
        for row in _content(table):
            yield from self._boxes(row)

    def _cells(self, row: Element) -> list[str]:
        """Cells of a row; one merged with the cell above is empty, one over several columns stands once."""
        cells: list[str] = []
        for cell in _content(row):
            if cell.tag != f"{W}tc":
                continue
            merge = cell.find(f"{W}tcPr/{W}vMerge")
            goes_on = merge is not None and merge.get(f"{W}val") != "restart"
            cells.append("" if goes_on else self._cell(cell))
        return cells

    def _cell(self, cell: Element) -> str:
        pieces: list[str] = []
        for element in _content(cell):
            if element.tag == f"{W}p":
                pieces.append(self._text(element).strip())
            elif element.tag == f"{W}tbl":
                pieces.extend(
                    block.text.replace("\n", "; ").replace("|", " ") for block in self._table(element)
                )
        return " ".join(piece for piece in pieces if piece)


def _content(element: Element) -> Iterator[Element]:
    """Children, those inside content controls and accepted changes as if they stood there themselves."""
    for child in element:
        if child.tag in CONTAINERS:
            yield from _content(child)
        else:
            yield child


def _is_item(element: Element) -> bool:
    number = element.find(f"{W}pPr/{W}numPr/{W}numId")
    style = element.find(f"{W}pPr/{W}pStyle")
    listed = style is not None and (style.get(f"{W}val") or "").lower().startswith("list")
    outline = element.find(f"{W}pPr/{W}outlineLvl")
    return (
        (listed or (number is not None and number.get(f"{W}val") != "0"))
        and outline is None
        and not _is_styled_heading(style)
    )


def _is_styled_heading(style: Element | None) -> bool:
    return style is not None and bool(
        re.match(r"(?:heading|\d$|title)", style.get(f"{W}val") or "", re.IGNORECASE)
    )
