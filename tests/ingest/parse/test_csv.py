import csv
from pathlib import Path

import pytest

from headrace.ingest.parse import parse


@pytest.mark.parametrize("content", ["年份,收入\n2021,9\n", 'a,b\n"never closed,' + "水" * 200_000])
def test_reading_a_file_leaves_the_process_s_limit_of_a_cell_as_it_was(tmp_path: Path, content: str) -> None:
    before = csv.field_size_limit()
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    assert parse(path, "a.csv").blocks
    assert csv.field_size_limit() == before
