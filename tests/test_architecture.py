"""Imports point one way: server -> graph -> nodes -> text, prompts -> context -> state."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VALUES = {"state", "context", "errors"}

# What each package may import of ours, and of others. The rest (server.py, api/, cli/ …) knows everything.
OURS = {
    "state": set[str](),
    "errors": set[str](),
    "ids": set[str](),
    "context": {"state", "errors"},
    "databases": {"errors"},
    "migrations": {"errors"},
    "settings": {"errors"},
    "text": VALUES,
    "prompts": {"errors"},
    "nodes": VALUES | {"text", "prompts"},
    "graph": VALUES | {"text", "nodes"},
    "checkpoints": VALUES | {"ids", "databases", "migrations"},
    "stores": VALUES | {"text", "ids", "databases", "migrations"},
    "models": VALUES | {"text", "settings"},
    "ingest": VALUES | {"text", "settings", "ids"},
}
# Where a stage would otherwise reach past the protocols of context.py to a store, a model or the web.
OTHERS = {
    "state": set[str](),
    "context": set[str](),
    "text": {"jieba", "opencc", "rjieba", "snowballstemmer"},
    "prompts": {"pydantic", "yaml"},
    "nodes": {"langgraph"},
    "graph": {"langgraph"},
}


@pytest.mark.parametrize("package", OURS)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    allowed = OURS[package] | {package}
    assert [
        found for found in imports_of(package) if found[1] == "headrace" and found[2] not in allowed
    ] == []


@pytest.mark.parametrize("package", OTHERS)
def test_what_has_no_adapters_imports_nothing_that_needs_one(package: str) -> None:
    allowed = OTHERS[package] | sys.stdlib_module_names | {"headrace"}
    assert [(file, top) for file, top, _ in imports_of(package) if top not in allowed] == []


def test_imports_are_read_in_every_form(tmp_path: Path) -> None:
    file = tmp_path / "nodes" / "merge" / "steps.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import os.path\nfrom ...state import Hit\nfrom ... import errors\nfrom . import pieces\n"
        "from headrace.stores import chroma\nimport headrace.models.chat\n"
        "def late():\n    from ...api.routes import x\n"
    )
    assert [(top, ours) for _, top, ours in imports_in(file, tmp_path)] == [
        ("os", "path"),
        ("headrace", "state"),
        ("headrace", "errors"),
        ("headrace", "nodes"),
        ("headrace", "stores"),
        ("headrace", "models"),
        ("headrace", "api"),
    ]


def imports_of(package: str) -> list[tuple[str, str, str]]:
    module = ROOT / f"{package}.py"
    files = [module] if module.is_file() else sorted((ROOT / package).rglob("*.py"))
    assert files, f"{package} has moved"
    return [found for file in files for found in imports_in(file, ROOT)]


def imports_in(file: Path, root: Path) -> Iterator[tuple[str, str, str]]:
    """File, and the first two parts of each name it imports, as if every import were absolute."""
    place = file.relative_to(root)
    own = ("headrace", *place.parent.parts)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    # In the order of the text: ast.walk goes by depth.
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    for node in sorted(nodes, key=lambda node: node.lineno):
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            base = own[: len(own) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            names = [".".join((*module, name)) for name in names]
        for name in names:
            top, below, *_ = [*name.split("."), ""]
            yield str(place), top, below
