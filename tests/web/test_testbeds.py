"""Scheduling by hand in the web UI: a testbed is made, jobs go to slots and queues, and Schedulings end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TESTBED = Path(__file__).parents[2] / "examples" / "testbeds" / "slots.yaml"
BOARD = "testbeds/default/bench/slots"


@pytest.fixture(scope="module", autouse=True)
def testbed(site: Site) -> None:
    [node] = site.cluster.items("nodes")
    site.cluster.shunter("node", "label", node["name"], "bench=0")
    site.cluster.shunter("apply", "-f", str(TESTBED), "--wait")


@pytest.fixture(autouse=True)
def nothing_scheduled(site: Site) -> Iterator[None]:
    yield
    for name in [each["metadata"]["name"] for each in site.cluster.json("get", "schedulings")["items"]]:
        site.cluster.shunter("delete", "scheduling", name)


def create_by_form(page: Page, name: str, command: str) -> None:
    page.get_by_role("button", name="New BatchJob").click()
    page.get_by_label("BatchJob", exact=True).fill(name)
    page.get_by_label("Command of each executor").fill(command)
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(shelf(page).get_by_role("button", name=name)).to_be_visible()


def shelf(page: Page) -> Locator:
    return page.get_by_role("toolbar", name="BatchJobs")


def slot(page: Page, number: int) -> Locator:
    return page.get_by_role("button", name=f"Slot {number} on")


def delete(page: Page, name: str) -> None:
    page.get_by_role("button", name=f"Delete {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name=f"Delete {name}")).to_have_count(0)


@pytest.mark.smoke
def test_the_keyboard_alone_schedules_a_job_and_its_stages_pass(site: Site) -> None:
    site.cluster.shunter("delete", "scheduling", "greet", code=None)
    with site.page(BOARD) as page:
        shelf(page).get_by_role("button", name="greeting").focus()
        page.keyboard.press("Space")
        expect(slot(page, 0)).to_be_focused()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(slot(page, 1)).to_have_accessible_name(f"Slot 1 on {node_name(site)}: free planned: greeting")
        page.keyboard.press("Enter")
        expect(slot(page, 1)).to_have_accessible_name(f"Slot 1 on {node_name(site)}: free")
        page.keyboard.press("Enter")
        page.keyboard.press("Delete")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expect(shelf(page).get_by_role("button", name="greeting")).to_be_focused()
        expect(page.get_by_text("Preview:")).to_be_visible()
        page.get_by_role("button", name="Create", exact=True).press("Enter")
        stages = page.get_by_role("list", name="Stages")
        expect(stages.get_by_role("listitem").filter(has_text="done")).to_have_count(5)
        expect(page.get_by_text("greeting Completed in slots 1")).to_be_visible()


@pytest.mark.smoke
def test_the_slots_of_each_node_are_those_of_the_status(site: Site) -> None:
    site.cluster.shunter("run", "--name", "unrelated", "--", "/bin/true")
    [status] = [each["status"] for each in site.cluster.json("get", "testbeds")["items"]]
    with site.page(BOARD) as page:
        expect(slot(page, 0)).to_be_visible()
        boxes = page.get_by_role("group", name="Slots").get_by_role("button")
        expect(boxes).to_have_count(len(status["slots"]))
        for number, each in enumerate(status["slots"]):
            name = f"Slot {each['position']} on {each['nodeName']}: {each['state'].lower()}"
            expect(boxes.nth(number)).to_have_accessible_name(name)


def test_jobs_are_dragged_into_slots_and_out_of_them(site: Site) -> None:
    with site.page(BOARD) as page:
        shelf(page).get_by_role("button", name="greeting").drag_to(slot(page, 0))
        planned = page.get_by_role("button", name="Take greeting out of slot 0")
        expect(planned).to_be_visible()
        planned.drag_to(slot(page, 1))
        expect(planned).to_have_count(0)
        page.get_by_role("button", name="Take greeting out of slot 1").click()
        expect(page.get_by_role("button", name="Create", exact=True)).to_be_disabled()


def test_a_queue_is_built_reordered_repeated_and_extended(site: Site) -> None:
    with site.page(BOARD) as page:
        create_by_form(page, "sleepy", "sleep 60")
        create_by_form(page, "after", "true")
        page.get_by_label("By slots or queue").select_option("queue")
        shelf(page).get_by_role("button", name="after").click()
        shelf(page).get_by_role("button", name="sleepy").click()
        queue = page.get_by_role("list", name="Queue").get_by_role("listitem")
        queue.nth(1).get_by_role("button", name="sleepy").first.focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(queue.nth(0)).to_contain_text("sleepy")
        page.get_by_role("button", name="Repeat default/sleepy").click()
        expect(queue).to_have_count(3)
        queue.nth(2).drag_to(queue.nth(0))
        expect(queue.nth(0)).to_contain_text("after")
        page.get_by_role("button", name="Move default/after down").click()
        page.get_by_role("button", name="Remove default/after").click()
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_text("sleepy Scheduled in slots 0, 1")).to_be_visible()
        page.get_by_role("button", name="Extend by-hand").click()
        shelf(page).get_by_role("button", name="greeting").click()
        page.get_by_role("button", name="Extend", exact=True).click()
        expect(page.get_by_text("greeting InQueue")).to_be_visible()
        delete(page, "by-hand")


def test_a_testbed_is_created_changed_and_deleted(site: Site) -> None:
    with site.page("testbeds") as page:
        page.get_by_role("button", name="New testbed").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Testbed", exact=True).fill("small")
        dialog.get_by_label("Label of its nodes").fill("small")
        expect(dialog.get_by_text(f"shunter node label {node_name(site)} small=0", exact=True)).to_be_visible()
        dialog.get_by_role("button", name=f"Label {node_name(site)}", exact=True).click()
        expect(dialog.get_by_text("1 node with this label")).to_be_visible()
        dialog.get_by_label("Slots on each node").fill("3")
        expect(dialog.get_by_text("Preview:")).to_be_visible()
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_role("region", name="small in default").get_by_text("3 free")).to_be_visible()
    with site.page("testbeds/default/small/slots") as page:
        page.get_by_role("button", name="Change").click()
        page.get_by_label("Slots on each node").fill("1")
        page.get_by_role("dialog").get_by_role("button", name="Change").click()
        expect(page.get_by_text("1 free")).to_be_visible()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="Testbeds")).to_be_visible()
        expect(page.get_by_role("region", name="small in default")).to_have_count(0)


def node_name(site: Site) -> str:
    [node] = site.cluster.items("nodes")
    return str(node["name"])
