"""`make screenshots`: the pictures of the README and of docs/guides/web-ui.md, taken by Debian's chromium.

It starts a cluster in a home of its own, with a few jobs, and writes docs/images/*.png. The pictures are committed: run
this again when a page looks different."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SHUNTER = str(Path(sys.executable).with_name("shunter"))
TESTBED = ROOT / "examples" / "testbeds" / "slots.yaml"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SIZE_MAX_BYTES = 65_000
COMMAND_MAX_S = 120
WAIT_MAX_MS = 60_000
SETTLE_MS = 2_500  # charts and maps are drawn after their data has come

DESKTOP = ViewportSize(width=960, height=580)
PHONE = ViewportSize(width=390, height=760)
RENDER = 'sleep 0.1; [ $((SHUNTER_TASK_INDEX % 97)) -ne 5 ] || { echo "no such frame" >&2; exit 3; }; echo "frame done"'


@dataclass(frozen=True)
class Picture:
    name: str
    path: str
    is_phone: bool = False
    theme: Literal["light", "dark"] = "light"
    height: int = 0  # of a part of the page
    clicks: tuple[str, ...] = ()  # on buttons, before the picture is taken


PICTURES = [
    Picture("web-overview", ""),
    Picture("web-job", "jobs/default/render@1/tasks", theme="dark"),
    Picture("web-create", "create"),
    Picture("web-testbed", "testbeds/default/bench/slots", clicks=("greeting", "Slot 1 on"), height=536),
    Picture("web-why-phone", "jobs/default/train@1/tasks", is_phone=True),
]


def main(names: Sequence[str]) -> None:
    """All pictures, or those with these names."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("make_screenshots: install Debian's chromium first")
    IMAGES.mkdir(exist_ok=True)
    with running_cluster() as environment, sync_playwright() as playwright:
        submit_jobs(environment)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for picture in [each for each in PICTURES if not names or each.name in names]:
            take(picture, browser, run(environment, "ui", "--print").split()[-1])
        browser.close()
    too_big = [file.name for file in sorted(IMAGES.iterdir()) if file.stat().st_size > SIZE_MAX_BYTES]
    if too_big:
        sys.exit(f"make_screenshots: {', '.join(too_big)} is too big: take a smaller part of the page")


@contextmanager
def running_cluster() -> Iterator[dict[str, str]]:
    """The environment in which commands find it."""
    with tempfile.TemporaryDirectory(prefix="shunter-pictures-") as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SHUNTER_")}
        environment["SHUNTER_HOME"] = home
        run(environment, "up", "--detach", "--cpu", "8", "--name", "demo")
        try:
            yield environment
        finally:
            run(environment, "down")


def submit_jobs(environment: dict[str, str]) -> None:
    detached = ("run", "--detach", "--name")
    [node] = json.loads(run(environment, "nodes", "--output", "json"))["items"]
    run(environment, "node", "label", node["name"], "bench=0")
    run(environment, "apply", "-f", str(TESTBED))
    run(environment, *detached, "train", "--memory", "900Gi", "--", "/bin/true")
    run(environment, *detached, "prepare", "--cpu", "2", "--", "/bin/sleep", "900")
    run(environment, *detached, "report", "--after", "prepare", "--", "/bin/true")
    run(environment, *detached, "broken", "--count", "3", "--", "/bin/sh", "-c", "echo no disk >&2; exit 3")
    run(environment, *detached, "render", "--count", "2000", "--cpu", "0.2", "--", "/bin/sh", "-c", RENDER)
    run(environment, "wait", "render", may_fail=True)  # some of its tasks do


def take(picture: Picture, browser: Browser, link: str) -> None:
    size = PHONE if picture.is_phone else DESKTOP
    context = browser.new_context(viewport=size, color_scheme=picture.theme)
    context.set_default_timeout(WAIT_MAX_MS)
    page = context.new_page()
    if picture.height:
        page.set_viewport_size({"width": size["width"], "height": picture.height})
    page.goto(link)
    page.get_by_role("heading", name="Overview").wait_for()
    if picture.path:
        page.goto(link.partition("#")[0] + picture.path)
        page.get_by_role("heading", level=1).first.wait_for()
    for name in picture.clicks:
        page.get_by_role("button", name=name).first.click()
    page.wait_for_timeout(SETTLE_MS)
    file = IMAGES / f"{picture.name}.png"
    page.screenshot(path=file)
    context.close()
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB", flush=True)


def run(environment: dict[str, str], *words: str, may_fail: bool = False) -> str:
    done = subprocess.run(
        [SHUNTER, *words], cwd="/", env=environment, capture_output=True, text=True, timeout=COMMAND_MAX_S
    )
    if done.returncode != 0 and not may_fail:
        sys.exit(f"make_screenshots: shunter {' '.join(words)} failed:\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
