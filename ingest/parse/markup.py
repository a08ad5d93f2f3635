"""XML and HTML to trees: entities are never resolved and nothing is fetched."""

from typing import Any, cast

from lxml import etree as _etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from lxml import html as _html

Element = Any  # lxml ships no types
etree: Any = _etree  # pyright: ignore[reportUnknownVariableType]


def xml_tree(data: bytes) -> Element:
    """The root of an XML file. Raises SyntaxError, which lxml's own error is."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))


def html_tree(text: str) -> Element | None:
    """The root of a page, None where there is nothing but comments and white space."""
    # From bytes, since lxml refuses text that declares an encoding.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True)
    try:
        return cast(Element, _html.document_fromstring(text.encode("utf-8", "replace"), parser=parser))
    except (etree.ParserError, SyntaxError):
        return None
