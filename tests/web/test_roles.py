"""What a viewer, a submitter of a tenant and an admin each see, and what stops them, said before they try."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import WAIT_MAX_MS, Site, clean_page

SIGNED_OUT = "Failed to load resource: the server responded with a status of 401 (Unauthorized)"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", autouse=True)
def world(site: Site) -> None:
    site.cluster.shunter("run", "--detach", "--name", "sleeper", "--cpu", "0.1", "--", "/bin/sleep", "600")
    site.cluster.shunter("tenant", "create", "film", "--quota", "queued=1000", "--quota", "cpu=2")
    site.cluster.shunter("user", "create", "vera", "--role", "viewer")


@contextmanager
def signed_in(site: Site, browser: Browser, *key_options: str) -> Iterator[Page]:
    """A browser of somebody with a key of their own."""
    key = site.cluster.shunter("key", "create", *key_options).out.split()[-1]
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT_MAX_MS)
    try:
        with clean_page(context, SIGNED_OUT) as page:
            page.goto(site.base)
            page.get_by_label("Or paste an API key").fill(key)
            page.get_by_role("button", name="Sign in", exact=True).click()
            expect(page.get_by_role("heading", name="Overview")).to_be_visible()
            yield page
    finally:
        context.close()


@pytest.mark.smoke
def test_a_viewer_reads_everything_and_each_button_says_which_role_it_needs(site: Site, browser: Browser) -> None:
    with signed_in(site, browser, "--user", "vera", "--role", "viewer") as page:
        page.goto(site.base + "jobs/default/sleeper@1/tasks")
        stop = page.get_by_role("button", name="Stop", exact=True)
        expect(stop).to_have_attribute("aria-disabled", "true")
        expect(stop).to_have_attribute("title", "This needs the role submitter, operator or admin; you have viewer.")
        stop.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_text("you have viewer").first).to_be_visible()
        [node] = site.cluster.items("nodes")
        page.goto(site.base + f"nodes/{node['name']}/tasks")
        expect(page.get_by_role("button", name="Drain")).to_have_attribute("aria-disabled", "true")
        page.goto(site.base + "create")
        expect(page.get_by_role("button", name="Submit")).to_have_attribute("aria-disabled", "true")
        page.goto(site.base + "access/you")
        expect(page.get_by_role("link", name="Audit log")).to_have_count(0)


@pytest.mark.smoke
def test_a_submitter_of_a_tenant_sees_its_part_and_stops_its_job(site: Site, browser: Browser) -> None:
    with signed_in(site, browser, "--tenant", "film", "--role", "submitter") as page:
        expect(page.get_by_text("of tenant film")).to_be_visible()
        expect(page.get_by_role("region", name="Quotas")).to_contain_text("of 2")
        expect(page.get_by_role("link", name="Decisions")).to_have_count(0)
        site.cluster.shunter(
            "run", "--detach", "--name", "reel", "-n", "film", "--cpu", "0.1", "--", "/bin/sleep", "600"
        )
        page.goto(site.base + "jobs")
        expect(page.get_by_role("link", name="reel@1")).to_be_visible()
        expect(page.get_by_role("link", name="sleeper@1")).to_have_count(0)
        page.get_by_role("link", name="reel@1").click()
        page.get_by_role("button", name="Stop", exact=True).click()
        page.get_by_role("button", name="Stop the job").click()
        expect(page.get_by_text("cancelled").first).to_be_visible()
        page.goto(site.base + "access/tenants")
        expect(page.get_by_role("table", name="Tenant film")).to_contain_text("film")


def test_an_admin_sees_users_keys_tenants_secrets_by_name_and_the_audit_log(site: Site) -> None:
    site.cluster.shunter("secret", "set", "db-password", stdin="hunter2-value")
    with site.page("access/users") as page:
        expect(page.get_by_role("table", name="Users")).to_contain_text("vera")
        page.get_by_role("link", name="Tenants").click()
        expect(page.get_by_role("table", name="Tenants")).to_contain_text("film")
        page.get_by_role("link", name="Secrets").click()
        expect(page.get_by_role("table", name="Secrets: names only")).to_contain_text("db-password")
        assert "hunter2" not in page.content()
        page.get_by_role("link", name="Audit log").click()
        expect(page.get_by_role("table", name="Audit log")).to_contain_text("setSecret")
        page.get_by_label("Only this operation").fill("createTenant")
        expect(page.get_by_role("table", name="Audit log")).to_contain_text("tenant film")
        expect(page).to_have_url(site.base + "access/audit?operation=createTenant")


def test_a_key_that_leaked_is_revoked_and_its_browser_is_asked_to_sign_in_again(site: Site, browser: Browser) -> None:
    with signed_in(site, browser, "--user", "vera", "--role", "viewer", "--note", "leaked") as page:
        with site.page("access/keys") as admin:
            row = admin.get_by_role("row").filter(has_text="leaked")
            row.get_by_role("button", name="Revoke").click()
            admin.get_by_role("dialog").get_by_role("button", name="Revoke").click()
            expect(row).to_have_count(0)
        expect(page.get_by_role("heading", name="Sign in to Shunter")).to_be_visible()  # its next read is refused


def test_a_queue_is_paused_and_resumed(site: Site) -> None:
    site.cluster.shunter("queue", "set", "night", "--running-max", "10")
    with site.page("queues") as page:
        page.get_by_role("button", name="Pause night").click()
        expect(page.get_by_role("button", name="Resume night")).to_be_visible()
        page.get_by_role("button", name="Resume night").click()
        expect(page.get_by_role("button", name="Pause night")).to_be_visible()
