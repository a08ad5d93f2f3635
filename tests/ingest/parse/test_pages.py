"""Formats that are text: HTML, Markdown, CSV, plain text, notebooks, EPUB."""

import json
import zipfile
from pathlib import Path

import pytest

from headrace.errors import Unreadable
from headrace.ingest.parse import parse
from headrace.ingest.parsed import Block, Parsed


def parsed(folder: Path, name: str, content: str | bytes) -> Parsed:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse(path, name)


def shown(blocks: Parsed) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in blocks.blocks]


def kinds(blocks: Parsed, kind: str) -> list[Block]:
    return [block for block in blocks.blocks if block.kind == kind]


# --- HTML ---

PAGE = """<html><head><title>手册 — 引水</title><script>var hidden = 1</script></head><body>
<nav><a href="/">首页</a></nav><header><h1>引水渠</h1></header>
<p>水从渠道
流到<b>水轮机</b>。</p><ul><li>闸门<li>Gate &amp; valve</ul>
<table><caption>价格表</caption><tr><th>零件<th>价格<tr><td>闸门<td>12</table>
<pre>gate.open()
gate.close()</pre><style>p{}</style><img alt="The gate seen from above" src=x>
<div hidden>secret</div><footer>版权所有</footer></body></html>"""


def test_html_is_what_a_reader_sees(tmp_path: Path) -> None:
    page = parsed(tmp_path, "a.html", PAGE)
    assert page.title == "手册 — 引水"
    assert shown(page) == [
        ("heading", 1, "引水渠"),
        ("text", 0, "水从渠道流到水轮机。"),
        ("text", 0, "- 闸门\n- Gate & valve"),
        ("text", 0, "价格表"),
        ("table", 0, "| 零件 | 价格 |\n| 闸门 | 12 |"),
        ("code", 0, "gate.open()\ngate.close()"),
        ("image_caption", 0, "The gate seen from above"),
        ("text", 0, "版权所有"),
    ]


@pytest.mark.parametrize(("charset", "encoding"), [("gb2312", "gbk"), ("big5", "cp950"), ("utf-8", "utf-8")])
def test_html_is_decoded_as_it_declares(tmp_path: Path, charset: str, encoding: str) -> None:
    page = f'<meta charset="{charset}"><p>水車</p>'.encode(encoding)
    assert shown(parsed(tmp_path, "a.html", page)) == [("text", 0, "水車")]


def test_html_that_is_all_menu_is_read_as_such(tmp_path: Path) -> None:
    assert shown(parsed(tmp_path, "a.html", "<nav><a>Home</a></nav>")) == [("text", 0, "Home")]


def test_html_with_layout_tables_and_without_body(tmp_path: Path) -> None:
    page = parsed(tmp_path, "a.html", "<table><tr><td><h2>Left</h2><p>Text</td><td>Right</td></tr></table>")
    assert [text for _, _, text in shown(page)] == ["Left", "Text", "Right"]
    with pytest.raises(Unreadable):
        parsed(tmp_path, "b.html", "<!-- nothing -->")


def test_html_nested_thousands_deep(tmp_path: Path) -> None:
    page = "<div>" * 1500 + "deep" + "</div>" * 1500
    assert shown(parsed(tmp_path, "a.html", page))[-1] == ("text", 0, "deep")


def test_html_entities_do_not_expand_or_fetch(tmp_path: Path) -> None:
    page = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>before &x; after</p>'
    assert "root:" not in parsed(tmp_path, "a.html", page).blocks[-1].text


# --- Markdown ---

NOTES = """---
title: 检修手册
tags: [a, b]
---
import Tabs from '@theme/Tabs';

# 检修 **手册** #

<p align="center"><img src="x.png" alt="机组照片"></p>

Setext heading
--------------

第一段 with `<b>code</b>` and <b>bold</b>.
第二行。

- one

- two
  more

| 零件 | 价格 |
|:--|--:|
| 闸门 | 12 \\| 15 |

```python
# not a heading
| not | a table |
```

<!-- gone
# too -->
Use <your-key> if a < b.
"""


def test_markdown_structure(tmp_path: Path) -> None:
    page = parsed(tmp_path, "a.mdx", NOTES)
    assert page.title == "检修手册"
    assert shown(page) == [
        ("text", 0, "title: 检修手册\ntags: [a, b]"),
        ("heading", 1, "检修 手册"),
        ("text", 0, "机组照片"),
        ("heading", 2, "Setext heading"),
        ("text", 0, "第一段 with `<b>code</b>` and bold.\n第二行。"),
        ("text", 0, "- one\n- two\n  more"),
        ("table", 0, "| 零件 | 价格 |\n| 闸门 | 12 ¦ 15 |"),
        ("code", 0, "# not a heading\n| not | a table |"),
        ("text", 0, "Use <your-key> if a < b."),
    ]


def test_an_unclosed_fence_is_code_to_the_end(tmp_path: Path) -> None:
    assert shown(parsed(tmp_path, "a.md", "Text\n\n```\ncode\n# code")) == [
        ("text", 0, "Text"),
        ("code", 0, "code\n# code"),
    ]


def test_html_tables_in_markdown(tmp_path: Path) -> None:
    page = parsed(
        tmp_path, "a.md", "Intro\n\n<table>\n<tr><th>A<th>B</tr>\n<tr><td>1<td>2</tr>\n</table>\n\nEnd"
    )
    assert [text for _, _, text in shown(page)] == ["Intro", "| A | B |\n| 1 | 2 |", "End"]


# --- CSV ---


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_with_any_separator(tmp_path: Path, separator: str) -> None:
    rows = [["零件", "Price, net", "note"], ["闸门", "12", "两行\n文字"]]
    text = "\n".join(separator.join(f'"{cell}"' for cell in row) for row in rows)
    (block,) = parsed(tmp_path, "a.csv", text).blocks
    assert block.text == "| 零件 | Price, net | note |\n| 闸门 | 12 | 两行 文字 |"


def test_csv_in_a_japanese_encoding(tmp_path: Path) -> None:
    (block,) = parsed(tmp_path, "a.csv", "名前,住所\n髙橋,名古屋\n".encode("cp932")).blocks
    assert block.text == "| 名前 | 住所 |\n| 髙橋 | 名古屋 |"


def test_csv_with_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    text = '编号,说明\n1,"' + "阀门 valve\n" * 1_000_000
    (block,) = parsed(tmp_path, "a.csv", text).blocks
    assert block.text.startswith("| 编号 | 说明 |")
    assert block.text.count("阀门 valve") == 1_000_000


def test_csv_of_one_column(tmp_path: Path) -> None:
    (block,) = parsed(tmp_path, "a.csv", "name\n闸门\n").blocks
    assert block.text == "| name |\n| 闸门 |"


# --- plain text ---


def test_text_paragraphs_and_numbered_headings(tmp_path: Path) -> None:
    text = "第一章 总则\n第一条 为了安全，制定本规程。\n水轮机\n每周检查。\n\n1.1 Scope\nAll gates.\n"
    assert [text for _, _, text in shown(parsed(tmp_path, "a.txt", text))] == [
        "第一章 总则",
        "第一条 为了安全，制定本规程。\n水轮机\n每周检查。",
        "1.1 Scope",
        "All gates.",
    ]


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", "\ufeff".encode()])
def test_text_without_text_is_unreadable(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Unreadable):
        parsed(tmp_path, "a.txt", content)


# --- notebooks and books ---


def test_notebooks_have_cells_and_outputs(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# 标题\n", "说明"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"text": ["1\n"]}]},
    ]
    page = parsed(tmp_path, "a.ipynb", json.dumps({"cells": cells}))
    assert shown(page) == [
        ("heading", 1, "标题"),
        ("text", 0, "说明"),
        ("code", 0, "print(1)"),
        ("code", 0, "1\n"),
    ]
    with pytest.raises(Unreadable):
        parsed(tmp_path, "b.ipynb", "not json")


def test_books_are_read_in_the_order_of_their_spine(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", '<c><rootfile full-path="O/p.opf"/></c>')
        items = '<item id="b" href="b.xhtml"/><item id="a" href="a%201.xhtml"/>'
        twice = '<itemref idref="a"/><itemref idref="b"/><itemref idref="a"/>'
        archive.writestr("O/p.opf", f"<p>{items}{twice}</p>")
        archive.writestr("O/a 1.xhtml", "<h1>第一章</h1><p>水</p>")
        archive.writestr("O/b.xhtml", "<h1>Chapter two</h1>")
    assert [text for _, _, text in shown(parse(path, "a.epub"))] == ["第一章", "水", "Chapter two"]
