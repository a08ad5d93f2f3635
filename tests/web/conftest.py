"""Browsers are started once per language; every test gets a page without memories."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from headrace.serving import bind, serving_in_thread, url_of

from .browser import Page, start_browser
from .scripted import ScriptedServer

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
    with closing(bind("127.0.0.1", 0)) as sock, serving_in_thread(scripted.app(), sock):
        scripted.url = url_of("127.0.0.1", sock.getsockname()[1])
        yield scripted
        scripted.release()
