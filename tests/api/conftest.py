"""One running server for each module that asks for it."""

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from ..running import HANDBOOK, MANUAL, a_client, a_kb, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def client(folder: Path) -> Generator[httpx.Client]:
    with running(folder, upload_limit_mb=1) as url, a_client(url) as client:
        yield client


@pytest.fixture(scope="module")
def kb(client: httpx.Client) -> str:
    return a_kb(client, "文档 Documents", [("员工手册.md", HANDBOOK), ("LS-200.md", MANUAL)])
