"""A real cluster, and a browser that is signed in to its web UI. A page fails its test if it logs an error or breaks
the Content-Security-Policy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from shunter.app.listeners import listeners
from tests.e2e.cluster import Cluster

CHROMIUM = shutil.which("chromium")
HAS_UI = any((folder / "index.html").is_file() for folder in listeners.UI_FOLDERS)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP = ViewportSize(width=1440, height=900)
PHONE = ViewportSize(width=390, height=844)
WAIT_MAX_MS = 20_000
NO_ANSWER = "Failed to load resource: net::ERR_FAILED"
BAD_REQUEST = "Failed to load resource: the server responded with a status of 400 (Bad Request)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = "chromium is not installed" if CHROMIUM is None else None if HAS_UI else "run `make web` first"
    if reason:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason=reason))


class Site:
    """The web UI of a cluster, opened as a user opens it: with the link of `shunter ui --print`."""

    def __init__(self, cluster: Cluster, browser: Browser) -> None:
        self.cluster = cluster
        self._browser = browser
        self._context = browser.new_context()
        page = self._context.new_page()
        page.goto(self.link())
        page.get_by_role("heading", name="Overview").wait_for(timeout=WAIT_MAX_MS)
        page.close()
        self._state = self._context.storage_state()
        self._context.close()

    def link(self) -> str:
        return self.cluster.shunter("ui", "--print").out.split()[-1]

    @property
    def base(self) -> str:
        return self.link().partition("#")[0]

    @contextmanager
    def page(
        self,
        path: str = "",
        *,
        size: ViewportSize = DESKTOP,
        is_dark: bool = False,
        bypass_csp: bool = False,
        is_refused: bool = False,
        is_broken: bool = False,
    ) -> Iterator[Page]:
        """`bypass_csp`: for tools that inject scripts. Browsers log what the API refuses (`is_refused`), and requests
        without an answer (`is_broken`)."""
        theme: Literal["dark", "light"] = "dark" if is_dark else "light"
        context = self._browser.new_context(
            viewport=size, color_scheme=theme, storage_state=self._state, bypass_csp=bypass_csp
        )
        context.set_default_timeout(WAIT_MAX_MS)
        try:
            with clean_page(context, BAD_REQUEST if is_refused else NO_ANSWER if is_broken else None) as page:
                page.goto(self.base + path)
                yield page
        finally:
            context.close()


@contextmanager
def clean_page(context: BrowserContext, expected: str | None) -> Iterator[Page]:
    """A page whose console must stay without errors: browsers report violations of the policy there, too."""
    errors: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert [error for error in errors if error != expected] == []


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("web"))
    cluster.up("--cpu", "4")
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def site(cluster: Cluster, browser: Browser) -> Site:
    return Site(cluster, browser)
