"""PowerPoint: slide by slide, the title first, then the slide from top left, then its notes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.exc import PackageNotFoundError

from ...errors import Unreadable
from ..parsed import Block, Parsed, row_line
from .archives import opened_archive
from .markup import xml_tree
from .office import chart_text, diagram_text

DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"

Shape = Any  # shapes differ by class in ways that their common type does not tell


def parse(path: Path) -> Parsed:
    with opened_archive(path):
        pass
    try:
        presentation = Presentation(str(path))
        blocks = [
            block for page, slide in enumerate(presentation.slides, start=1) for block in _slide(slide, page)
        ]
    except (KeyError, ValueError, PackageNotFoundError, SyntaxError) as error:
        raise Unreadable("the file is damaged: it is no presentation", code="damaged_document") from error
    return Parsed(title=presentation.core_properties.title, blocks=blocks)


def _slide(slide: Any, page: int) -> Iterator[Block]:
    title = slide.shapes.title
    if title is not None and title.has_text_frame and title.text_frame.text.strip():
        yield Block(kind="heading", text=" ".join(title.text_frame.text.split()), level=2, page=page)
    for shape in _in_reading_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape(shape, slide.part, page)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield Block(kind="text", text=slide.notes_slide.notes_text_frame.text.strip(), page=page)


def _in_reading_order(shapes: Iterable[Shape]) -> list[Shape]:
    # A placeholder may take its place from the layout; python-pptx answers None where nobody says.
    return sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))


def _shape(shape: Shape, part: Any, page: int) -> Iterator[Block]:
    if hasattr(shape, "shapes"):
        for inner in _in_reading_order(shape.shapes):
            yield from _shape(inner, part, page)
    elif getattr(shape, "has_table", False):
        rows = [[cell.text for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]
        yield Block(kind="table", text="\n".join(row_line(row) for row in rows if any(row)), page=page)
    elif getattr(shape, "has_chart", False):
        title, table = chart_text(shape.chart._chartSpace)
        yield Block(kind="text", text=title, page=page)
        yield Block(kind="table", text=table, page=page)
    elif shape.has_text_frame:
        yield Block(kind="text", text=_lines(shape.text_frame), page=page)
    else:
        yield from _other(shape, part, page)


def _other(shape: Shape, part: Any, page: int) -> Iterator[Block]:
    """Diagrams, whose text is in a part of their own, and what pictures are said to show."""
    for relation in shape.element.iter(DIAGRAM):
        diagram = part.related_part(relation.get(f"{RELATION}dm")).blob
        yield Block(kind="text", text=diagram_text(xml_tree(diagram)), page=page)
    for properties in shape.element.xpath(".//p:cNvPr[@descr]"):
        yield Block(kind="image_caption", text=properties.get("descr").strip(), page=page)


def _lines(frame: Any) -> str:
    paragraphs = [
        (paragraph.level, paragraph.text.replace("\v", "\n").strip()) for paragraph in frame.paragraphs
    ]
    return "\n".join("  " * level + text for level, text in paragraphs if text)
