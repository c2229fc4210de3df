"""Judges what `app.diagnosis.facts` found. Each check is one pure function; each finding says how to fix it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shunter.app.diagnosis.facts import ClusterFacts, DiskFacts, HomeFacts, MachineFacts, StoreFacts

OK, WARNING, ERROR = "ok", "warning", "error"
PYTHON_MIN = (3, 11)
FREE_ERROR, FREE_WARNING = 0.03, 0.10  # of a disk
OPEN_FILES_MIN = 4096
WAL_BYTES_MAX = 256 * 2**20
SKEW_MAX_S = 2.0  # the answer's time has whole seconds


class Finding(msgspec.Struct, frozen=True):
    check: str
    level: str
    text: str
    fix: str = ""


def check_installation(machine: MachineFacts) -> Iterator[Finding]:
    python = ".".join(map(str, machine.python))
    if machine.python < PYTHON_MIN:
        yield Finding("installation", ERROR, f"Python {python} is too old", "install Python 3.11 or newer")
    if machine.missing:
        names = ", ".join(machine.missing)
        yield Finding("installation", ERROR, f"packages are missing: {names}", "install Shunter again")
    if machine.python >= PYTHON_MIN and not machine.missing:
        yield Finding("installation", OK, f"Python {python}, all packages are there")


def check_open_files(machine: MachineFacts) -> Iterator[Finding]:
    _, hard = machine.open_files
    if 0 <= hard < OPEN_FILES_MIN:
        fix = f"raise it: LimitNOFILE={OPEN_FILES_MIN * 16} in the systemd unit, or `ulimit -Hn`"
        yield Finding("limits", WARNING, f"a process may open only {hard} files", fix)
    else:
        yield Finding("limits", OK, f"a process may open {hard} files")


def check_home(home: HomeFacts, user_id: int) -> Iterator[Finding]:
    if home.mode is None:
        yield Finding("home", ERROR, f"{home.path} cannot be read", "name another directory in SHUNTER_HOME")
        return
    findings = []
    if home.owner != user_id:
        fix = f"run as that user, or `chown -R {user_id} {home.path}`"
        findings.append(Finding("home", WARNING, f"{home.path} belongs to the user {home.owner}", fix))
    if home.mode & 0o077:
        fix = f"chmod 700 {home.path}"
        findings.append(Finding("home", ERROR, f"others may enter {home.path} (mode {home.mode:o})", fix))
    for name, mode in home.secret_modes.items():
        if mode & 0o077:
            text, fix = f"others may read the secret in {name} (mode {mode:o})", f"chmod 600 {home.path}/{name}"
            findings.append(Finding("home", ERROR, text, fix))
    yield from findings or [Finding("home", OK, f"{home.path} is private")]


def check_disk(disk: DiskFacts) -> Iterator[Finding]:
    if not disk.is_writable:
        yield Finding("disk", ERROR, f"{disk.path} cannot be written", "make it writable")
    free = disk.free_bytes / max(disk.total_bytes, 1)
    inodes = disk.inodes_free / disk.inodes if disk.inodes else 1.0
    level = ERROR if min(free, inodes) < FREE_ERROR else WARNING if min(free, inodes) < FREE_WARNING else OK
    text = f"{disk.free_bytes / 2**30:.1f} GiB ({free:.0%}) and {inodes:.0%} of the inodes are free"
    fix = "free space, or shorten history and logs: [history] and [worker] in config.toml"
    yield Finding("disk", level, text, "" if level is OK else fix)


def check_store(store: StoreFacts) -> Iterator[Finding]:
    if not store.exists:
        yield Finding("store", OK, "there is no embedded store here")
        return
    for problem in store.problems:
        fix = "see docs/operations/backup.md: restore a backup, or start with --accept-loss"
        yield Finding("store", ERROR, problem, fix)
    if store.wal_bytes > WAL_BYTES_MAX:
        text = f"its log has {store.wal_bytes / 2**20:.0f} MiB and is not moved into the database"
        yield Finding("store", WARNING, text, "end programs that have store.db open, then restart the manager")
    if not store.problems and store.wal_bytes <= WAL_BYTES_MAX:
        yield Finding("store", OK, f"{store.size_bytes / 2**20:.1f} MiB")


def check_clock(machine: MachineFacts, cluster: ClusterFacts) -> Iterator[Finding]:
    if cluster.skew_s is not None and abs(cluster.skew_s) > SKEW_MAX_S:
        text = f"the clock of the manager differs by {cluster.skew_s:.0f} s"
        yield Finding("clock", ERROR, text, "run chrony or systemd-timesyncd on every machine")
    elif machine.is_clock_synchronized is False:
        yield Finding("clock", WARNING, "no NTP daemon sets the clock", "run chrony or systemd-timesyncd")
    else:
        text = "it cannot be asked whether the clock is set" if machine.is_clock_synchronized is None else "it is set"
        yield Finding("clock", OK, text)


def check_cgroups(machine: MachineFacts) -> Iterator[Finding]:
    if machine.cgroups == "none":
        text = "tasks are limited by rlimits only: no control group can be written"
        yield Finding("cgroups", WARNING, text, "run the worker as root, or delegate: Delegate=yes in its unit")
    else:
        yield Finding("cgroups", OK, f"{machine.cgroups} limits CPU and memory of tasks")


def check_isolation(machine: MachineFacts) -> Iterator[Finding]:
    texts = {
        "user": "tasks run as another user",
        "namespace": "tasks cannot see the secrets of the cluster",
        "root": "tasks run as root, and can do everything on this machine",
        "none": "tasks can read the secrets of the cluster",
    }
    fixes = {
        "root": "`shunter up` runs tasks as you: do not start it as root; a worker has --task-user",
        "none": "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or use --task-user",
    }
    name = machine.isolation
    yield Finding("isolation", WARNING if name in fixes else OK, texts.get(name, name), fixes.get(name, ""))


def check_runtimes(machine: MachineFacts) -> Iterator[Finding]:
    if machine.docker_error:
        fix = "start the daemon, and add the worker's user to its group"
        yield Finding("runtimes", WARNING, machine.docker_error, fix)
    elif machine.docker:
        yield Finding("runtimes", OK, f"containers run by {machine.docker}")
    else:
        yield Finding("runtimes", OK, "processes; no container daemon is here")


def check_connectivity(cluster: ClusterFacts) -> Iterator[Finding]:
    if not cluster.is_locked:
        yield Finding("connectivity", OK, "no cluster runs here")
    elif not cluster.url:
        yield Finding("connectivity", OK, "a worker, or a cluster that is just starting, runs here")
    elif cluster.error:
        fix = "look at shunter.log in SHUNTER_HOME; `shunter down` and `shunter up` restart it"
        yield Finding("connectivity", ERROR, f"the manager at {cluster.url} is not well: {cluster.error}", fix)
    else:
        yield Finding("connectivity", OK, f"the manager at {cluster.url} answers")


def check_leftovers(home: HomeFacts, cluster: ClusterFacts) -> Iterator[Finding]:
    findings = []
    if cluster.url and not cluster.is_locked:
        text = f"cluster.json describes a cluster that does not run (process {cluster.pid})"
        findings.append(Finding("leftovers", WARNING, text, "start it again; its tasks are found again"))
    if home.keepers and not cluster.is_locked:
        text = f"{len(home.keepers)} keepers run tasks without a worker: {', '.join(map(str, home.keepers[:5]))}"
        findings.append(Finding("leftovers", WARNING, text, "start the worker again; or end them with `kill`"))
    if home.drafts:
        text = f"an interrupted write left {', '.join(home.drafts)}"
        findings.append(Finding("leftovers", WARNING, text, f"remove them from {home.path}"))
    yield from findings or [Finding("leftovers", OK, "none")]
