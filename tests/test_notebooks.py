"""The notebooks run from top to bottom, offline, and show what they promise."""

from pathlib import Path
from typing import Any, cast

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.integration

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


@pytest.mark.filterwarnings("default")
def test_ask_and_look_shows_the_answer_the_graph_and_the_hits(tmp_path: Path) -> None:
    outputs = _outputs(_executed(NOTEBOOKS / "01_ask_and_look.ipynb", tmp_path))
    assert any("17650" in shown for shown in outputs["text/markdown"])
    assert any("21380" in shown for shown in outputs["text/markdown"])
    assert any("generate_answer" in shown for shown in outputs["image/svg+xml"])
    assert any("年度经营数据.xlsx" in shown for shown in outputs["text/html"])


def _executed(path: Path, folder: Path) -> Any:
    notebook = cast(Any, nbformat).read(path, as_version=4)  # nbformat is not typed
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    return client.execute()


def _outputs(notebook: Any) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for kind, content in output.get("data", {}).items():
                shown.setdefault(kind, []).append(str(content))
    return shown
