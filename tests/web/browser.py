"""A headless browser, and the few things tests do with it. Every wait is for something to be true."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

WAIT_S = 30.0
T = TypeVar("T")
FLAGS = [
    "--headless=new",
    "--no-sandbox",  # the tests may run as root, in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def start_browser(profile: Path, *, language: str) -> Chrome:
    """Skips the test where there is no browser, unless one is required."""
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        reason = "no chromium and chromedriver here (Debian: apt install chromium chromium-driver)"
        if os.environ.get("HEADRACE_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    options = ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={profile}", f"--lang={language}", "--window-size=1280,860"]:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"intl.accept_languages": language})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return Chrome(options=options, service=Service(driver))


class Page:
    """The page in the browser."""

    def __init__(self, browser: Chrome, url: str) -> None:
        self.browser = browser
        self.url = url

    def open(self, fragment: str = "") -> None:
        # From another document, so that it is a load and not a move inside the page.
        self.browser.get("about:blank")
        self.browser.get(f"{self.url}/{fragment}")
        self.until(lambda: self.find("#title").text, "the page has started")

    def clean(self) -> None:
        """Forget what an earlier test left, and start."""
        self.browser.get(f"{self.url}/icon.svg")
        self.browser.execute_script("localStorage.clear()")
        self.browser.get_log("browser")
        self.open()

    def reload(self) -> None:
        self.browser.refresh()

    def find(self, selector: str) -> WebElement:
        return self.until(lambda: next(iter(self.all(selector)), None), f"there is {selector}")

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def texts(self, selector: str) -> list[str]:
        return self.js(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def value(self, selector: str) -> str:
        """What a field holds."""
        return self.js("return document.querySelector(arguments[0])?.value ?? ''", selector)

    def click(self, selector: str) -> None:
        """Click it as soon as it can be clicked: the page may be drawing it again just now."""

        def clicked() -> bool:
            try:
                self.find(selector).click()
            except (
                ElementClickInterceptedException,
                ElementNotInteractableException,
                StaleElementReferenceException,
            ):
                return False
            return True

        self.until(clicked, f"{selector} can be clicked")

    def hover(self, selector: str) -> None:
        ActionChains(self.browser).move_to_element(self.find(selector)).perform()

    def js(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        self.js("return document.activeElement").send_keys(*keys)

    def ask(self, question: str) -> None:
        self.find("#question").send_keys(question, Keys.ENTER)

    def until(self, true: Callable[[], T | None], what: str, *, seconds: float = WAIT_S) -> T:
        found = WebDriverWait(self.browser, seconds, poll_frequency=0.05).until(lambda _: true(), what)
        assert found is not None
        return found

    def until_text(self, selector: str, part: str) -> None:
        self.until(lambda: part in self.text(selector), f"{selector} shows {part!r}")

    def until_answered(self, status: str = "complete") -> None:
        self.until(
            lambda: self.all(f".answer:last-of-type[data-status={status}]"), f"the last answer is {status}"
        )

    def too_wide(self, part: str) -> bool:
        """Whether the page, or this part of it, would have to be pushed sideways."""
        return self.js(
            "const all = document.documentElement, part = document.querySelector(arguments[0]);"
            "return all.scrollWidth > innerWidth || part.scrollWidth > part.clientWidth",
            part,
        )

    def complaints(self) -> list[str]:
        """What the browser wrote about scripts, styles and policies since the last call.

        Not that /favicon.ico is missing: it asks for that when `clean` opens a picture without a page.
        """
        severe = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        return [message for message in severe if "/favicon.ico" not in message]
