"""EPUB: the chapters in the order of the book's spine."""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

from ...errors import Unreadable
from ..decode import declared_encoding, decode
from ..parsed import Block, Parsed
from . import html
from .archives import opened_archive
from .markup import Element, xml_tree


def parse(path: Path) -> Parsed:
    with opened_archive(path) as archive:
        package = _package_path(archive)
        tree = _xml(archive, package)
        title = next(iter(tree.xpath("//*[local-name()='metadata']/*[local-name()='title']/text()")), None)
        blocks: list[Block] = []
        for chapter in _spine(tree, posixpath.dirname(package)):
            blocks.extend(_chapter(archive, chapter))
    return Parsed(title=title, blocks=blocks)


def _package_path(archive: ZipFile) -> str:
    roots = _xml(archive, "META-INF/container.xml").xpath("//*[local-name()='rootfile']/@full-path")
    if not roots:
        raise Unreadable("the book has no contents", code="damaged_document")
    return str(roots[0])


def _xml(archive: ZipFile, part: str) -> Element:
    try:
        return xml_tree(archive.read(part))
    except (KeyError, SyntaxError) as error:
        raise Unreadable(f"the book is damaged: {part} cannot be read", code="damaged_document") from error


def _spine(tree: Element, folder: str) -> Iterator[str]:
    places = {item.get("id"): item.get("href") for item in tree.xpath("//*[local-name()='item']")}
    # Each once, as the format demands: a small book could else be read without end.
    for reference in dict.fromkeys(tree.xpath("//*[local-name()='itemref']/@idref")):
        if href := places.get(reference):
            yield posixpath.normpath(posixpath.join(folder, unquote(href)))


def _chapter(archive: ZipFile, part: str) -> Iterator[Block]:
    try:
        data = archive.read(part)
    except KeyError:
        return  # listed but not there: the rest of the book is still worth reading
    yield from html.parse_text(decode(data, declared=declared_encoding(data))[0]).blocks
