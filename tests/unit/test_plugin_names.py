"""Everything that a plugin imports is in `shunter.plugins`, is the thing itself, and keeps its names."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from shunter import plugins
from shunter.planning.filter.node_ledger import Ledger

NAMES = {
    "shunter.model.errors": "Unauthorized",
    "shunter.model.identity.oidc": "ExternalUser",
    "shunter.model.identity.roles": "Role",
    "shunter.model.job.spec": "HealthCheck TaskSpec",
    "shunter.model.objects.object_meta": "ObjectName",
    "shunter.model.objects.schedulings": "SchedulingSpec SlotJob",
    "shunter.model.protocol.worker_messages": "Order",
    "shunter.planning.filter.filters": "Filter Refusal",
    "shunter.planning.filter.node_ledger": "Ledger Rows",
    "shunter.planning.policy_toolkit": "Room",
    "shunter.planning.score.scores": "More Score Shape spread",
    "shunter.planning.view": (
        "BoolArray ClusterView Decision FloatArray IntArray NodeKind Nodes Placement Policy Preemption Queued Rules "
        "SchedulingDraft TaskClass"
    ),
    "shunter.ports.security.authenticator": "Authenticator",
    "shunter.worker.health.port": "Check Target Unhealthy Unwell",
    "shunter.worker.runtimes.port": (
        "Attempt EXIT_NOT_FOUND EXIT_NOT_STARTED Launch NotStarted Outcome Running Runtime RuntimeFactory RuntimeGone "
        "Usage"
    ),
    "shunter.worker.runtimes.task_log": "ERR OUT TaskLog",
    "shunter.worker.settings": "WorkerSettings",
}
OWN = ["AUTHENTICATORS", "FILTERS", "HEALTH_CHECKS", "POLICIES", "Plugin", "RUNTIMES", "SCORES", "find_plugins"]

# What these had in 0.1.0. It may grow; nothing of it may go away or get another name.
MEMBERS = {
    "Attempt": "group index job number",
    "ClusterView": (
        "accepts batch_jobs called classes hold_after_s leaving licences longest_s lowest_priority matches nodes "
        "preempt_gap presence queued queues repels reserve_after_s running schedulings tally testbeds usage version"
    ),
    "Decision": (
        "again_in_ms atomic based_on is_partial kept left placements preemptions reasons schedulings withdrawals"
    ),
    "Filter": "accepts name reasons",
    "HealthCheck": "command failures interval_s kind options path port start_grace_s timeout_s",
    "Launch": "attempt devices env log order payload ports spec",
    "Ledger": (
        "by_size capacity changed_since ineligible_because may_fit own place release reserved_with room scratch sync "
        "tighten totals used_with vector"
    ),
    "NodeKind": "attributes datacenter labels",
    "Nodes": (
        "busy capacity changed count eligible ineligible_because kind kinds names owner reserved resources tasks tick"
    ),
    "Outcome": "detail ended_ms exit_code how",
    "Placement": "class_id counts nodes",
    "Preemption": "count node victim winner",
    "Queued": "avoid count estimate_s since since_ms task_class",
    "Room": "fill of place",
    "Rules": "affinity distinct exclusive gang group job spread",
    "Running": "address ended execute remove signal started_ms usage",
    "Runtime": "close find launch open",
    "Score": "cost keep name settle shape",
    "Shape": "ANY FALLING RISING",
    "Target": "address execute",
    "TaskClass": "constraints datacenters deadline_ms id namespace needs priority queue rules runtime user",
    "TaskLog": "close end segment trouble write written",
    "Usage": "cpu_s memory_bytes processes read_bytes written_bytes",
    "WorkerSettings": "address capacity datacenter devices docker_host home labels name ports_first ports_last",
}
LEDGER_COLUMNS = (
    "busy clock column count cursor eligible free has_owners kept kind kinds number owner reserved size stamp starts "
    "tasks"
)
KINDS_METHODS = "hold_on lie_in meet run suit"


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in names.split()]
)
def test_a_name_of_the_public_module_is_the_very_thing(module: str, name: str) -> None:
    assert getattr(plugins, name) is getattr(import_module(module), name)


def test_the_public_module_lists_its_names_and_refuses_others() -> None:
    listed = sorted([*OWN, *(name for names in NAMES.values() for name in names.split())])
    assert sorted(plugins.__all__) == listed
    with pytest.raises(AttributeError, match="has no Legder"):
        getattr(plugins, "Legder")  # noqa: B009


def test_the_public_module_loads_nothing_until_a_name_is_used() -> None:
    program = "import json, sys, shunter.plugins; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    assert "numpy" not in loaded
    ours = {name for name in loaded if name.startswith("shunter")}
    assert ours == {"shunter", "shunter.plugin_aliases", "shunter.plugins"}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_type_that_plugins_use_has_all_that_it_had(name: str) -> None:
    assert missing(getattr(plugins, name), MEMBERS[name]) == []


def test_the_ledger_has_all_columns_and_questions_that_it_had() -> None:
    ledger = Ledger()
    assert missing(ledger, LEDGER_COLUMNS) == []
    assert missing(ledger.kinds, KINDS_METHODS) == []


def missing(thing: Any, names: str) -> list[str]:
    return [name for name in names.split() if not hasattr(thing, name)]
