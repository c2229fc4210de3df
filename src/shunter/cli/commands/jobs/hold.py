"""The commands hold and release."""

from __future__ import annotations

from functools import partial

from shunter.cli.commands.jobs.wait import Jobs
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Namespace, Output
from shunter.cli.render.tables import (
    report_each,
)
from shunter.model.job.spec import NAMESPACE_DEFAULT


def hold(names: Jobs, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Stop new tasks of jobs from starting until the jobs are released. Running tasks continue.

    \b
    shunter hold render
    """
    with open_client(namespace) as client, report_each(output) as report:
        for name in names:
            job = client.job(name).hold()
            report(f"{name} held", partial(getattr, job, "view"))


def release(names: Jobs, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Release held jobs, including jobs that were submitted with hold: true.

    \b
    shunter release render
    """
    with open_client(namespace) as client, report_each(output) as report:
        for name in names:
            job = client.job(name).release()
            report(f"{name} released", partial(getattr, job, "view"))
