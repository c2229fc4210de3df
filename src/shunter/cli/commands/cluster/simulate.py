"""The command `simulate`: runs policies in simulated clusters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.options import Format, Output
from shunter.cli.render.tables import Column, print_items, print_table

if TYPE_CHECKING:
    from shunter.app.simulate import SimulationResult

SEEDS_MAX = 100_000


def simulate(
    policy: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="Policy to simulate: a name or MODULE:CLASS. Repeat it to compare."),
    ],
    seeds: Annotated[
        str, typer.Option(metavar="A-B", help="Range of seeds; seeds from 1000000 on have testbeds.")
    ] = "0-9",
    output: Output = Format.TABLE,
) -> None:
    """Run policies in simulated clusters, check their decisions, and compare how long tasks wait.

    A seed determines a whole simulation: nodes, jobs, users, and faults such as crashes, lost machines and broken
    connections. Time is virtual, no processes are started, and no cluster is needed. After every step, checkers verify
    that no task is lost, started twice or overcommitted; at the end, all jobs must have ended. The exit code is 1 if a
    check failed.

    \b
    shunter simulate --policy mine:BestFit
    shunter simulate --policy mine:BestFit --policy bin-pack --seeds 0-50
    shunter simulate --policy mine:Queues --seeds 1000000-1000005
    """
    from shunter.app.simulate import simulate_policies

    found = []
    for each in simulate_policies(dict.fromkeys(policy), _range(seeds)):
        found.append(each)
        if output is Format.TABLE and each.error:
            print(f"seed {each.seed}, {each.policy}: {each.error}", flush=True)
    if output is not Format.TABLE:
        print_items(map(asdict, found), output)
    else:
        _print(found)
    if any(each.error for each in found):
        raise typer.Exit(JOB_FAILED)


def _range(seeds: str) -> range:
    first, _, last = seeds.partition("-")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        found = range(0)
    if not 0 < len(found) <= SEEDS_MAX:
        raise typer.BadParameter(f"{seeds!r} is not a range of seeds; write 7 or 0-20", param_hint="--seeds")
    return found


def _print(found: list[SimulationResult]) -> None:
    """Means cover only seeds that passed with every policy, so that they are comparable."""
    failed = {each.seed for each in found if each.error}
    columns = [Column("POLICY"), Column("PASSED", right=True), Column("TASKS", right=True, drop=1)]
    columns += [Column("MEAN WAIT", right=True), Column("MEAN DURATION", right=True)]
    print_table(columns, (_row(name, found, failed) for name in dict.fromkeys(each.policy for each in found)))


def _row(name: str, found: list[SimulationResult], failed: set[int]) -> list[str]:
    results = [each for each in found if each.policy == name]
    ended = sum(not each.error for each in results)
    compared = [each for each in results if each.seed not in failed]
    tasks = sum(each.tasks for each in compared)
    wait_s = sum(each.tasks * each.wait_s for each in compared) / tasks if tasks else 0.0
    length_s = sum(each.virtual_s for each in compared) / len(compared) if compared else 0.0
    return [name, f"{ended} of {len(results)}", f"{tasks:,}", f"{wait_s:.2f} s", f"{length_s:.1f} s"]
