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


@pytest.mark.filterwarnings("default")
def test_debug_a_run_shows_times_states_candidates_and_the_prompt_beside_a_running_server(
    tmp_path: Path,
) -> None:
    notebook = _executed(NOTEBOOKS / "02_debug_a_run.ipynb", tmp_path)
    outputs = _outputs(notebook)
    assert any("12 天" in shown for shown in outputs["text/markdown"])
    assert any("stage timings" in shown for shown in outputs["image/svg+xml"])
    assert any("filter_top_k: over_limit" in shown for shown in outputs["image/svg+xml"])
    assert any("left: over_limit" in shown for shown in outputs["text/html"])
    assert any("<b>system</b>" in shown and "年休假" in shown for shown in outputs["text/html"])
    served, *_, stopped = _printed(notebook)
    assert "Owner(" in served
    assert stopped == "None\n"


@pytest.mark.filterwarnings("default")
def test_replay_and_fork_compares_three_forks_with_a_run_that_stays_as_it_was(tmp_path: Path) -> None:
    notebook = _executed(NOTEBOOKS / "03_replay_and_fork.ipynb", tmp_path)
    outputs, printed = _outputs(notebook), _printed(notebook)
    assert any("490 CNY" in shown for shown in outputs["text/markdown"])
    differences = [shown for shown in outputs["text/html"] if "<th>moved</th>" in shown]
    assert ["embedding_top_k" in differences[0], "rerank_top_k" in differences[1]] == [True, True]
    assert any("你是人事助手" in shown for shown in outputs["text/html"])
    assert any("1 agent_query" in text and "complete" in text for text in printed)
    assert printed[-1] == "True True\n"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_are_committed_without_outputs(path: Path) -> None:
    notebook = cast(Any, nbformat).read(path, as_version=4)
    assert [cell["id"] for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []


def _executed(path: Path, folder: Path) -> Any:
    notebook = cast(Any, nbformat).read(path, as_version=4)  # nbformat is not typed
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    return client.execute()


def _printed(notebook: Any) -> list[str]:
    """What each cell printed, of those that did."""
    printed = [
        "".join(output["text"] for output in cell.get("outputs", []) if output["output_type"] == "stream")
        for cell in notebook.cells
    ]
    return [text for text in printed if text]


def _outputs(notebook: Any) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for kind, content in output.get("data", {}).items():
                shown.setdefault(kind, []).append(str(content))
    return shown
