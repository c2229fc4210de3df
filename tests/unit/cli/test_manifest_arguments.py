"""Commands that read manifests accept the file with and without -f."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Cluster, Shunter

MANIFEST = "apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: a}\nspec: {command: [ls]}\n"


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "job.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return "job.yaml"


@pytest.mark.parametrize("command", ["apply", "plan", "submit", "update", "validate"])
def test_a_file_needs_no_option(cluster: Cluster, shunter: Shunter, manifest: str, command: str) -> None:
    said = shunter(command, manifest)
    sent = [(each.method, each.path, each.body) for each in cluster.server.received]
    cluster.server.received.clear()
    assert said == shunter(command, "-f", manifest)
    assert sent == [(each.method, each.path, each.body) for each in cluster.server.received]
    assert "FILE" not in said.err and "Usage" not in said.err


@pytest.mark.parametrize("command", ["apply", "plan", "submit", "update", "validate"])
def test_a_missing_file_is_asked_for(shunter: Shunter, command: str) -> None:
    said = shunter(command)
    assert (said.code, said.err) == (
        2,
        "shunter: error: FILE: is missing; name the manifest file, for example job.yaml\n",
    )


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("command", ["apply", "validate"])
def test_several_files_need_no_options(shunter: Shunter, manifest: str, command: str) -> None:
    assert shunter(command, manifest, manifest) == shunter(command, "-f", manifest, "-f", manifest)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("line", "right"), [("run", "shunter submit"), ("graph", "shunter graph -f")])
def test_a_manifest_in_place_of_a_program_or_job_points_to_the_command(
    shunter: Shunter, manifest: str, line: str, right: str
) -> None:
    assert f"is a manifest file (got '{manifest}'); use: {right} {manifest}\n" in shunter(line, manifest).err
