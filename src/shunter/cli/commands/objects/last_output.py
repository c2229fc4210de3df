"""The last output of a failed task of a BatchJob, because an exit code explains little. Used by `describe` and
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
    """For the first failed task in the newest run of a BatchJob: the command that prints its log, and its last lines.
    Empty if no task failed, or its node does not answer."""
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
    """Cut the line, and replace control characters."""
    return "".join(char if char.isprintable() else " " for char in line[:LINE_SHOWN_MAX])
