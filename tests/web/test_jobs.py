"""The list of jobs and the page of a job, on a real cluster with real tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.cluster import eventually
from tests.web.conftest import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


SERVICE = """
apiVersion: shunter.dev/v1
kind: Job
metadata: {{name: shop}}
spec:
  type: service
  command: [/bin/sleep, "{seconds}"]
  resources: {{cpu: 100m}}
  update: {{healthy_for: 100ms}}
"""


@pytest.fixture(scope="module", autouse=True)
def jobs(site: Site) -> None:
    run = ("run", "--detach", "--name")
    site.cluster.shunter(*run, "greet", "--count", "40", "--", "/bin/sh", "-c", 'echo "hello $SHUNTER_TASK_INDEX"')
    site.cluster.shunter(*run, "broken", "--count", "3", "--", "/bin/sh", "-c", "echo oops >&2; exit 3")
    site.cluster.shunter(*run, "train", "--memory", "900Gi", "--", "/bin/true")
    for name in ("greet", "broken"):
        site.cluster.shunter("wait", name, code=None)


@pytest.mark.smoke
def test_the_overview_leads_from_what_failed_to_its_page(site: Site) -> None:
    with site.page() as page:
        page.get_by_role("link", name="Open: broken@1 failed").click()
        expect(page.get_by_role("heading", name="broken@1")).to_be_visible()
        expect(page.get_by_text("exit code 3").first).to_be_visible()


@pytest.mark.smoke
def test_a_new_job_appears_within_a_second_without_a_reload(site: Site) -> None:
    with site.page("jobs") as page:
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="greet@1")).to_be_visible()
        site.cluster.shunter("run", "--detach", "--name", "newcomer", "--", "/bin/true")
        expect(page.get_by_role("link", name="newcomer@1")).to_be_visible(timeout=1500)


def test_rows_do_not_move_under_the_pointer(site: Site) -> None:
    with site.page("jobs") as page:
        page.get_by_role("link", name="greet@1").hover()
        before = page.get_by_role("link", name="greet@1").bounding_box()
        site.cluster.shunter("run", "--detach", "--name", "intruder", "--", "/bin/true")
        expect(page.get_by_role("button", name="newer job")).to_be_visible()
        expect(page.get_by_role("link", name="intruder@1")).to_have_count(0)
        after = page.get_by_role("link", name="greet@1").bounding_box()
        assert before is not None and after is not None
        assert abs(before["x"] - after["x"]) < 1
        page.get_by_role("button", name="newer job").click()
        expect(page.get_by_role("link", name="intruder@1")).to_be_visible()


def test_filter_and_search_are_in_the_address(site: Site) -> None:
    with site.page("jobs") as page:
        page.get_by_role("button", name="failed").click()
        expect(page.get_by_role("link", name="greet@1")).to_have_count(0)
        expect(page.get_by_role("link", name="broken@1")).to_be_visible()
        assert "state%3Afailed" in page.url or "state:failed" in page.url
        page.keyboard.press("/")
        page.keyboard.type("gree")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="greet@1")).to_be_visible()
        expect(page.get_by_role("link", name="broken@1")).to_have_count(0)


def test_the_keyboard_opens_a_job(site: Site) -> None:
    with site.page("jobs?filter=broken") as page:
        expect(page.get_by_role("link", name="broken@1")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="broken@1")).to_be_visible()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()


def test_bulk_actions_stop_the_selected_jobs(site: Site) -> None:
    for name in ("sleeper-a", "sleeper-b"):
        site.cluster.shunter("run", "--detach", "--name", name, "--cpu", "0.1", "--", "/bin/sleep", "600")
    with site.page("jobs?filter=sleeper") as page:
        page.get_by_label("Select sleeper-a@1").check()
        page.get_by_label("Select sleeper-b@1").check()
        page.get_by_role("toolbar").get_by_role("button", name="Stop").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        expect(page.get_by_text("cancelled", exact=True)).to_have_count(3)  # both rows and the button of the filter


@pytest.mark.smoke
def test_the_log_of_a_job_is_searched_and_followed(site: Site) -> None:
    with site.page("jobs/default/greet@1/logs") as page:
        expect(page.get_by_role("log")).to_contain_text("hello 39")
        page.get_by_label("Search in the output").fill("hello 7")
        expect(page.get_by_text("1 lines match")).to_be_visible()
    follow = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; sleep 0.2; done"
    site.cluster.shunter("run", "--detach", "--name", "ticker", "--cpu", "0.1", "--", "/bin/sh", "-c", follow)
    with site.page("jobs/default/ticker@1/logs") as page:
        expect(page.get_by_role("log")).to_contain_text("line 3")
        expect(page.get_by_role("log")).to_contain_text("line 8")
    site.cluster.shunter("stop", "ticker")


def test_one_task_shows_its_attempts_and_its_output(site: Site) -> None:
    with site.page("jobs/default/broken@1/tasks") as page:
        page.get_by_role("button", name="1", exact=True).click()
        expect(page.get_by_role("log")).to_contain_text("oops")
        expect(page.get_by_role("region", name="Task broken/1")).to_contain_text("exit code 3")
        assert "task=" in page.url


def test_the_timeline_has_a_bar_for_each_attempt_and_leads_to_its_task(site: Site) -> None:
    with site.page("jobs/default/broken@1/timeline") as page:
        attempts = page.get_by_role("list").get_by_role("listitem")
        expect(attempts.filter(has_text="failed")).to_have_count(3)
        attempts.get_by_role("link", name="main/1").click()
        expect(page.get_by_role("region", name="Task broken/1")).to_contain_text("exit code 3")


def test_the_manifest_of_a_service_shows_what_changed_between_versions(site: Site, tmp_path: Path) -> None:
    manifest = tmp_path / "web.yaml"
    for seconds in ("600", "601"):
        manifest.write_text(SERVICE.format(seconds=seconds))
        site.cluster.shunter("apply", "-f", str(manifest))
        eventually(lambda: is_steady(site), "the version is steady: others are not kept")
    with site.page("jobs/default/shop/manifest") as page:
        page.get_by_label("Compare with").select_option("1")
        expect(page.get_by_text("1 lines added, 1 removed")).to_be_visible()
    site.cluster.shunter("stop", "shop")


def is_steady(site: Site) -> bool:
    job = site.cluster.json("job", "shop")
    return bool(job["update"]["status"] == "steady" and job["update"]["good_version"] == job["version"])


def test_a_waiting_job_says_why(site: Site) -> None:
    with site.page("jobs/default/train@1/tasks") as page:
        expect(page.get_by_role("region", name="Why it waits")).to_contain_text("needs 900Gi")


def test_a_finished_job_runs_again(site: Site) -> None:
    with site.page("jobs/default/greet@1/tasks") as page:
        page.get_by_role("button", name="Run again").click()
        expect(page.get_by_role("heading", name="greet@2")).to_be_visible()
