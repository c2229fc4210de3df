"""What every page must be: without errors in the console, accessible, and never wider than a phone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

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
    "decisions", "analytics", "analytics?range=15m", "queues", "access/you", "access/users", "access/keys",
    "access/tenants", "access/secrets", "access/audit", "nowhere",
]  # fmt: skip
DIALOGS = [("testbeds", "New testbed"), ("testbeds/default/bench/slots", "New BatchJob"), ("decisions", "spread")]
SERIOUS = ("serious", "critical")
# Controls in sight, numbered; and the one that has the focus. Rows, editors and menus have keys of their own.
CONTROLS = """(() => {
  const all = [...document.querySelectorAll("a[href], button:not(:disabled), input, select, summary, canvas[tabindex]")]
    .filter(each => each.checkVisibility() && each.tabIndex >= 0 && !each.closest(".cm-editor"));
  all.forEach((each, number) => each.dataset.number = number);
  return all.length;
})()"""
FOCUSED = """(() => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  const marks = [each, each.parentElement].map(getComputedStyle).flatMap(one => [one.outlineStyle, one.boxShadow]);
  const outline = each.closest(".cm-editor") ? "editor" : marks.find(mark => mark !== "none") ?? "none";
  return { number: each.dataset.number, outline, html: each.outerHTML.slice(0, 200) };
})()"""
RUN_AXE = "axe.run().then(found => JSON.stringify(found.violations))"


@pytest.fixture(scope="module", autouse=True)
def job(site: Site) -> None:
    [node] = site.cluster.items("nodes")
    site.cluster.shunter("node", "label", node["name"], "bench=0")
    site.cluster.shunter("apply", "-f", str(TESTBED))
    site.cluster.shunter("run", "--name", "hello", "--count", "3", "--", "/bin/sh", "-c", "echo hello")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_serious_finding_of_axe(site: Site, path: str) -> None:
    with site.page(path, bypass_csp=True) as page:
        page.emulate_media(reduced_motion="reduce")  # colours change at once
        show(page)
        assert serious_findings(page) == []
        page.get_by_role("button", name="Use dark colours").click()
        assert serious_findings(page) == []


@pytest.mark.parametrize(("path", "button"), DIALOGS)
def test_a_dialog_has_no_serious_finding_of_axe_and_gives_the_focus_back(site: Site, path: str, button: str) -> None:
    with site.page(path, bypass_csp=True) as page:
        opener = page.get_by_role("button", name=button, exact=True)
        opener.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        assert serious_findings(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(opener).to_be_focused()


def show(page: Page) -> None:
    page.get_by_role("heading", level=1).or_(page.get_by_text("There is no such page")).first.wait_for()
    expect(page.get_by_text("Loading")).to_have_count(0)


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    found = [each for each in json.loads(page.evaluate(RUN_AXE)) if each["impact"] in SERIOUS]
    return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]


@pytest.mark.parametrize("path", PAGES)
def test_the_tab_key_reaches_every_control_and_shows_where_it_is(site: Site, path: str) -> None:
    with site.page(path) as page:
        show(page)
        wanted = page.evaluate(CONTROLS)
        reached: set[str] = set()
        for _ in range(wanted + 20):
            page.keyboard.press("Tab")
            found = page.evaluate(FOCUSED)
            if found is None:
                break
            assert found["outline"] != "none", found["html"]
            reached.add(found["number"])
        assert len(reached) >= wanted, f"{len(reached)} of {wanted}"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_not_wider_than_a_phone(site: Site, path: str) -> None:
    with site.page(path, size=PHONE) as page:
        show(page)
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


def test_an_old_tab_loads_the_new_version_when_it_goes_to_another_page(site: Site) -> None:
    with site.page("jobs") as page:
        show(page)
        page.route("**/version.json", lambda route: route.fulfill(json={"entry": "assets/index-newer123.js"}))
        page.evaluate("window.isOldPage = true")
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.get_by_text("new version", exact=False).first).to_be_visible()
        assert page.evaluate("window.isOldPage"), "nothing is lost while the user works"
        page.get_by_role("link", name="Nodes").click()
        page.wait_for_url("**/nodes")
        expect(page.get_by_role("heading", name="Nodes")).to_be_visible()
        assert page.evaluate("window.isOldPage === undefined")


def test_a_manager_that_does_not_answer_is_named_with_the_command_that_starts_it(site: Site) -> None:
    with site.page("decisions", is_broken=True) as page:
        show(page)
        page.route("**/api/v1/analytics**", lambda route: route.abort())
        page.get_by_role("link", name="Analytics").click()
        expect(page.get_by_role("alert")).to_contain_text("The manager does not answer")
        expect(page.get_by_text("shunter up --detach")).to_be_visible()
        page.unroute("**/api/v1/analytics**")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("each bar is")).to_be_visible()
