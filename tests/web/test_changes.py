"""What the web UI changes: jobs that it creates, suggestions that it applies."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.smoke
def test_a_job_is_created_from_form_and_manifest_after_a_plan(site: Site) -> None:
    with site.page("create") as page:
        page.get_by_label("Name", exact=True).fill("from-form")
        page.get_by_label("Tasks", exact=True).fill("7")
        expect(page.get_by_label("Manifest in YAML")).to_have_value(re.compile("count: 7"))
        expect(page.get_by_role("region", name="Plan: what would happen now")).to_contain_text("7 tasks")
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("heading", name="from-form@1")).to_be_visible()


def test_the_manifest_is_completed_and_checked_by_its_schema(site: Site) -> None:
    with site.page("create", is_refused=True) as page:
        expect(page.locator("textarea")).to_be_visible()
        page.get_by_label("Manifest in YAML").click()
        editor = page.locator(".cm-content")
        expect(editor).to_be_visible()
        page.keyboard.press("Control+End")
        page.keyboard.type("  deadl")
        option = page.get_by_role("option", name="deadline")
        expect(option).to_be_visible()
        option.click()
        expect(editor).to_contain_text("deadline: ")
        page.keyboard.press("Control+a")
        page.keyboard.type("apiVersion: shunter.dev/v1\nkind: Job\nspecs: {}\n")
        page.locator(".cm-lintRange-error").hover()
        expect(page.get_by_text("specs: there is no such field")).to_be_visible()


@pytest.mark.smoke
def test_the_manifest_of_a_job_is_edited_and_submitted_again(site: Site) -> None:
    site.cluster.shunter("run", "--name", "again", "--cpu", "0.1", "--", "/bin/true")
    with site.page("jobs/default/again@1/tasks") as page:
        page.get_by_role("link", name="Edit", exact=True).click()
        expect(page.get_by_role("heading", name="Edit again@1")).to_be_visible()
        page.get_by_label("Tasks", exact=True).fill("3")
        expect(page.get_by_role("region", name="Plan: what would happen now")).to_contain_text("3 tasks")
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_role("heading", name="again@2")).to_be_visible()


def test_an_invalid_manifest_names_the_field_and_the_fix(site: Site) -> None:
    with site.page("create", is_refused=True) as page:
        page.get_by_label("Memory of a task").fill("lots")
        expect(page.get_by_role("alert")).to_contain_text("memory")
        page.get_by_label("Memory of a task").fill("64Mi")
        expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.smoke
def test_a_suggestion_of_why_is_applied(site: Site) -> None:
    [node] = site.cluster.items("nodes")
    memory_gib = int(node["capacity"]["memory"].removesuffix("Ki")) // 2**20
    too_much = f"{memory_gib + 5}Gi"
    site.cluster.shunter("run", "--detach", "--name", "greedy", "--memory", too_much, "--cpu", "0.1", "--", "/bin/true")
    with site.page("jobs/default/greedy@1/tasks") as page:
        page.get_by_role("button", name="Apply").first.click()
        expect(page.get_by_role("heading", name="greedy@2")).to_be_visible()
