from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from headrace.ingest.parse import parse
from headrace.ingest.parsed import Block

AREA = (Inches(1), Inches(2), Inches(6), Inches(3))


def a_presentation() -> Any:
    return Presentation()


def blocks_of(presentation: Any, folder: Path) -> list[Block]:
    path = folder / "a.pptx"
    presentation.save(str(path))
    return [*parse(path, "a.pptx").blocks]


def test_titles_texts_and_notes_by_slide(tmp_path: Path) -> None:
    presentation = a_presentation()
    for title, body, note in (("引水系统", "闸门\n渠道", "讲解五分钟"), ("Turbines", "Francis", "")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = body
        if note:
            slide.notes_slide.notes_text_frame.text = note
    assert [(block.kind, block.text, block.page) for block in blocks_of(presentation, tmp_path)] == [
        ("heading", "引水系统", 1),
        ("text", "闸门\n渠道", 1),
        ("text", "讲解五分钟", 1),
        ("heading", "Turbines", 2),
        ("text", "Francis", 2),
    ]


def test_tables_charts_and_groups(tmp_path: Path) -> None:
    presentation = a_presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, *AREA).table
    for place, text in enumerate(["年份", "发电量", "2003", "120"]):
        table.cell(place // 2, place % 2).text = text
    data = CategoryChartData()
    data.categories = ["2003", "2004"]
    data.add_series("Output", (1.5, 2.5))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *AREA, data)
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(*AREA).text_frame.text = "组内文字"
    texts = [block.text for block in blocks_of(presentation, tmp_path)]
    assert "| 年份 | 发电量 |\n| 2003 | 120 |" in texts
    assert "|  | Output |\n| 2003 | 1.5 |\n| 2004 | 2.5 |" in texts
    assert "组内文字" in texts


def test_shapes_are_read_from_the_top(tmp_path: Path) -> None:
    presentation = a_presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for text, top in (("below", 4), ("above", 1)):
        slide.shapes.add_textbox(Inches(1), Inches(top), Inches(2), Inches(1)).text_frame.text = text
    assert [block.text for block in blocks_of(presentation, tmp_path)] == ["above", "below"]
