"""What helps when something is wrong: `shunter doctor` and `shunter debug bundle`, with and without a cluster."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from tests.e2e.cluster import Cluster

PLANTED = "planted-Secret-0123456789abcdefghijklmnopqrst"
CHECKS = {
    *("installation", "limits", "home", "store", "disk", "clock"),
    *("cgroups", "isolation", "runtimes", "connectivity", "leftovers"),
}


def unpack(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        return {Path(member.name).name: file.read().decode() for member, file in members if file is not None}


def test_the_doctor_examines_a_machine_with_and_without_a_cluster(home: Cluster) -> None:
    for is_running in (False, True):
        if is_running:
            home.up("--cpu", "1")
        found = json.loads(home.shunter("doctor", "--output", "json", code=None).out)
        assert {each["check"] for each in found} == CHECKS
        (connectivity,) = [each for each in found if each["check"] == "connectivity"]
        assert ("answers" in connectivity["text"]) == is_running
        assert all(each["fix"] for each in found if each["level"] != "ok")


def test_the_doctor_asks_the_daemon_that_workers_use(home: Cluster, tmp_path: Path) -> None:
    home.home.mkdir(mode=0o700, exist_ok=True)
    (home.home / "config.toml").write_text(f"""[worker]\ndocker_host = "unix://{tmp_path}/nobody.sock"\n""")
    found = json.loads(home.shunter("doctor", "--output", "json", code=None).out)
    (runtimes,) = [each for each in found if each["check"] == "runtimes"]
    assert (runtimes["level"], f"{tmp_path}/nobody.sock" in runtimes["text"]) == ("warning", True)


def test_the_doctor_trusts_the_authority_of_the_home(home: Cluster) -> None:
    home.shunter("ca", "init")
    home.up("--cpu", "1", "--tls")
    found = json.loads(home.shunter("doctor", "--output", "json", code=None).out)
    (connectivity,) = [each for each in found if each["check"] == "connectivity"]
    assert (connectivity["level"], "https://" in connectivity["text"]) == ("ok", True)


def test_an_error_is_the_exit_code_and_names_its_fix(home: Cluster) -> None:
    home.up("--cpu", "1")
    home.home.chmod(0o755)
    finished = home.shunter("doctor", code=1)
    assert f"chmod 700 {home.home}" in finished.out.replace("\n", " ")
    home.home.chmod(0o700)


def test_a_bundle_has_everything_but_secrets(home: Cluster, tmp_path: Path) -> None:
    home.home.mkdir(mode=0o700, exist_ok=True)
    home.environment["SHUNTER_WORKER_TOKEN"] = PLANTED
    home.up("--cpu", "1")
    home.shunter("run", "--", "true")
    key = home.shunter("key", "create", "--role", "viewer", "--output", "json").out
    full_key = next(str(each) for each in json.loads(key).values() if str(each).count("_") >= 2)
    token, worker_token = ((home.home / name).read_text().strip() for name in ("token", "worker-token"))
    with (home.home / "shunter.log").open("a") as log:
        log.write(f"request.failed header='Authorization: Bearer {token}' worker={worker_token} key={full_key}\n")
        log.write(f"store.failed url=postgresql://shunter:{PLANTED}@db/shunter\n")
    (home.home / "config.toml").write_text(f'[cluster]\n# password = "{PLANTED}"\n')
    path = tmp_path / "debug.tar.gz"
    home.shunter("debug", "bundle", str(path), "--profile", "1")
    parts = unpack(path)
    assert set(parts) == {
        *("versions.json", "doctor.json", "sizes.json", "errors.json", "cluster.json", "metrics.txt", "rounds.json"),
        *("stalls.json", "profile.txt", "config.toml", "shunter.log"),
    }
    assert "manager.ready" in parts["shunter.log"]
    assert json.loads(parts["rounds.json"])[-1]["changes"] > 0
    assert "shunter_jobs_submitted_total" in parts["metrics.txt"]
    assert parts["profile.txt"].split("\n")[0].rpartition(" ")[2].isdigit()
    everything = "\n".join(parts.values())
    for secret in (PLANTED, token, worker_token, full_key):
        assert len(secret) > 30
        assert secret[-30:] not in everything
    assert path.stat().st_mode & 0o077 == 0


def test_a_bundle_is_written_without_a_cluster_and_replaces_no_file(home: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "debug.tar.gz"
    home.shunter("debug", "bundle", str(path))
    assert {"versions.json", "doctor.json"} <= set(unpack(path))
    assert "exists" in home.shunter("debug", "bundle", str(path), code=2).err
