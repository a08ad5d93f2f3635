"""Real documents of many formats, where the development data is at hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Unreadable, UnsupportedFormat
from headrace.ingest.chunking import chunk
from headrace.ingest.formats import format_of
from headrace.ingest.parse import parse

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "files"
MANIFEST = FOLDER / "manifest.jsonl"

REFUSED = {"xls", "msg", "rtf"}


def entries() -> list[dict[str, Any]]:
    if not MANIFEST.exists():
        return []
    return [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines()]


def squashed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.skipif(not MANIFEST.exists(), reason="development data not here")
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["path"])
def test_what_a_file_must_yield_is_in_its_chunks(entry: dict[str, Any]) -> None:
    path = FOLDER / entry["path"]
    if entry["format"] in REFUSED:
        with pytest.raises(UnsupportedFormat, match=re.escape(path.name)):
            format_of(path.name, path)
        return
    if "scan" in path.name:
        with pytest.raises(Unreadable, match="needs OCR"):
            parse(path, path.name)
        return
    chunks = chunk(parse(path, path.name), kb_id="kb", document_id="d", revision=1)
    children = squashed("".join(child.text for child in chunks.children))
    parents = squashed("".join(parent.text for parent in chunks.parents))
    for expected in entry["expect"]:
        assert squashed(expected) in parents
        # Overlaps stand between children; a longer string may be cut by one.
        assert squashed(expected) in children or squashed(expected) in parents
    assert chunks.children
