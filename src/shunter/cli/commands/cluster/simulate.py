"""The command that tries policies in simulated worlds: simulate."""

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
        typer.Option(metavar="NAME", help="Who decides: a policy, or your MODULE:CLASS. Several are compared."),
    ],
    seeds: Annotated[str, typer.Option(metavar="A-B", help="Which worlds; from 1000000 on with testbeds.")] = "0-9",
    output: Output = Format.TABLE,
) -> None:
    """Try policies in simulated worlds: does everything end well, and how long do tasks wait?

    A seed decides all of a world: nodes, jobs, users, and faults such as crashes, lost machines and broken connections.
    Time is virtual, nothing is started, and no cluster is needed. After every step it is checked that nothing is lost,
    started twice or promised twice; in the end everything must have ended. Ends with code 1 if it has not.

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
        raise typer.BadParameter(f"{seeds!r} is no range of seeds: write 7, or 0-20", param_hint="--seeds")
    return found


def _print(found: list[SimulationResult]) -> None:
    """The means are over the worlds that ended well with every policy, so that they can be compared."""
    failed = {each.seed for each in found if each.error}
    columns = [Column("POLICY"), Column("ENDED WELL", right=True), Column("TASKS", right=True)]
    columns += [Column("MEAN WAIT", right=True), Column("MEAN LENGTH", right=True)]
    print_table(columns, (_row(name, found, failed) for name in dict.fromkeys(each.policy for each in found)))


def _row(name: str, found: list[SimulationResult], failed: set[int]) -> list[str]:
    results = [each for each in found if each.policy == name]
    ended = sum(not each.error for each in results)
    compared = [each for each in results if each.seed not in failed]
    tasks = sum(each.tasks for each in compared)
    wait_s = sum(each.tasks * each.wait_s for each in compared) / tasks if tasks else 0.0
    length_s = sum(each.virtual_s for each in compared) / len(compared) if compared else 0.0
    return [name, f"{ended} of {len(results)}", f"{tasks:,}", f"{wait_s:.2f} s", f"{length_s:.1f} s"]
