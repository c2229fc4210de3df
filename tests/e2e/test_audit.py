"""The audit log of a real cluster: it survives a kill, backups have it, and edits of the store are found."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shunter.model.audit.records import GENESIS, encode_record, join_line, next_hash, split_line
from tests.e2e.cluster import Cluster


@pytest.fixture
def cluster(home: Cluster) -> Cluster:
    """With a log of its own."""
    home.up("--cpu", "2")
    return home


def head(cluster: Cluster) -> str:
    return str(cluster.json("audit", "verify")["head"])


def operations(cluster: Cluster) -> list[str]:
    """The oldest first."""
    return [each["operation"] for each in cluster.items("audit", "list", "--limit", "100")][::-1]


def test_the_log_survives_a_kill_and_names_who_and_from_where(cluster: Cluster) -> None:
    """D-45."""
    key = cluster.shunter("key", "create", "--role", "submitter", "--note", "build").out.strip()
    user = Cluster(cluster.home)
    user.environment |= {"SHUNTER_TOKEN": key}
    user.shunter("run", "--name", "hers", "--", "true")
    cluster.shunter("queue", "set", "night", "--running-max", "1")
    cluster.kill_manager()
    cluster.up("--cpu", "2")
    cluster.shunter("queue", "pause", "night")
    assert operations(cluster) == ["createKey", "submitJob", "patchQueue", "patchQueue"]
    [record] = cluster.items("audit", "list", "--operation", "submitJob")
    assert (record["user"], record["key"], record["source"]) == ("admin", key.split("_")[1], "127.0.0.1")
    assert record["names"] == ["job default/hers@1"]
    assert "4 records are intact" in cluster.shunter("audit", "verify").out
    assert "this needs the role admin" in user.shunter("audit", "list", code=2).err


def test_an_edit_of_the_store_is_found_also_if_all_hashes_were_computed_anew(cluster: Cluster) -> None:
    for name in ("a", "b", "c", "d"):
        cluster.shunter("queue", "set", name, "--running-max", "1")
    kept = head(cluster)
    cluster.shunter("queue", "set", "e", "--running-max", "1")
    cluster.down()
    forge(cluster, lambda body: body.replace(b"queue b", b"queue x"))
    cluster.up("--cpu", "2")
    found = cluster.shunter("audit", "verify", code=1)
    assert "record 2 was changed, or the one before it" in found.out
    cluster.down()
    forge(cluster, lambda body: body, is_chained=True)
    cluster.up("--cpu", "2")
    # All hashes fit together. Only the one in the state of the cluster, and the one that was kept, tell.
    assert "is not the one that was committed" in cluster.shunter("audit", "verify", code=1).out
    assert f"no record has the hash {kept}" in cluster.shunter("audit", "verify", "--head", kept, code=1).out


def test_an_exported_file_is_checked_without_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        cluster.shunter("queue", "set", name, "--running-max", "1")
    file = tmp_path / "audit.jsonl"
    cluster.shunter("audit", "export", str(file))
    kept = head(cluster)
    cluster.down()
    assert "3 records are intact" in cluster.shunter("audit", "verify", "--file", str(file), "--head", kept).out
    file.write_bytes(file.read_bytes().replace(b"queue b", b"queue x"))
    assert "record 2 was changed" in cluster.shunter("audit", "verify", "--file", str(file), code=1).out


def test_a_restored_cluster_continues_the_log(
    cluster: Cluster, make_home: Callable[[], Cluster], tmp_path: Path
) -> None:
    cluster.shunter("queue", "set", "a", "--running-max", "1")
    kept = head(cluster)
    cluster.shunter("backup", str(tmp_path / "copy.db"))
    other = make_home()
    other.shunter("restore", str(tmp_path / "copy.db"))
    other.up("--cpu", "2")
    other.shunter("queue", "set", "b", "--running-max", "1")
    assert "2 records are intact" in other.shunter("audit", "verify", "--head", kept).out


def forge(cluster: Cluster, edit: Callable[[bytes], bytes], *, is_chained: bool = False) -> None:
    """As somebody who can write to the store: the rule that records never change is one statement away."""
    with closing(sqlite3.connect(cluster.home / "store.db")) as connection:
        connection.execute("DROP TRIGGER IF EXISTS audit_records_never_change")
        before = GENESIS
        for last, body in connection.execute("SELECT last, body FROM audit ORDER BY last").fetchall():
            forged = edit(bytes(body))
            if is_chained:
                record = split_line(forged)[0]
                text = encode_record(record)
                before = next_hash(before, text)
                forged = join_line(text, before)
            connection.execute("UPDATE audit SET body = ? WHERE last = ?", (forged, last))
        connection.commit()
