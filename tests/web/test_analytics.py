"""Analytics in the web UI: what happened over time, for a range that is in the address, also as CSV."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", autouse=True)
def ended(site: Site) -> None:
    site.cluster.shunter("run", "--name", "fine", "--count", "5", "--", "/bin/true")
    site.cluster.shunter("run", "--name", "faulty", "--count", "2", "--", "/bin/sh", "-c", "exit 3", code=None)


@pytest.mark.smoke
def test_ended_jobs_are_shown_with_their_failures_by_reason_and_node(site: Site) -> None:
    [node] = site.cluster.items("nodes")
    with site.page("analytics?range=15m") as page:
        expect(page.get_by_role("img", name="jobs failed: ")).to_be_visible()
        expect(page.get_by_role("region", name="Failures by reason")).to_contain_text("exit code 3")
        page.get_by_role("region", name="Failures by node").get_by_role("link", name=node["name"]).click()
        expect(page.get_by_role("heading", name=node["name"])).to_be_visible()


def test_the_range_is_in_the_address_and_an_empty_one_says_so(site: Site) -> None:
    with site.page("analytics") as page:
        page.get_by_label("Time range").select_option("own")
        assert "from=" in page.url
        page.get_by_label("From", exact=True).fill("2020-01-01T10:00")
        page.get_by_label("To", exact=True).fill("2020-01-01T11:00")
        expect(page.get_by_text("No job ended in this time")).to_be_visible()
        page.reload()
        expect(page.get_by_text("No job ended in this time")).to_be_visible()
        page.get_by_label("Time range").select_option("1h")
        expect(page.get_by_role("region", name="By user")).to_contain_text("admin")
        page.get_by_label("Namespace", exact=True).select_option("default")
        assert "namespace=default" in page.url


def test_the_csv_has_a_line_for_each_step(site: Site) -> None:
    with site.page("analytics") as page:
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("seconds,succeeded,failed,cancelled,tasks,deadlines,")
    assert len(lines) == 97
