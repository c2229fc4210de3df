"""The commands about dead letters: dead, dead list, dead replay, dead purge."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.commands.jobs.wait import wait_for
from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import print_notice
from shunter.cli.options import Format, Limit, Namespace, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import (
    Column,
    age,
    plural,
    print_document,
    print_items,
    print_result,
    print_table,
)
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.admin_views import DeadView

LETTERS_SHOWN = 100


dead = plain_typer(invoke_without_command=True)


Which = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NUMBER|JOB]...", help="Numbers of dead letters, or one job.", autocompletion=complete_jobs
    ),
]


All = Annotated[bool, typer.Option("--all", help="All dead letters of the namespace.")]


@dead.callback()
def overview(context: typer.Context, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """List, replay or purge dead letters: tasks that failed after all restarts that their policy allows.

    Dead letters stay until they are replayed or purged. The cluster keeps the newest 10,000.

    \b
    shunter dead list
    shunter dead replay 17 18          run these two tasks again
    shunter dead replay render         run all dead tasks of one job again
    shunter dead purge --all
    """
    if context.invoked_subcommand is None:
        _list(None, LETTERS_SHOWN, namespace, output)


@dead.command("list")
def list_all(
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Show only this job.")] = None,
    limit: Limit = LETTERS_SHOWN,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """List dead letters, oldest first.

    \b
    shunter dead list
    shunter dead list render --output json
    """
    _list(job, limit, namespace, output)


@dead.command("replay")
def replay(
    which: Which = None,
    all_letters: All = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the runs have ended.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Run dead tasks again, each with its index, as a new run of their job. Print NAME@RUN of each run.

    With --all, dead letters of unfinished jobs are skipped.

    \b
    shunter dead replay 17
    shunter dead replay render --wait
    shunter dead replay --all
    """
    numbers, job = _choice(which, all_letters)
    with open_client(namespace) as client:
        replayed = client.replay_dead(numbers, job=job)
        if output is not Format.TABLE:
            print_document(replayed, output)
        else:
            for run in replayed.items:
                print(f"{run.name}@{run.run}", flush=True)
        if not replayed.items and not replayed.left:
            print_notice("no dead letters to replay")
        if replayed.left:
            letters = plural(replayed.left, "dead letter")
            print_notice(f"skipped {letters}: the job has not ended, or its history was deleted")
        if wait:
            raise typer.Exit(wait_for([client.job(f"id:{run.id}", run.namespace) for run in replayed.items]))


@dead.command("purge")
def purge(
    which: Which = None,
    all_letters: All = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Delete dead letters.

    \b
    shunter dead purge 17 18
    shunter dead purge --all
    """
    numbers, job = _choice(which, all_letters)
    with open_client(namespace) as client:
        purged = client.purge_dead(numbers, job=job)
        print_result(f"purged {plural(purged, 'dead letter')}", {"count": purged}, output)


def _choice(which: list[str] | None, all_letters: bool) -> tuple[list[int], str | None]:
    words = which or []
    names = [word for word in words if not word.isdecimal()]
    if bool(words) == all_letters or len(names) > 1 or (names and len(words) > 1):
        fix = "give numbers of dead letters, the name of one job, or --all"
        raise Invalid([Problem("NUMBER|JOB", "must select dead letters in one way", " ".join(words) or None, fix)])
    return [int(word) for word in words if word.isdecimal()], names[0] if names else None


def _list(job: str | None, limit: int, namespace: str, output: Format) -> None:
    with open_client(namespace) as client:
        found = client.dead_letters(job=job, limit=limit or None)
        if output is not Format.TABLE:
            print_items(found, output)
            return
        titles = ["NUMBER", "TASK", "EXIT", "AGE", "REASON"]
        columns = [Column(title, right=title in ("NUMBER", "EXIT", "AGE")) for title in titles]
        if print_table(columns, map(_row, found)) == limit:
            print_notice(f"showing the oldest {limit} dead letters; --limit 0 shows all")


def _row(view: DeadView) -> list[str]:
    code = "-" if view.exit_code is None else str(view.exit_code)
    return [str(view.number), view.name, code, age(view.at), view.reason]
