"""Chromium without a window, led by selenium, and the local address that it looks at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anyio.from_thread import BlockingPortal, start_blocking_portal
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from ..session.serve.served import Served, serving

if TYPE_CHECKING:
    from collections.abc import Callable

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE, DESKTOP = (360, 740), (1280, 800)
"""Width and height, in pixels of CSS."""
LONGEST = 30
"""Seconds after which a browser that shows nothing fails a test."""
_QUIET = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--no-proxy-server", "--lang=en",
)  # fmt: skip


@contextmanager
def chromium(profile: Path) -> Iterator[Chrome]:
    """Start a browser with an empty *profile*, which asks nobody on the network."""
    assert BROWSER is not None
    assert DRIVER is not None
    options = ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    root = ("--no-sandbox",) if os.name == "posix" and os.geteuid() == 0 else ()
    for argument in (*_QUIET, *root, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    browser = Chrome(options=options, service=Service(DRIVER))
    try:
        yield browser
    finally:
        browser.quit()


@dataclass(frozen=True)
class Viewed:
    """A page in a browser, and the address that it shows."""

    browser: Chrome
    served: Served
    portal: BlockingPortal

    def open(self, token: str | None = None) -> None:
        """Open the page as from the printed address, which has the token behind its #."""
        given = "" if token is None else f"#{quote(token, safe='')}"
        self.browser.get("about:blank")  # else only the part behind the # would change
        self.browser.get(f"{self.served.serve.url}/_sidestep/{given}")

    def ask(self, route: str, **changes: Any) -> None:
        """Take a step."""
        self.portal.call(lambda: self.served.ask(route, **changes))

    def look(self, script: str, *arguments: object) -> Any:
        """Return what *script* finds in the page."""
        return self.browser.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        found: str = self.look("return document.querySelector(arguments[0]).innerText", selector)
        return found

    def wait_for(self, holds: Callable[[], object]) -> None:
        """Wait until *holds* returns something true."""
        WebDriverWait(self.browser, LONGEST, poll_frequency=0.05).until(lambda _: holds())

    def wait_for_text(self, selector: str, text: str) -> None:
        self.wait_for(lambda: text in self.text(selector))

    def refresh(self) -> None:
        """Let the page ask now, as it does when somebody comes back to it."""
        self.look("document.dispatchEvent(new Event('visibilitychange'))")

    def resize(self, size: tuple[int, int]) -> None:
        """Show the page on a screen of *size*."""
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def paint(self, scheme: str) -> None:
        """Show the page to a person who wants it ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def complaints(self) -> list[str]:
        """Return what the browser logged since the last call."""
        entries = self.browser.execute("getLog", {"type": "browser"})["value"]
        return [str(entry["message"]) for entry in entries]


@contextmanager
def viewing(browser: Chrome, answers: Mapping[str, object], **options: Any) -> Iterator[Viewed]:
    """Serve *answers*, as `serving` does, from a thread of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(answers, **options)) as served,
    ):
        try:
            yield Viewed(browser, served, portal)
        finally:
            browser.get("about:blank")  # no connection stays open, and nobody asks any more
            browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
