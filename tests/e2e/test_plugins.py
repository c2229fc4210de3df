"""The example plugin, built and installed next to Shunter, decides on a real cluster."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.e2e.cluster import Cluster, eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "shunter-plugin-example"
NODES = 3
IDLE_JOB = """
apiVersion: shunter.dev/v1
kind: Job
metadata: {{name: background}}
spec:
  runtime: idle
  dir: {dir}
  command: [/bin/sh, -c, "echo niceness $(nice); exec sleep 600"]
  health: [{{plugin: marker, interval: 100ms, failures: 2}}]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the example was installed: its wheel, unpacked."""
    folder = tmp_path_factory.mktemp("plugin")
    source, site = folder / "source", folder / "site"
    shutil.copytree(EXAMPLE, source)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=120)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


@pytest.fixture
def extended(tmp_path: Path, installed: Path) -> Iterator[Cluster]:
    """A cluster of simulated nodes whose processes see the plugin, and one that cannot be loaded."""
    broken = tmp_path / "site" / "broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[shunter.policies]\nbroken = no_such_module:Policy\n")
    cluster = Cluster(tmp_path / "home")
    cluster.environment["PYTHONPATH"] = f"{installed}:{broken.parent}"
    cluster.up("--simulate-nodes", str(NODES))
    try:
        yield cluster
    finally:
        cluster.down()


def test_an_installed_package_brings_a_policy_a_score_and_a_filter_that_decide(extended: Cluster) -> None:
    """D-53: listed with their source, chosen live, used, explained; a broken one is told."""
    listed = {each["name"]: each for each in extended.items("policies")}
    assert listed["cheapest"]["source"] == listed["warm-cache"]["source"] == "shunter-plugin-example 1.0.0"
    assert (listed["maintenance"]["kind"], listed["maintenance"]["active"]) == ("filter", True)
    assert "No module named 'no_such_module'" in listed["broken"]["error"]
    first, second, third = sorted(node["name"] for node in extended.items("nodes"))

    extended.shunter("node", "label", first, "price=9", code=0)
    extended.shunter("node", "label", second, "price=2", "cache=warm", code=0)
    extended.shunter("policies", "use", "cheapest", code=0)
    assert node_of(extended, "cheap") == second
    assert node_of(extended, "asks-for-more", "--constraint", f"node.name == '{first}'") == first

    extended.shunter("policies", "use", "warm-cache", code=0)
    assert node_of(extended, "warm") == second
    for node in (first, second, third):
        extended.shunter("node", "label", node, "maintenance=yes", code=0)
    extended.shunter("run", "--name", "shut-out", "--detach", "--", "true", code=0)
    why = extended.json("why", "shut-out")
    assert (why["reasons"][0]["text"], why["reasons"][0]["nodes"]) == ("in maintenance", NODES)


def test_the_chosen_policy_still_decides_after_a_restart(extended: Cluster) -> None:
    extended.shunter("policies", "use", "cheapest", code=0)
    refused = extended.shunter("policies", "use", "broken", code=2)
    assert "no_such_module" in refused.err
    extended.down()
    extended.up("--simulate-nodes", str(NODES))
    assert [each["name"] for each in extended.items("policies") if each["active"]] == ["cheapest", "maintenance"]


def test_an_installed_package_brings_a_runtime_and_a_health_check_that_workers_use(
    tmp_path: Path, installed: Path
) -> None:
    """D-53: tasks run in the plugin's runtime, are looked after by its check, and are ended with its reason."""
    cluster = Cluster(tmp_path / "home")
    cluster.environment["PYTHONPATH"] = str(installed)
    status = tmp_path / "status"
    status.write_text("healthy")
    manifest = tmp_path / "job.yaml"
    manifest.write_text(IDLE_JOB.format(dir=tmp_path))
    cluster.up()
    try:
        [node] = cluster.items("nodes")
        assert node["attributes"]["runtime.idle"] == "1.0"
        cluster.shunter("submit", "-f", str(manifest), code=0)
        eventually(lambda: "niceness 19" in cluster.shunter("logs", "background/0").out, "the task runs")
        eventually(lambda: cluster.items("tasks", "background")[0]["healthy"] is True, "its check passes")
        status.write_text("overwhelmed")
        cluster.until("background", "failed")
        [task] = cluster.items("tasks", "background")
        assert "marker check failed 2 times in a row: status says 'overwhelmed'" in str(task)
    finally:
        cluster.down()


def test_an_installed_package_says_whom_a_credential_stands_for(installed: Path, tmp_path: Path) -> None:
    """D-53: only if the settings name it; a refusal has its reason, and an error says no more than that."""
    cluster, badges = Cluster(tmp_path / "home"), tmp_path / "badges"
    badges.write_text("badge-1 anna submitter\nbadge-2 ben\n")
    cluster.environment |= {"PYTHONPATH": str(installed), "BADGES_FILE": str(badges)}
    assert "is not installed" in cluster.shunter("up", "--detach", "--auth-plugin", "nosuch", code=2).err
    cluster.up("--auth-plugin", "badges")
    try:
        anna = with_token(cluster, "badge-1")
        assert anna.json("whoami")["authority"] == "badges"
        assert anna.shunter("run", "--", "echo", "hello").out == "hello\n"
        assert "needs the role admin" in anna.shunter("user", "list", code=2).err
        refused = with_token(cluster, "badge-2").shunter("whoami", code=2)
        assert "this badge was returned (plugin badges)" in refused.err
        assert "refused the token" in with_token(cluster, "badge-3").shunter("whoami", code=2).err
        badges.unlink()
        status, failed = ask_with_token(cluster, "badge-4")
        assert status == 503 and "the plugin badges failed to check a credential" in failed
        assert "FileNotFound" not in failed
        assert "FileNotFoundError" in cluster.log()
    finally:
        cluster.down()


def with_token(cluster: Cluster, token: str) -> Cluster:
    user = Cluster(cluster.home)
    user.environment |= {"SHUNTER_TOKEN": token}
    return user


def ask_with_token(cluster: Cluster, token: str) -> tuple[int, str]:
    """Once: commands wait for a while until an outage ends."""
    url = f"{cluster.description['url']}/api/v1/me"
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(url, headers={"Authorization": f"Bearer {token}"}), timeout=60)
    return refused.value.code, refused.value.read().decode()


def node_of(cluster: Cluster, name: str, *options: str) -> str:
    """Where a job of one task is placed."""
    cluster.shunter("run", "--name", name, "--detach", *options, "--", "true", code=0)
    node: str = eventually(lambda: cluster.items("tasks", name)[0]["node"], f"{name} is placed")
    return node
