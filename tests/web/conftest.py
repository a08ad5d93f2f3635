"""Browsers are started once per language; every test gets a page without memories."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from .browser import Page, start_browser
from .scripted import ScriptedServer, ServerThread

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Chrome]]:
    running: dict[str, Chrome] = {}

    def browser(language: str) -> Chrome:
        if language not in running:
            profile: Path = tmp_path_factory.mktemp("profile")
            running[language] = start_browser(profile, language=language)
        return running[language]

    yield browser
    for one in running.values():
        one.quit()


@pytest.fixture
def open_page(browsers: Callable[[str], Chrome]) -> OpenPage:
    def opened(url: str, *, language: str = "en-US", width: int = 1280, height: int = 860) -> Page:
        browser = browsers(language)
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        page = Page(browser, url)
        page.clean()
        return page

    return opened


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    thread = ServerThread(scripted.app())
    with thread as url:
        assert thread.loop
        scripted.started(thread.loop)
        scripted.url = url
        yield scripted
        scripted.release()
