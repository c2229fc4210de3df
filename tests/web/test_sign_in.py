"""Signing in to the web UI, and out again."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.web.conftest import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.smoke
def test_the_link_of_shunter_ui_signs_in_and_leaves_no_code_in_the_address(site: Site, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(site.link())
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    assert "code=" not in page.url
    page.context.close()


def test_a_token_signs_in_and_a_wrong_one_says_what_to_do(site: Site, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(site.base + "jobs")
    page.get_by_label("Or paste an API key").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Or paste an API key").fill(site.cluster.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    page.context.close()


def test_signing_out_ends_the_session(site: Site, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(site.link())
    page.get_by_role("button", name="User admin").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Shunter")).to_be_visible()
    page.context.close()
