"""What a failed task of a BatchJob wrote last: an exit code alone tells nobody what went wrong. Used by `describe` and
`apply --wait`."""

from __future__ import annotations

from itertools import islice

from shunter.model.errors import ShunterError
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.object_views import ObjectView
from shunter.sdk.client import Client

LINES_SHOWN = 5
LINE_SHOWN_MAX = 300


def last_output(client: Client, each: ObjectView) -> list[str]:
    """Of the first task that failed in the newest run of a BatchJob: how to read all of it, and its last lines. Nothing
    where no task failed, or its node cannot be asked."""
    events = each.status.get("scheduledEvents", [])
    if not events or events[-1]["successful"] is not False:
        return []
    try:
        job = client.job(f"bj.{each.name}", each.namespace)
        failed = next(islice(job.tasks(states=["failed"], limit=1), 1), None)
        if failed is None:
            return []
        key = failed.name.partition("/")[2]
        written = job.logs(key, "stderr").strip() or job.logs(key, "stdout").strip()
    except ShunterError:
        return []
    lines = written.decode(errors="replace").splitlines()[-LINES_SHOWN:]
    space = "" if each.namespace == NAMESPACE_DEFAULT else f" -n {each.namespace}"
    return [f"shunter logs {failed.name}{space}", *map(_printable, lines)]


def _printable(line: str) -> str:
    """Short, and without what would move the cursor of a terminal."""
    return "".join(char if char.isprintable() else " " for char in line[:LINE_SHOWN_MAX])
