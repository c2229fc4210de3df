"""The command `profiler`: runs the profiling scheduler."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.commands.objects.object_options import complete_testbeds
from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.options import Namespace, duration_s
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT

if TYPE_CHECKING:
    from shunter.schedulers.profiler.profiler import Settings


def profiler(
    url: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="URL of another cluster, or several; its token is in SHUNTER_TOKEN."),
    ] = None,
    profiler_testbed: Annotated[
        str | None,
        typer.Option(
            "--profiler-testbed",
            "-p",
            metavar="TESTBED",
            help="Testbed to measure pairs of BatchJobs on.",
            autocompletion=complete_testbeds,
        ),
    ] = None,
    scheduler_testbed: Annotated[
        str | None,
        typer.Option(
            "--scheduler-testbed",
            "-s",
            metavar="TESTBED",
            help="Testbed to run BatchJobs on, each next to its best partner.",
            autocompletion=complete_testbeds,
        ),
    ] = None,
    just_print: Annotated[
        bool, typer.Option("--just-print", help="Print the matrix and the partners, and exit.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of runs per Testbed. Default: no limit.")
    ] = None,
    run_max: Annotated[str, typer.Option(metavar="DURATION", help="Maximum time of one run.")] = "1h",
    namespace: Namespace = NAMESPACE_DEFAULT,
) -> None:
    """Measure how BatchJobs interfere with each other on a node, and schedule them accordingly.

    The results are stored in the BatchJobs, so you can stop and restart the profiler at any time. With --runs, the
    exit code is 1 if a run failed.

    \b
    shunter profiler -p profiler-testbed --runs 12
    shunter profiler -p profiler-testbed -s scheduler-testbed
    shunter profiler --just-print
    """
    from shunter.schedulers.profiler.profiler import RUN_MAX_S, Settings

    if not (just_print or profiler_testbed or scheduler_testbed):
        fix = "add -p TESTBED to measure, -s TESTBED to schedule, or --just-print"
        raise Invalid([Problem("--profiler-testbed", "no testbed is given", fix=fix)])
    run_max_s = duration_s(run_max, "--run-max") or RUN_MAX_S
    settings = Settings(profiler_testbed, scheduler_testbed, runs, run_max_s)
    try:
        failed_runs = asyncio.run(_run(url, namespace, settings, just_print))
    except (KeyboardInterrupt, asyncio.CancelledError) as interrupted:
        raise typer.Abort from interrupted
    if failed_runs:
        raise typer.Exit(JOB_FAILED)


async def _run(url: str | None, namespace: str, settings: Settings, just_print: bool) -> int:
    """Run it. Returns the number of failed runs. On Ctrl-C and SIGTERM it first deletes what it has created."""
    from shunter.schedulers.profiler.profiler import ProfilingScheduler, describe
    from shunter.sdk.async_client import connect

    this = asyncio.current_task()
    assert this is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    async with connect(url, namespace=namespace) as client:
        if just_print:
            print("\n".join(await describe(client, settings.scheduler_testbed)))
            return 0
        scheduler = ProfilingScheduler(client, settings, partial(print, flush=True))
        await scheduler.run()
        return scheduler.failed_runs
