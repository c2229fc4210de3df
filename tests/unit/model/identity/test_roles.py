"""The authorization table: every operation of every transport is in it, and each role may do what its name says."""

from __future__ import annotations

import pytest

from shunter.api.routes.table import ROUTES
from shunter.model.errors import Forbidden
from shunter.model.identity.roles import ABOUT, PERMISSIONS, PUBLIC, Role, check_permission
from shunter.model.identity.scopes import CLUSTER_WIDE, SCOPED, check_scope

OTHER_OPERATIONS = {"subscribe", "connectScheduler"}  # the STOMP WebSocket, and the gRPC service for schedulers


def test_the_table_has_every_route_and_nothing_else() -> None:
    names = {route.name for route in ROUTES}
    assert names | OTHER_OPERATIONS == PERMISSIONS.keys() | PUBLIC
    assert {route.name for route in ROUTES if route.public} == PUBLIC


def test_every_operation_is_open_to_tenants_or_about_the_cluster() -> None:
    """A route that is in neither set is refused to tenants, and fails here."""
    assert PERMISSIONS.keys() == SCOPED | CLUSTER_WIDE
    assert not SCOPED & CLUSTER_WIDE
    with pytest.raises(Forbidden, match="cluster-wide credential"):
        check_scope(False, "nothing")


def test_an_administrator_may_do_everything_and_nobody_needs_two_roles() -> None:
    assert all(Role.ADMIN in allowed for allowed in PERMISSIONS.values())
    assert ABOUT.keys() == set(Role)


def test_a_viewer_changes_nothing() -> None:
    own_sessions = {"createSession", "createSessionCode", "deleteSession"}
    with_join_token = {"enrolWorker"}
    changing = {route.name for route in ROUTES if route.method != "GET"} - own_sessions - with_join_token
    assert not [name for name in changing if Role.VIEWER in PERMISSIONS[name]]


@pytest.mark.parametrize(
    ("role", "operation", "is_allowed"),
    [
        (Role.SUBMITTER, "submitJob", True),
        (Role.SUBMITTER, "drainNode", False),
        (Role.SUBMITTER, "createTestbed", False),
        (Role.SCHEDULER, "createScheduling", True),
        (Role.SCHEDULER, "submitJob", False),
        (Role.SCHEDULER, "connectScheduler", True),
        (Role.OPERATOR, "drainNode", True),
        (Role.OPERATOR, "createKey", False),
        (Role.VIEWER, "listJobs", True),
        (Role.VIEWER, "planJobs", False),
    ],
)
def test_roles_may_do_what_their_names_say(role: Role, operation: str, is_allowed: bool) -> None:
    assert (role in PERMISSIONS[operation]) is is_allowed


def test_a_refusal_names_the_roles_that_would_do() -> None:
    with pytest.raises(Forbidden, match="needs the role operator or admin; you have viewer and submitter"):
        check_permission({Role.SUBMITTER, Role.VIEWER}, "drainNode")


def test_an_unknown_operation_is_refused_to_everybody() -> None:
    with pytest.raises(Forbidden):
        check_permission({Role.ADMIN}, "nothing")
