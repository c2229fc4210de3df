"""The flight recorder in the web UI: a moment is picked, another policy decides, and the policy is switched."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", autouse=True)
def decided(site: Site) -> None:
    site.cluster.shunter("run", "--name", "first", "--count", "3", "--", "/bin/true")
    site.cluster.shunter("run", "--detach", "--name", "wide", "--count", "9", "--", "/bin/sleep", "20")


@pytest.mark.smoke
def test_a_moment_shows_what_the_policy_saw_decided_and_left(site: Site) -> None:
    with site.page("decisions") as page:
        line = page.get_by_role("slider", name="Time line of")
        expect(line).to_be_visible()
        page.get_by_role("button", name="Earlier").click()
        assert "at=" in page.url
        line.focus()
        page.keyboard.press("End")
        expect(page.get_by_role("region", name="What the policy saw")).to_contain_text("1, of which 1 took work")
        expect(page.get_by_role("region", name="What it decided")).to_contain_text("placed")
        waited = page.get_by_role("region", name="What waited, and why the rest was left")
        expect(waited.get_by_role("row").nth(1)).to_contain_text("cpu")
        page.keyboard.press("Home")
        expect(line).to_have_attribute("aria-valuenow", "1")


def test_another_policy_decides_on_the_recorded_input(site: Site) -> None:
    with site.page("decisions") as page:
        page.get_by_label("Decide again with").select_option("spread")
        page.get_by_role("button", name="Replay", exact=True).click()
        replay = page.get_by_role("region", name="With another policy")
        expect(replay).to_contain_text("spread decides the same here")  # there is one node
        expect(replay).to_contain_text("are equal")


def test_switching_the_policy_compares_before_and_after(site: Site) -> None:
    with site.page("decisions") as page:
        page.get_by_role("button", name="spread").click()
        page.get_by_role("dialog").get_by_role("button", name="Switch the policy").click()
        expect(page.get_by_role("link", name="policy spread")).to_be_visible()
        site.cluster.shunter("run", "--name", "second", "--cpu", "0.1", "--", "/bin/true", code=None)
        site.cluster.shunter("stop", "wide", code=None)
        site.cluster.shunter("wait", "wide", code=None)
        site.cluster.shunter("run", "--name", "third", "--count", "2", "--", "/bin/true")
        table = page.get_by_role("region", name="Before and after: one line for each time that a policy decided")
        expect(table.get_by_role("row").nth(1)).to_contain_text("spread (now)")
        expect(table.get_by_role("row").nth(2)).to_contain_text("e-pvm")
        page.get_by_role("button", name="Compare the waiting times").click()
        expect(table.get_by_role("columnheader", name="Wait, median")).to_be_visible()
        expect(table.get_by_role("row").nth(1).get_by_role("cell").nth(7)).to_contain_text("s")
    site.cluster.shunter("policies", "use", "e-pvm", code=None)
