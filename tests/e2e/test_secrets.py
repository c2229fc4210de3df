"""Secrets on a real cluster: tasks get them, and nothing else has their values."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from shunter.model.job.job_fields import API_VERSION
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.task_gates import Gate

PROBE = r"""
set -eu
[ "$(printf %s "$PASSWORD" | sha256sum | cut -d' ' -f1)" = "$1" ]
[ "$(sha256sum < "$SHUNTER_SECRETS/key.pem" | cut -d' ' -f1)" = "$2" ]
[ "$(stat -c %a "$SHUNTER_SECRETS/key.pem")" = 400 ]
echo verified
"""


def digest(value: str) -> str:
    return sha256(value.encode()).hexdigest()


def manifest(name: str, command: list[str], secrets: list[dict[str, str]], *, hold: bool = False) -> str:
    spec = {"command": command, "secrets": secrets, "hold": hold}
    return json.dumps({"apiVersion": API_VERSION, "kind": "Job", "metadata": {"name": name}, "spec": spec})


BOTH = [{"name": "password", "env": "PASSWORD"}, {"name": "key", "file": "key.pem"}]


def test_tasks_get_values_that_are_nowhere_else(home: Cluster, tmp_path: Path, gate: Gate) -> None:
    """D-44. Markers are searched in all files, command lines, answers and events, while the task runs and after."""
    password, key = "marker-PaSsWoRd-1", "marker-KeY-PeM-2"
    (tmp_path / "key.pem").write_text(key)
    home.up("--cpu", "2")
    home.shunter("secret", "set", "password", stdin=f"{password}\n")
    home.shunter("secret", "set", "key", "--from-file", str(tmp_path / "key.pem"))
    assert [each["name"] for each in home.items("secret", "list")] == ["key", "password"]
    command = ["sh", "-c", f"{PROBE}\ncat {gate.path}", "sh", digest(password), digest(key)]
    home.shunter("submit", "-", stdin=manifest("user", command, BOTH))
    home.until("user", "running")
    eventually(lambda: "verified" in home.shunter("logs", "user").out or None, "the task has checked its secrets")
    markers = [password.encode(), key.encode()]
    lines = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _is_readable(path))
    assert not any(marker in lines for marker in markers)
    answers = [
        home.shunter(*words.split()).out
        for words in ("job user -o json", "why user", "events", "secret list -o json", "tasks user", "nodes -o json")
    ]
    answers.append(home.shunter("plan", "-", stdin=manifest("other", command, BOTH)).out)
    gate.open()
    home.until("user", "succeeded")
    home.shunter("backup", str(tmp_path / "backup.db"))
    home.shunter("secret", "rotate-key")
    home.down()
    found = "".join(answers).encode()
    files = [path for path in (*home.home.rglob("*"), tmp_path / "backup.db") if path.is_file()]
    for marker in markers:
        assert marker not in found
        assert [path for path in files if marker in path.read_bytes()] == []
    assert (home.home / "secrets.key").read_bytes().splitlines()[0] not in (tmp_path / "backup.db").read_bytes()


def _is_readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


def test_a_missing_secret_is_named_at_submit_and_a_deleted_one_makes_tasks_wait(cluster: Cluster) -> None:
    command, secrets = ["sh", "-c", 'test "$TOKEN" = second'], [{"name": "token", "env": "TOKEN"}]
    spec = manifest("reader", command, secrets, hold=True)
    refused = cluster.shunter("submit", "-", stdin=spec, code=2)
    assert "spec.secrets: secret 'token' does not exist in namespace 'default'" in refused.err
    cluster.shunter("secret", "set", "token", stdin="first")
    cluster.shunter("submit", "-", stdin=spec)
    cluster.shunter("secret", "delete", "token")
    cluster.shunter("release", "reader")
    waits = eventually(
        lambda: text if "token" in (text := cluster.shunter("why", "reader").out) else None, "why names the secret"
    )
    assert "secret 'token' does not exist in namespace 'default'; set it with `shunter secret set token" in waits
    cluster.shunter("secret", "set", "token", stdin="second")
    cluster.until("reader", "succeeded")


def test_a_rotated_key_still_opens_every_secret(cluster: Cluster) -> None:
    cluster.shunter("secret", "set", "old", stdin="value-1")
    [before] = [each["key"] for each in cluster.items("secret", "list") if each["name"] == "old"]
    cluster.shunter("secret", "rotate-key")
    [after] = [each["key"] for each in cluster.items("secret", "list") if each["name"] == "old"]
    assert before != after
    cluster.shunter(
        "submit", "-", stdin=manifest("rotated", ["sh", "-c", 'test "$OLD" = value-1'], [{"name": "old", "env": "OLD"}])
    )
    cluster.until("rotated", "succeeded")
