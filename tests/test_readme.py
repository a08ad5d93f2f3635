"""The README is true where a test can tell."""

import re
from pathlib import Path

from headrace.graph.draw import edges
from headrace.settings import Settings

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_readme_draws_the_graph_that_runs() -> None:
    assert set(re.findall(r"(\w+) --> (\w+)", README)) == set(edges())


def test_the_readme_stays_under_150_lines() -> None:
    assert len(README.splitlines()) < 150


def test_every_page_that_the_readme_links_exists() -> None:
    root = Path(__file__).resolve().parents[1]
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert linked
    assert all((root / path).exists() for path in linked)


def test_every_setting_is_explained() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "settings.md").read_text(encoding="utf-8")
    roles = r"HEADRACE_(?:UNDERSTAND|EMBEDDING|RERANK)_(?:MODEL|API_KEY|TIMEOUT_S)"  # written as `…_MODEL`
    names = [f"HEADRACE_{name.upper()}" for name in Settings.model_fields]
    assert [name for name in names if not re.fullmatch(roles, name) and f"`{name}`" not in page] == []
