"""Each check tells good from bad, and every finding that is not ok says how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from shunter.app.diagnosis import verdicts as v
from shunter.app.diagnosis.facts import ClusterFacts, DiskFacts, HomeFacts, MachineFacts, StoreFacts

MACHINE = MachineFacts((3, 11), (), (1024, 65536), True, "cgroup-v2", "namespace", 1000, "/run/docker.sock")
HOME = HomeFacts("/home/x/.shunter", 0o700, 1000, {"token": 0o600})
DISK = DiskFacts("/home/x/.shunter", 100 * 2**30, 50 * 2**30, 1000, 900, True)
RUNNING = ClusterFacts(True, "http://127.0.0.1:7070", 42, True, '{"status":"ok"}', "", 0.4)
STOPPED = ClusterFacts(False)
STORE = StoreFacts(True, 2**20, 0)
GOOD = (
    v.check_installation(MACHINE), v.check_open_files(MACHINE), v.check_home(HOME, 1000), v.check_disk(DISK),
    v.check_store(STORE), v.check_store(StoreFacts(False)), v.check_clock(MACHINE, RUNNING), v.check_cgroups(MACHINE),
    v.check_isolation(MACHINE), v.check_runtimes(MACHINE), v.check_connectivity(RUNNING),
    v.check_connectivity(STOPPED), v.check_leftovers(HOME, RUNNING), v.check_leftovers(HOME, STOPPED),
)  # fmt: skip
BAD = (
    (v.check_installation(replace(MACHINE, python=(3, 9))), v.ERROR, "3.9"),
    (v.check_installation(replace(MACHINE, missing=("numpy",))), v.ERROR, "numpy"),
    (v.check_open_files(replace(MACHINE, open_files=(256, 256))), v.WARNING, "256"),
    (v.check_home(replace(HOME, mode=None), 1000), v.ERROR, "cannot be read"),
    (v.check_home(replace(HOME, mode=0o755), 1000), v.ERROR, "755"),
    (v.check_home(replace(HOME, owner=0), 1000), v.WARNING, "user 0"),
    (v.check_home(replace(HOME, secret_modes={"token": 0o644}), 1000), v.ERROR, "token"),
    (v.check_disk(replace(DISK, free_bytes=2**30)), v.ERROR, "1%"),
    (v.check_disk(replace(DISK, free_bytes=8 * 2**30)), v.WARNING, "8%"),
    (v.check_disk(replace(DISK, inodes_free=10)), v.ERROR, "1% of the inodes"),
    (v.check_disk(replace(DISK, is_writable=False)), v.ERROR, "cannot be written"),
    (v.check_store(replace(STORE, problems=("page 7 is damaged",))), v.ERROR, "page 7"),
    (v.check_store(replace(STORE, wal_bytes=2**30)), v.WARNING, "1024 MiB"),
    (v.check_clock(MACHINE, replace(RUNNING, skew_s=-30.0)), v.ERROR, "-30 s"),
    (v.check_clock(replace(MACHINE, is_clock_synchronized=False), STOPPED), v.WARNING, "NTP"),
    (v.check_cgroups(replace(MACHINE, cgroups="none")), v.WARNING, "rlimits"),
    (v.check_isolation(replace(MACHINE, isolation="none")), v.WARNING, "secrets"),
    (v.check_isolation(replace(MACHINE, isolation="root")), v.WARNING, "root"),
    (v.check_runtimes(replace(MACHINE, docker_error="refused")), v.WARNING, "refused"),
    (v.check_connectivity(replace(RUNNING, error="timed out")), v.ERROR, "timed out"),
    (v.check_leftovers(replace(HOME, keepers=(7, 8)), STOPPED), v.WARNING, "2 keepers"),
    (v.check_leftovers(replace(HOME, drafts=(".token.draft",)), STOPPED), v.WARNING, ".token.draft"),
    (v.check_leftovers(HOME, ClusterFacts(False, "http://x", 42)), v.WARNING, "process 42"),
)


@pytest.mark.parametrize("findings", GOOD, ids=range(len(GOOD)))
def test_nothing_is_wrong_with_a_good_machine(findings: Iterable[v.Finding]) -> None:
    (finding,) = findings
    assert (finding.level, finding.fix) == (v.OK, "")


@pytest.mark.parametrize(("findings", "level", "word"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_named_with_its_fix(findings: Iterable[v.Finding], level: str, word: str) -> None:
    found = [finding for finding in findings if finding.level != v.OK]
    assert [finding.level for finding in found] == [level]
    assert word in found[0].text
    assert found[0].fix
