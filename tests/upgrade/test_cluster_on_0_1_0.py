"""A cluster starts on the home that version 0.1.0 wrote, and continues its work."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.upgrade.home_files import restore

from .home_0_1_0 import FINISHED, UNFINISHED, VERSION

CONFIG = """
[worker]
name = "n1"
cpu = 4
[history]
jobs_age = "36500d"
events_age = "36500d"
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path / "home")
    cluster.home.mkdir()
    (cluster.home / "config.toml").write_text(CONFIG)
    restore(VERSION, cluster.home / "store.db")
    try:
        yield cluster
        cluster.down()
        cluster.expect_nothing_left()
    finally:
        cluster.kill_all()


def test_a_cluster_goes_on_with_it(home: Cluster) -> None:
    """What ran is lost with its processes and runs again, except a BatchJob's run, which fails. The rest is unchanged,
    and new jobs run. It takes 15 s until the manager gives up the home's other node, which never comes back."""
    home.up()
    jobs = {f"{job['name']}@{job['run']}": job for job in home.items("jobs")}
    finished = {name: jobs[name]["state"] for _, name, *_ in FINISHED}
    assert finished == {name: state for _, name, state, *_ in FINISHED}
    templates = {name: jobs[f"{name}@0"]["state"] for name in ("nightly", "thumb", "yearly")}
    assert templates == {"nightly": "paused", "thumb": "dispatchable", "yearly": "scheduled"}
    assert set(jobs) - set(finished) - {f"{name}@0" for name in templates} == {f"{name}@1" for name in UNFINISHED}
    home.shunter("release", "long")
    for name in ("long", "mv", "web"):
        eventually(partial(_runs_again, home, name), f"{name} runs again")
    eventually(partial(_has_failed, home, "stay"), "the BatchJob's run has failed with its lost executors")
    assert [jobs[f"{name}@1"]["state"] for name in ("then", "lbl", "held", "slow")] == ["pending"] * 4
    home.shunter("run", "--name", "new", "--cpu", "100m", "--", "/bin/echo", "hello")
    home.shunter("run", "--name", "ok", "--cpu", "100m", "--", "/bin/true")
    assert home.json("job", "ok")["run"] == 3
    assert home.json("job", "new")["state"] == "succeeded"
    home.stop_everything()


def _has_failed(home: Cluster, batch_job: str) -> bool:
    status = home.json("get", "batchjob", batch_job)["status"]
    return status["state"] == "FailedSubmissionState" and "was lost: " in status["problems"][0]


def _runs_again(home: Cluster, job: str) -> bool:
    tasks = home.items("tasks", job)
    return any((task["state"], task["node"]) == ("running", "n1") and task["attempt"] > 1 for task in tasks)
