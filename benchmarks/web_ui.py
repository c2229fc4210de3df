"""The first load of the web UI in a browser with an empty cache: how much it transfers, and when a page can be used, as
the browser's own clock sees it; then the way to another page. In a cluster with simulated nodes and jobs.

Run: python -m benchmarks.web_ui"""

from __future__ import annotations

import shutil
import sys
import urllib.request
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Browser, BrowserContext, Page, StorageState, sync_playwright

from benchmarks.cluster import Cluster, cluster
from benchmarks.measure import Bar, Report, interleave, read_options
from shunter.app.listeners import listeners

BAR_KIB = Bar(at_most=200_000 / 1024)  # compressed with gzip
BAR_MS = Bar(at_most=1_000)
NODES = {True: 50, False: 1_000}  # by --small
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
PAGES = {"overview": "", "jobs": "jobs", "create": "create", "decisions": "decisions", "analytics": "analytics"}
# The heading is there, nothing says that it loads, and the main thread is free again after the next frame.
WATCH = """window.interactive = new Promise(resolve => {
  const look = () => document.querySelector("#content h1") && !document.querySelector("#content [role=status]")
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
})"""
CLICK = """new Promise(resolve => {
  const begun = performance.now();
  document.querySelector("nav a[href$='/nodes']").click();
  const look = () => document.querySelector("#content h1")?.textContent === "Nodes"
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)))
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
})"""
WAIT_MAX_MS = 60_000


class Visitor:
    """Opens pages in a new browser context each time: signed in, and without anything in its cache."""

    def __init__(self, running: Cluster, browser: Browser) -> None:
        self._browser = browser
        link = running.shunter("ui", "--print").split()[-1]
        self._base = link.partition("#")[0]
        context = self._context(None)
        page = context.new_page()
        page.goto(link)
        page.get_by_role("heading", name="Overview").wait_for()
        self._state = context.storage_state()
        context.close()

    def first_load_ms(self, path: str) -> float:
        context = self._context(self._state)
        try:
            return interactive_ms(context.new_page(), self._base + path)
        finally:
            context.close()

    def transferred_kib(self, path: str) -> float:
        """All files of the application that the page needs, as gzip makes them."""
        context = self._context(self._state)
        urls: set[str] = set()
        page = context.new_page()
        page.on("response", lambda answer: urls.add(answer.url) if "/api/" not in answer.url else None)
        interactive_ms(page, self._base + path)
        context.close()
        return sum(map(gzip_bytes, urls)) / 1024

    def to_another_page_ms(self) -> float:
        """From the click on a link of the navigation to a page whose chunk is not loaded yet."""
        context = self._context(self._state)
        page = context.new_page()
        interactive_ms(page, self._base)
        elapsed = float(page.evaluate(CLICK))
        context.close()
        return elapsed

    def _context(self, state: StorageState | None) -> BrowserContext:
        context = self._browser.new_context(storage_state=state, viewport={"width": 1440, "height": 900})
        context.set_default_timeout(WAIT_MAX_MS)
        return context


def interactive_ms(page: Page, url: str) -> float:
    page.add_init_script(WATCH)
    page.goto(url)
    return float(page.evaluate("window.interactive"))


def gzip_bytes(url: str) -> int:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        return len(answer.read())


def main() -> None:
    options = read_options(__doc__)
    report, chromium = Report("web_ui", options), shutil.which("chromium")
    if chromium is None or not any((folder / "index.html").is_file() for folder in listeners.UI_FOLDERS):
        print("web_ui: skipped: it needs Debian's chromium and `make web`", file=sys.stderr)
        return
    with cluster("--simulate-nodes", str(NODES[options.small]), lanes=None) as running, sync_playwright() as playwright:
        running.shunter("run", "--detach", "--name", "render", "--count", "2000", "--", "/bin/sleep", "600")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        visitor = Visitor(running, browser)
        sizes = interleave({name: partial(visitor.transferred_kib, path) for name, path in PAGES.items()}, 1)
        times: dict[str, Callable[[], float]] = {
            name: partial(visitor.first_load_ms, path) for name, path in PAGES.items()
        }
        loads = interleave(times | {"next": visitor.to_another_page_ms}, options.rounds)
        browser.close()
    for name in PAGES:
        report.figure(f"first load of {name}", "KiB with gzip", sizes[name], BAR_KIB)
        report.figure(f"{name} can be used after", "ms", loads[name], BAR_MS)
    report.figure("from a click to another page", "ms", loads["next"], BAR_MS)


if __name__ == "__main__":
    main()
