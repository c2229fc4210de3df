"""The web UI says beforehand who may do what. Its table must be the manager's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shunter.model.identity.roles import PERMISSIONS, Role
from shunter.model.identity.scopes import SCOPED

RIGHTS = Path(__file__).parents[4] / "web" / "src" / "model" / "rights.ts"
OPERATIONS = {
    "submit": ("submitJob", "planJobs", "stopJob", "stopTask", "holdJob", "releaseJob", "retryJob", "scaleJob"),
    "applySuggestion": ("applySuggestion",),
    "schedule": ("createScheduling", "replaceScheduling", "deleteScheduling"),
    "operate": ("cordonNode", "drainNode", "patchQueue", "usePolicy", "createTestbed", "replayDecision"),
    "administer": ("listUsers", "listKeys", "revokeKey", "listAudit"),
}


def table_of_the_page() -> dict[str, list[str]]:
    [table] = re.findall(r"export const ROLES = \{(.*?)\} as const", RIGHTS.read_text(), re.DOTALL)
    return {name: json.loads(roles) for name, roles in re.findall(r"(\w+): (\[[^\]]*\])", table)}


def test_every_right_of_the_page_is_checked() -> None:
    assert table_of_the_page().keys() == OPERATIONS.keys()


@pytest.mark.parametrize(
    ("right", "operation"), [(right, each) for right, operations in OPERATIONS.items() for each in operations]
)
def test_a_right_of_the_page_has_the_roles_of_the_manager(right: str, operation: str) -> None:
    assert {Role(name) for name in table_of_the_page()[right]} == set(PERMISSIONS[operation])


def test_a_right_that_the_page_denies_to_tenants_is_not_open_to_them() -> None:
    [words] = re.findall(r"CLUSTER_WIDE: readonly Right\[\] = (\[[^\]]*\])", RIGHTS.read_text())
    denied = [operation for right in json.loads(words) for operation in OPERATIONS[right]]
    assert denied
    assert [operation for operation in denied if operation in SCOPED] == []
