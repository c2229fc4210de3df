"""The command group `lab`: runs policies on traces in virtual time."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, print_notice
from shunter.cli.options import Format, Output, duration_s
from shunter.cli.output_mode import mode
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_items, print_table
from shunter.model.errors import Invalid, Problem

if TYPE_CHECKING:
    from shunter.app.lab import Experiment

lab = plain_typer(no_args_is_help=True)


@lab.callback()
def _group() -> None:
    """Compare policies on traces of real clusters, in virtual time.

    \b
    shunter lab run --trace KTH-SP2-1996-2.swf.gz --policy fcfs,easy,easy-sjbf --out results
    """


@lab.command("run")
def run(
    policy: Annotated[str, typer.Option(metavar="A,B,C", help="Policies to compare: names or MODULE:CLASS.")],
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Trace: SWF, Alibaba openb or PAI, Philly, Google 2019, also .gz; or a flight recording.",
        ),
    ] = None,
    from_cluster: Annotated[
        bool, typer.Option("--from-cluster", help="Use the flight recording of the running cluster, and its nodes.")
    ] = False,
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Cluster: pool:CPUS, NODESxCPUS[,gpu=N][,memory=SIZE], or a CSV file. Default: as in the trace.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write results.json, report.html, jobs.csv and SWF files here.")
    ] = None,
    filters: Annotated[
        str, typer.Option("--filter", metavar="A,B,C", help="Filters, in order: run, estimate, size, cut, first:N.")
    ] = "run,estimate,size,cut",
    estimates: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="Run-time estimates that policies see: given (in the trace), exact, or learnt."
        ),
    ] = "given",
    start_estimates: Annotated[
        bool, typer.Option("--start-estimates", help="Estimate when pending jobs start, and tell how good that is.")
    ] = False,
    warm_up: Annotated[
        str, typer.Option(metavar="TIME", help="Leave this time at the start out of the figures.")
    ] = "0s",
    cool_down: Annotated[
        str, typer.Option(metavar="TIME", help="Leave this time at the end out of the figures.")
    ] = "0s",
    day: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Day to draw in the report. Default: the busiest.")
    ] = None,
    shake: Annotated[
        int, typer.Option(min=0, max=100, metavar="N", help="Repeat N times with submissions moved by up to a minute.")
    ] = 0,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Maximum number of policies that run at once.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the random numbers.")] = 0,
    output: Output = Format.TABLE,
) -> None:
    """Run each policy on the jobs of a trace, and compare waits and slowdowns.

    The real engine runs in virtual time on simulated nodes: a year takes seconds, no processes are started, and no
    cluster is needed. The same command gives the same results, byte for byte. The exit code is 1, and no figures are
    printed, if a policy fails or leaves jobs unfinished.

    \b
    shunter lab run --trace KTH-SP2-1996-2.swf.gz --policy fcfs,easy,easy-sjbf --out results
    shunter lab run --trace jobs.swf --policy easy,mine:BestFit --nodes 16x8 --filter run,size,first:5000
    shunter lab run --from-cluster --policy e-pvm,easy
    """
    from shunter.app.lab import Options, RunFailed, run_lab, write_results

    options = Options(
        policies=tuple(filter(None, policy.split(","))),
        nodes=nodes,
        filters=tuple(filter(None, filters.split(","))),
        estimates=estimates,
        start_estimates=start_estimates,
        warm_up_s=duration_s(warm_up, "--warm-up") or 0,
        cool_down_s=duration_s(cool_down, "--cool-down") or 0,
        seed=seed,
        shakes=shake,
        jobs=jobs,
    )
    began_s = time.monotonic()
    try:
        with _trace_file(trace, from_cluster) as path:
            experiment = run_lab(
                path, options, lambda result: _note(f"{result.policy}: {result.rounds:,} rounds", began_s)
            )
    except RunFailed as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(JOB_FAILED) from None
    _note_filters(experiment)
    if out is not None:
        paths = write_results(experiment, out, day)
        _note(f"wrote {', '.join(path.name for path in paths)} into {out}", began_s)
    _note_start_estimates(experiment)
    _print(experiment, output)


@contextmanager
def _trace_file(trace: Path | None, is_from_cluster: bool) -> Iterator[Path]:
    if (trace is not None) == is_from_cluster:
        raise Invalid([Problem("--trace", "name a trace, or use --from-cluster: one of them")])
    if trace is not None:
        yield trace
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.flight"
        with open_client() as client, path.open("wb") as file:
            file.writelines(client.flight_records())
        yield path


def _note(text: str, began_s: float) -> None:
    if not mode.is_quiet:
        print(f"{text} ({time.monotonic() - began_s:.1f} s)", file=sys.stderr, flush=True)


def _note_filters(experiment: Experiment) -> None:
    """What the figures are not about: jobs that filters dropped or changed."""
    counts = [(each, "dropped", each.dropped) for each in experiment.filters if each.dropped]
    counts += [(each, "changed", each.changed) for each in experiment.filters if each.changed]
    for each, verb, count in counts:
        print_notice(f"filter {each.name} {verb} {count:,} of {experiment.jobs_read:,} jobs: {each.about}")


def _note_start_estimates(experiment: Experiment) -> None:
    for name, quality in experiment.start_quality.items():
        if quality is None:
            print_notice(f"{name}: no job of the last third had to wait long enough for an estimate of its start")
            continue
        print_notice(
            f"{name}: 80 % intervals for the start covered {quality.covered:.1%} of the {quality.jobs:,} jobs of the "
            f"last third that had to wait; mean width {quality.width_mean_s:,.0f} s "
            f"(median {quality.width_median_s:,.0f} s), mean wait {quality.wait_mean_s:,.0f} s"
        )


def _print(experiment: Experiment, output: Format) -> None:
    rows = [_row(experiment, place.rank, place.policy) for place in experiment.leaderboard]
    if output is not Format.TABLE:
        print_items(rows, output)
        return
    columns = [Column("RANK", right=True), Column("POLICY")]
    drop = {"P95 WAIT": 3, "P95": 2, "UTILISATION": 1}
    titles = ("SLOWDOWN", "P95", "MEAN WAIT", "P95 WAIT", "UTILISATION")
    columns += [Column(title, right=True, drop=drop.get(title, 0)) for title in titles]
    print_table(
        columns,
        (
            [
                str(row["rank"]),
                str(row["policy"]),
                f"{row['slowdown_mean']:,.2f}",
                f"{row['slowdown_p95']:,.2f}",
                f"{row['wait_mean_s']:,.0f} s",
                f"{row['wait_p95_s']:,.0f} s",
                f"{row['utilisation']:.1%}",
            ]
            for row in rows
        ),
    )


def _row(experiment: Experiment, rank: int, policy: str) -> dict[str, object]:
    figures = experiment.figures[policy]
    return {
        "rank": rank,
        "policy": policy,
        "jobs": figures.jobs,
        "slowdown_mean": figures.slowdown.mean,
        "slowdown_p95": figures.slowdown.p95,
        "wait_mean_s": figures.wait_s.mean,
        "wait_p95_s": figures.wait_s.p95,
        "utilisation": figures.utilisation,
    }
