"""--quiet prints results and errors only; --output wide prints every column, uncut."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.cli.render.test_tables import on_terminal
from tests.unit.sdk.scripted_server import answer, job_document

LONG = ["sh", "-c", "x" * 90]


@pytest.mark.parametrize("arguments", [("--quiet", "jobs"), ("jobs", "--quiet"), ("jobs", "-q")])
def test_a_quiet_listing_has_only_names(cluster: Cluster, shunter: Shunter, arguments: tuple[str, ...]) -> None:
    cluster.answers["GET /jobs"] = page(job_document("render"), job_document("fetch"))
    said = shunter(*arguments, "--limit", "2")
    assert (said.out, said.err) == ("render\nfetch\n", "")
    assert shunter("jobs", "--limit", "2").err != ""  # the next command line is not quiet


def test_a_quiet_listing_of_keys_and_users_has_only_their_names(cluster: Cluster, shunter: Shunter) -> None:
    key = {"id": "b7k2mq9xwe", "user": "anna", "roles": ["viewer"], "note": "", "created_at": "2026-01-02T03:04:05Z"}
    user = {"name": "anna", "roles": ["viewer"], "disabled": False, "created_at": "2026-01-02T03:04:05Z"}
    cluster.answers["GET /keys"] = page(key)
    cluster.answers["GET /users"] = page(user)
    assert shunter("key", "list", "-q").out == "b7k2mq9xwe\n"
    assert shunter("user", "list", "-q").out == "anna\n"


def test_a_quiet_wait_prints_nothing_if_the_job_succeeds(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/a"] = answer(200, job_document("a", state="succeeded", counts={"succeeded": 1}))
    assert shunter("wait", "a").err == "shunter: a succeeded\n"
    assert shunter("wait", "-q", "a") == shunter("--quiet", "wait", "a")
    assert shunter("wait", "-q", "a").err == ""


def test_a_quiet_wait_prints_why_a_job_failed(cluster: Cluster, shunter: Shunter) -> None:
    ended = job_document("a", state="failed", counts={"failed": 1}, reason="exit code 3")
    cluster.answers["GET /jobs/a"] = answer(200, ended)
    said = shunter("wait", "-q", "a")
    assert (said.code, said.err) == (1, "shunter: a failed: exit code 3\n")


def test_errors_are_never_quiet(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/b"] = answer(404, {"detail": "job 'b' does not exist"})
    assert shunter("--quiet", "job", "b").err == "shunter: error: job 'b' does not exist\n"


def test_wide_jobs_have_more_columns(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs"] = page(job_document("render", labels={"team": "film"}, user="ada"))
    header, row = shunter("jobs", "--output", "wide").out.splitlines()
    assert header.split() == [
        "NAME", "RUN", "STATE", "DONE", "AGE", "ELAPSED", "TYPE", "PRIORITY", "USER", "LABELS", "COMMAND",
    ]  # fmt: skip
    assert " ada " in row and "team=film" in row


def test_wide_rows_are_not_cut_on_a_narrow_terminal(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.answers["GET /jobs"] = page(job_document("render", command=LONG))
    assert "…" in on_terminal(lambda: shunter("jobs"), monkeypatch, 60)
    wide = on_terminal(lambda: shunter("jobs", "-o", "wide"), monkeypatch, 60)
    assert "x" * 90 in wide and "ELAPSED" in wide


def test_wide_is_a_table_in_every_command(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/a"] = answer(200, job_document("a", state="succeeded", counts={"succeeded": 1}))
    assert shunter("job", "a", "-o", "wide") == shunter("job", "a")
