"""The command usage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs, complete_namespaces
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Output, duration_s
from shunter.cli.registry import UsageError
from shunter.cli.render.measured import format_value
from shunter.cli.render.tables import Column, print_document, print_table
from shunter.cli.text import print_text
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.resources import format_duration
from shunter.model.rest.monitor.usage_views import GroupUsageView, JobUsageView, UsageSums

GROUP_COLUMNS = (
    Column("GROUP"),
    Column("RESOURCE"),
    Column("REQUESTED", right=True),
    Column("MEAN", right=True),
    Column("P95", right=True),
    Column("MAX", right=True),
    Column("SUGGESTED", right=True),
)
SUM_COLUMNS = (
    Column("JOBS", right=True),
    Column("MEASURED", right=True, drop=2),
    Column("RUN TIME", right=True),
    Column("CPU TIME", right=True),
    Column("CPU USED", right=True),
    Column("MAX MEMORY", right=True),
    Column("READ", right=True, drop=1),
    Column("WRITTEN", right=True, drop=1),
)


class By(StrEnum):
    USER = "user"
    QUEUE = "queue"
    NAMESPACE = "namespace"
    TENANT = "tenant"


def usage(
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="[JOB]", help="NAME (the newest run), NAME@RUN or id:NUMBER.", autocompletion=complete_jobs
        ),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(metavar="FIELD", help="Add up finished jobs by user, queue, namespace or tenant. Default: user."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only jobs that ended within this time: 12h, 30d. Default: 7d.")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAME",
            help="Namespace to use. Default: default with a JOB, else all.",
            envvar="SHUNTER_NAMESPACE",
            autocompletion=complete_namespaces,
        ),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Show what jobs used, and what they requested: CPU, memory, disk and run time.

    With a job, show each of its groups, and suggest what to request next time. Without one, add up the finished jobs
    of all namespaces that you see.

    \b
    shunter usage render
    shunter usage --by user --since 7d
    shunter usage --by queue --output json
    """
    if job is None:
        back_s = duration_s(since or "7d", "--since") or 0.0
        start = datetime.now(UTC) - timedelta(seconds=back_s)
        with open_client() as client:
            sums = client.usage((by or By.USER).value, start, namespace=namespace or "*")
        _show_sums(sums, output)
    elif by is not None or since is not None:
        raise UsageError("--by and --since add up finished jobs: give either them or a JOB")
    else:
        with open_client(namespace or NAMESPACE_DEFAULT) as client:
            _show_job(client.job(job).usage(), output)


def _show_job(found: JobUsageView, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(found, output)
        return
    print_text(f"{found.name}@{found.run}, {found.state}")
    for group in found.groups:
        print_text(f"{group.name}: {_summary(group)}")
    print_table(GROUP_COLUMNS, [row for group in found.groups if group.attempts for row in _group_rows(group)])


def _summary(group: GroupUsageView) -> str:
    if not group.attempts:
        return "no attempt was measured yet"
    parts = (
        f"{group.attempts} measured attempt{'' if group.attempts == 1 else 's'} ran {format_duration(group.run_s)}",
        f"the longest {format_duration(group.run_max_s)}",
        f"CPU time {format_duration(group.cpu_s)}",
        f"read {_bytes(group.read_bytes)}",
        f"written {_bytes(group.written_bytes)}",
    )
    return ", ".join(parts)


def _group_rows(group: GroupUsageView) -> list[tuple[str, ...]]:
    """The rows for CPU and memory."""
    cpu = (_cores(group.cores_mean), "-", _cores(group.cores_max))
    memory = ("-", _bytes(group.memory_p95_bytes), _bytes(group.memory_max_bytes))
    return [
        (group.name, name, group.requested.get(name, "-"), *used, group.suggested.get(name, "-"))
        for name, used in (("cpu", cpu), ("memory", memory))
    ]


def _show_sums(found: UsageSums, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(found, output)
        return
    rows = (
        (
            item.key or "-", str(item.jobs), str(item.measured_jobs),
            format_duration(item.run_s), format_duration(item.cpu_s),
            f"{item.cpu_s / item.cpu_requested_s:.0%}" if item.cpu_requested_s else "-",
            _bytes(item.memory_max_bytes), _bytes(item.read_bytes), _bytes(item.written_bytes),
        )
        for item in found.items
    )  # fmt: skip
    print_table((Column(found.by.upper()), *SUM_COLUMNS), rows)
    if found.partial:
        print_text("There are more jobs: only the newest were added up. Give a shorter --since.")


def _cores(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _bytes(value: int | None) -> str:
    return "-" if value is None else format_value("bytes", value)
