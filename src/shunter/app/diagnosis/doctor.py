"""Examines this machine and its cluster. Called by `shunter doctor` and `shunter debug bundle`. Changes nothing."""

from __future__ import annotations

from shunter.app.diagnosis import facts
from shunter.app.diagnosis import verdicts as v
from shunter.app.home import Home


def examine(home: Home) -> list[v.Finding]:
    machine, found, cluster = facts.read_machine(home), facts.read_home(home), facts.read_cluster(home)
    store = facts.read_store(home, is_running=cluster.is_locked)
    return [
        *v.check_installation(machine),
        *v.check_open_files(machine),
        *v.check_home(found, machine.user_id),
        *v.check_store(store),
        *v.check_disk(facts.read_disk(home.folder)),
        *v.check_clock(machine, cluster),
        *v.check_cgroups(machine),
        *v.check_isolation(machine),
        *v.check_runtimes(machine),
        *v.check_connectivity(cluster),
        *v.check_leftovers(found, cluster),
    ]
