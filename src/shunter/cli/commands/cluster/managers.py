"""The command `managers`, and its subcommand `step-down`."""

from __future__ import annotations

import time

import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import print_warning
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_items, print_table
from shunter.model.errors import Unavailable
from shunter.model.rest.manager_views import API, LEADER, SCHEDULER, WATCHER, ManagerView

HAND_OVER_MAX_S = 10.0
POLL_INTERVAL_S = 0.05
MISSING_ROLES = {
    SCHEDULER: "nothing is accepted or placed; start one: shunter manager --roles scheduler",
    WATCHER: "workers cannot connect; start one: shunter manager --roles watcher",
    API: "clients are not served; start one: shunter manager --roles api",
}

managers = plain_typer(invoke_without_command=True)


@managers.callback()
def show(context: typer.Context, output: Output = Format.TABLE) -> None:
    """List the managers of the cluster, and which of them leads.

    LAG is how old the state of a follower may be. WORKERS counts the workers that are connected to a manager; the
    leader also counts those that watchers relay to it.

    \b
    shunter managers
    shunter managers step-down        let another manager lead
    """
    if context.invoked_subcommand is not None:
        return
    with open_client() as client:
        _print(client.managers(), output)


@managers.command("step-down")
def step_down(output: Output = Format.TABLE) -> None:
    """Hand over the lead to another manager, and wait until it leads.

    Tasks continue to run meanwhile.

    \b
    shunter managers step-down
    """
    with open_client() as client:
        before = _leader(client.managers())
        client.step_down()
        give_up_s = time.monotonic() + HAND_OVER_MAX_S
        while (leader := _leader(client.managers())) in ("", before):
            if time.monotonic() > give_up_s:
                raise Unavailable(
                    f"no other manager has taken the lead within {HAND_OVER_MAX_S:.0f} s; see `shunter managers`"
                )
            time.sleep(POLL_INTERVAL_S)
        if output is Format.TABLE:
            print(f"{leader} is the leader now")
        else:
            _print(client.managers(), output)


def _print(found: list[ManagerView], output: Format) -> None:
    if output is not Format.TABLE:
        print_items(found, output)
        return
    columns = [
        Column("NAME"),
        Column("ROLE"),
        Column("ROLES", drop=2),
        Column("WORKERS", True, drop=2),
        Column("URL"),
        Column("VERSION", drop=1),
        Column("LAG", True),
    ]
    print_table(columns, map(_row, found), state_column=1)
    _warn_of_missing_roles(found)


def _warn_of_missing_roles(found: list[ManagerView]) -> None:
    for role, consequence in MISSING_ROLES.items():
        if not any(role in manager.roles for manager in found):
            print_warning(f"no manager with the {role} role is running: {consequence}")


def _leader(found: list[ManagerView]) -> str:
    return next((manager.name for manager in found if manager.role == LEADER and manager.lag_s is not None), "")


def _row(manager: ManagerView) -> list[str]:
    lag = "no answer" if manager.lag_s is None else f"{manager.lag_s * 1000:.0f} ms"
    workers = "" if manager.workers is None else str(manager.workers)
    return [manager.name, manager.role, ",".join(manager.roles), workers, manager.url, manager.version, lag]
