"""What every page must be: without errors in the console, accessible, and never wider than a phone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.conftest import DESKTOP, PHONE, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WEB = Path(__file__).parents[2] / "web"
TESTBED = WEB.parent / "examples" / "testbeds" / "slots.yaml"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
PAGES = [
    "", "jobs", "nodes", "nodes?view=table", "events", "jobs/default/hello@1/tasks", "jobs/default/hello@1/logs",
    "jobs/default/hello@1/events", "jobs/default/hello@1/graph", "jobs/default/hello@1/runs",
    "jobs/default/hello@1/details", "jobs/default/hello@1/timeline", "jobs/default/hello@1/manifest",
    "jobs/default/hello@1/usage", "create", "testbeds", "testbeds/default/bench/slots",
    "decisions", "analytics",
]  # fmt: skip
SERIOUS = ("serious", "critical")
RUN_AXE = "axe.run().then(found => JSON.stringify(found.violations))"


@pytest.fixture(scope="module", autouse=True)
def job(site: Site) -> None:
    [node] = site.cluster.items("nodes")
    site.cluster.shunter("node", "label", node["name"], "bench=0")
    site.cluster.shunter("apply", "-f", str(TESTBED))
    site.cluster.shunter("run", "--name", "hello", "--count", "3", "--", "/bin/sh", "-c", "echo hello")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_serious_finding_of_axe(site: Site, path: str) -> None:
    is_dark = PAGES.index(path) % 2 == 1
    with site.page(path, is_dark=is_dark, bypass_csp=True) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Loading")).to_have_count(0)
        page.add_script_tag(path=AXE)
        found = [each for each in json.loads(page.evaluate(RUN_AXE)) if each["impact"] in SERIOUS]
        assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found] == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_not_wider_than_a_phone(site: Site, path: str) -> None:
    with site.page(path, size=PHONE) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Loading")).to_have_count(0)
        assert page.evaluate("document.getElementById('content').scrollWidth") <= PHONE["width"]


@pytest.mark.smoke
def test_a_page_that_does_not_exist_says_so(site: Site) -> None:
    with site.page("nowhere", size=DESKTOP) as page:
        expect(page.get_by_text("There is no such page")).to_be_visible()


def test_a_node_is_cordoned_with_a_reason_and_released(site: Site) -> None:
    [node] = site.cluster.items("nodes")
    with site.page(f"nodes/{node['name']}/tasks") as page:
        page.get_by_role("button", name="Cordon").click()
        page.get_by_label("Reason").fill("new disk")
        page.get_by_role("dialog").get_by_role("button", name="Cordon").click()
        expect(page.get_by_text("new disk")).to_be_visible()
        page.get_by_role("button", name="Uncordon").click()
        expect(page.get_by_role("button", name="Cordon", exact=True)).to_be_visible()


def test_the_types_are_those_of_the_openapi_document() -> None:
    done = subprocess.run(
        ["node", "scripts/generate-types.mjs", "--check"], cwd=WEB, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
