"""Restart policies with real processes: every attempt counts itself in a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, shell

SOON = {"delay": "20ms", "jitter": 0}


class Counted:
    """A script whose attempts are counted, with the time of each."""

    def __init__(self, folder: Path, script: str) -> None:
        self._seen = folder / "attempts"
        self._seen.touch()
        self.script = f'echo "$SHUNTER_ATTEMPT $(date +%s.%N)" >> {self._seen}; {script}'

    @property
    def attempts(self) -> list[int]:
        return [int(line.split()[0]) for line in self._seen.read_text().splitlines()]

    @property
    def times_s(self) -> list[float]:
        return [float(line.split()[1]) for line in self._seen.read_text().splitlines()]


@pytest.mark.parametrize(
    ("restart", "script", "attempts", "state"),
    [
        ({"policy": "never"}, "exit 1", [1], "failed"),
        ({"policy": "on-failure", "max": 2}, "exit 1", [1, 2, 3], "failed"),
        ({"policy": "on-failure", "max": 5}, 'test "$SHUNTER_ATTEMPT" = 3', [1, 2, 3], "succeeded"),
        ({"policy": "on-failure", "max": 5}, "exit 0", [1], "succeeded"),
        ({"policy": "on-failure", "max": 0}, "exit 1", [1], "failed"),
        ({"policy": "always", "max": 2}, "exit 0", [1, 2, 3], "succeeded"),
        ({"policy": "always", "max": 1}, "exit 1", [1, 2], "failed"),
        ({"policy": "unless-stopped", "max": 2}, "exit 0", [1, 2, 3], "succeeded"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_policy_decides_which_ends_are_followed_by_another_attempt(
    cluster: Cluster, tmp_path: Path, restart: dict[str, Any], script: str, attempts: list[int], state: str
) -> None:
    """C-14: never, on-failure, always, unless-stopped, each with its maximum."""
    counted = Counted(tmp_path, script)
    name = f"{restart['policy']}-{restart.get('max', 'none')}-{state}-{len(attempts)}"
    document = shell(name, counted.script, restart={**restart, **SOON})
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(document), code=0 if state == "succeeded" else 1)
    assert counted.attempts == attempts
    [task] = cluster.items("tasks", name)
    assert (task["state"], task["attempt"], task["restarts"]) == (state, len(attempts), len(attempts) - 1)


@pytest.mark.parametrize("policy", ["always", "unless-stopped"])
def test_a_job_that_restarts_for_ever_ends_when_it_is_stopped(cluster: Cluster, tmp_path: Path, policy: str) -> None:
    """C-14: it is kept running until someone stops it, and stays stopped."""
    counted = Counted(tmp_path, "exit 0")
    document = shell(f"ever-{policy}", counted.script, restart={"policy": policy, **SOON, "delay_max": "20ms"})
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(document))
    eventually(lambda: len(counted.attempts) >= 6, "six attempts")
    cluster.shunter("stop", f"ever-{policy}")
    cluster.shunter("wait", f"ever-{policy}", code=1)
    assert cluster.json("job", f"ever-{policy}")["state"] == "cancelled"
    assert counted.attempts == list(range(1, len(counted.attempts) + 1))


def test_the_delay_grows_by_its_factor(cluster: Cluster, tmp_path: Path) -> None:
    """C-14: back-off. Only the least times are asserted; a busy machine may take longer."""
    counted = Counted(tmp_path, "exit 1")
    restart = {"policy": "on-failure", "max": 3, "delay": "100ms", "factor": 2, "delay_max": "300ms", "jitter": 0}
    cluster.shunter(
        "submit", "-f", "-", "--wait", stdin=as_yaml(shell("patient", counted.script, restart=restart)), code=1
    )
    waits_s = [later - earlier for earlier, later in pairwise(counted.times_s)]
    assert all(wait_s >= least_s for wait_s, least_s in zip(waits_s, (0.1, 0.2, 0.3), strict=True)), waits_s


def test_each_task_of_an_array_is_retried_by_itself(cluster: Cluster) -> None:
    """C-14: the others are not touched by a sibling's failures."""
    script = 'test $((SHUNTER_TASK_INDEX % 3)) -ne 0 -o "$SHUNTER_ATTEMPT" = 2'
    restart = {"policy": "on-failure", "max": 1, **SOON}
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("thirds", script, count=12, restart=restart)))
    tasks = cluster.items("tasks", "thirds")
    assert [task["attempt"] for task in tasks] == [2 if index % 3 == 0 else 1 for index in range(12)]


def test_a_job_waiting_out_its_back_off_says_so(cluster: Cluster) -> None:
    """C-18: nothing waits without a stated reason."""
    restart = {"policy": "on-failure", "max": 1, "delay": "1h"}
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("backing-off", "exit 1", restart=restart)))
    eventually(lambda: "back-off" in cluster.shunter("why", "backing-off").out, "it waits")
