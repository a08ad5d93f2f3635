"""A data folder that a running server owns, and files to put into it."""

from collections.abc import Generator
from pathlib import Path

import pytest

from headrace.cli import main

from ..running import HANDBOOK, MANUAL, a_client, a_kb, running, serving
from ..stub_model import a_model_server


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    (folder / "制度").mkdir()
    (folder / "制度" / "员工手册.md").write_text(HANDBOOK, "utf-8")
    (folder / "LS-200.md").write_text(MANUAL, "utf-8")
    (folder / ".hidden.md").write_text("不要", "utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, papers: Path) -> Generator[Path]:
    """A data folder that a running server owns, with one knowledge base."""
    folder = tmp_path_factory.mktemp("data")
    with running(folder, message_search=True):
        assert main(["ingest", str(papers), "--kb", "文档", "--data", str(folder)]) == 0
        yield folder


@pytest.fixture(scope="module")
def with_model(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The same with a chat model, which answers with what the question tells it to."""
    folder = tmp_path_factory.mktemp("modelled")
    model = a_model_server()
    with serving(model) as model_url:
        settings = {"chat_base_url": f"{model_url}/v1", "chat_model": "stub", "suggestions_enabled": False}
        with running(folder, **settings) as url, a_client(url) as client:
            a_kb(client, "文档", [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL)])
            yield folder
            model.state.closing.set()
