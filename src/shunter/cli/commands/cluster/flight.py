"""The commands about recorded decisions: flight, flight export, replay."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, print_warning
from shunter.cli.options import Format, Output
from shunter.cli.private_files import open_private
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, plural, print_document, print_items, print_table
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import FlightSegment, Replayed
from shunter.model.protocol.scheduler_messages import DecisionRow

NODES_SHOWN = 6
STDOUT = "-"

flight = plain_typer(invoke_without_command=True)


@flight.callback()
def show(context: typer.Context, output: Output = Format.TABLE) -> None:
    """List or export the recordings of the flight recorder: every scheduling decision with its input.

    SHUNTER_HOME/flight has the newest 64 MiB. Switch the recorder off with: shunter cluster set flight=off

    \b
    shunter flight
    shunter flight export day.flight
    shunter replay day.flight --policy bin-pack
    """
    if context.invoked_subcommand is None:
        with open_client() as client:
            _print_segments(client.flight(), output)


@flight.command("export")
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to write; - writes to stdout.")],
) -> None:
    """Write all recorded decisions into one file, for `shunter replay`.

    \b
    shunter flight export day.flight
    """
    with open_client() as client:
        chunks = client.flight_records()
        if file == STDOUT:
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
            return
        try:
            size = _write(Path(file), chunks)
        except OSError as error:
            fix = "choose a file in a directory that exists and that you may write to"
            raise Invalid([Problem("FILE", f"cannot be written: {error.strerror}", file, fix)]) from error
    print(f"{file}: {_size(size)}")


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    with open(path, "wb", opener=open_private) as target:
        for chunk in chunks:
            target.write(chunk)
        return target.tell()


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File that `shunter flight export` wrote.")],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Policy to replay with: a name or MODULE:CLASS. Default: the recorded policy."
        ),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Also show decisions that are equal.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Replay recorded decisions, each on its recorded input, and show the differences. Needs no cluster.

    The same policy must make the same decisions. The exit code is 0 if all replayed decisions are equal, and 1 if some
    differ or nothing could be replayed. A policy of your own is found in the current directory and in that of FILE.

    \b
    shunter replay day.flight
    shunter replay day.flight --policy bin-pack
    shunter replay day.flight --policy mine:BestFit --output json
    """
    from shunter.app.replay import describe_damage, replay_file

    replayed = replay_file(Path(file), policy)
    compared, skipped = replayed.compared, sum(replayed.skipped_by_policy.values())
    if damage := describe_damage(Path(file)):
        print_warning(damage)
    for name, count in replayed.skipped_by_policy.items():
        fault = _describe_unknown(replayed.fault_by_policy.get(name))
        print_warning(f"skipped {plural(count, 'decision')} of {name}: {fault}")
    different = [each for each in compared if not each.is_same]
    listed = compared if show_all else different
    if output is not Format.TABLE:
        print_document(_document(compared, different, listed, skipped), output)
    else:
        _print_compared(compared, different, listed, skipped)
    if different or not compared:
        raise typer.Exit(JOB_FAILED)


def _describe_unknown(fault: str | None) -> str:
    if fault is None:
        return "that policy is not installed here; choose another one with --policy NAME"
    return f"{fault}; run this in the directory of that module, or choose another policy with --policy NAME"


def _print_segments(found: list[FlightSegment], output: Format) -> None:
    if output is not Format.TABLE:
        print_items(found, output)
        return
    columns = [Column("SEGMENT"), Column("FROM"), Column("TO", drop=1), Column("DECISIONS", right=True)]
    rows = ([each.name, each.started_at, each.ended_at, f"{each.decisions:,}", _size(each.bytes)] for each in found)
    print_table([*columns, Column("SIZE", right=True)], rows)


def _size(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


def _print_compared(compared: list[Replayed], different: list[Replayed], listed: list[Replayed], skipped: int) -> None:
    if listed:
        columns = [
            Column("TIME"),
            Column("VERSION", right=True),
            Column("POLICY"),
            Column("RECORDED"),
            Column("REPLAYED"),
        ]
        print_table(
            columns, ([_time(each), f"{each.version:,}", each.policy, *_format_difference(each)] for each in listed)
        )
        print()
    decisions = plural(len(compared), "decision")
    print_text(
        f"{decisions}: {len(compared) - len(different):,} equal, {len(different):,} different"
        + (f", {skipped:,} skipped" if skipped else "")
    )
    missing = sum(1 for each in compared if each.missing)
    if missing:
        print_text(f"{missing:,} of them needed data that is not in the recording; those nodes counted as idle")
    if different and not all(each.is_fresh for each in different):
        print_text("some recorded decisions used state of the policy from before the recording")


def _time(each: Replayed) -> str:
    return datetime.fromtimestamp(each.at).astimezone().strftime("%H:%M:%S.%f")[:-3]


def _format_difference(each: Replayed) -> tuple[str, str]:
    """The items that differ; all items if the decisions are equal."""
    one, other = _items(each.recorded, each.names), _items(each.made, each.names)
    return (
        (_format_items(one), _format_items(other))
        if one == other
        else (_format_items(one, other), _format_items(other, one))
    )


def _format_items(items: Mapping[str, str], without: Mapping[str, str] | None = None) -> str:
    listed = [f"{key}: {value}" for key, value in items.items() if without is None or without.get(key) != value]
    return "; ".join(listed) or "nothing"


def _items(row: DecisionRow, names: list[str]) -> dict[str, str]:
    """A decision as text, by item."""
    found: dict[str, str] = {}
    for placement in row.placements:
        nodes = sorted(zip(placement.nodes, placement.counts, strict=True))
        node_texts = [f"{names[node]}×{count}" for node, count in nodes[:NODES_SHOWN]]
        more = f" and {plural(len(nodes) - NODES_SHOWN, 'more node')}" if len(nodes) > NODES_SHOWN else ""
        found[f"class {placement.class_id}"] = " ".join(node_texts) + more
    for each in row.preemptions:
        found[f"preempts class {each.victim} on {names[each.node]}"] = f"{each.count} for class {each.winner}"
    for scheduling in row.schedulings:
        found[f"scheduling {scheduling.name}"] = f"on {scheduling.spec.testbed}"
    for name in row.withdrawals:
        found[f"scheduling {name}"] = "withdrawn"
    return found


def _document(
    compared: list[Replayed], different: list[Replayed], listed: list[Replayed], skipped: int
) -> Mapping[str, Any]:
    return {
        "decisions": len(compared),
        "equal": len(compared) - len(different),
        "different": len(different),
        "skipped": skipped,
        "items": [
            {
                "at": each.at,
                "version": each.version,
                "inputs": each.inputs,
                "policy": each.policy,
                "same": each.is_same,
                "recorded": _items(each.recorded, each.names),
                "replayed": _items(each.made, each.names),
            }
            for each in listed
        ],
    }
