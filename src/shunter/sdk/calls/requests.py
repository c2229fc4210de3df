"""Parts of REST requests: quoted paths with a query, JSON bodies, headers. Pure; called by clients and the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from shunter.sdk.errors import Invalid, Problem
from shunter.sdk.transport.steps import Request

JSON = ("Content-Type", "application/json")

TaskKey = int | str  # an index, or GROUP/INDEX where the job has several groups
Time = datetime | str  # text is ISO 8601 with a zone
Query = Iterable[tuple[str, object]]  # a value of None leaves the parameter out


def json_request(
    method: str, path: str, fields: Mapping[str, Any] | None = None, *, key: str | None = None, repeatable: bool = True
) -> Request:
    """A request with these fields as its body, or without a body. `key` makes repeating it safe."""
    headers = (JSON,) if key is None else (JSON, ("Idempotency-Key", key))
    return Request(method, path, headers, None if fields is None else msgspec.json.encode(fields), repeatable)


def submit_request(manifest: Mapping[str, Any], namespace: str, key: str, follow: str | None = None) -> Request:
    """`follow` (end, progress, logs) makes the answer a stream of lines instead of the job."""
    return json_request("POST", path_with("/jobs", [("namespace", namespace), ("follow", follow)]), manifest, key=key)


def job_path(reference: str, namespace: str, subpath: str = "", query: Query = (), task: TaskKey | None = None) -> str:
    """The path of a job or of one of its tasks. INDEX~PIECE is a task that was replaced."""
    job, slash, _ = reference.partition("/")
    if slash:
        raise Invalid([Problem("job", "must be a job, not a task", reference, f"write {job}")])
    pairs: list[tuple[str, object]] = [("namespace", namespace)]
    if task is not None:
        group, _, task_text = str(task).rpartition("/")
        index, _, piece = task_text.partition("~")
        subpath = f"/tasks/{quoted(index)}{subpath}"
        pairs += [("group", group or None), ("piece", piece or None)]
    return path_with(f"/jobs/{quote(reference, safe='@:')}{subpath}", [*pairs, *query])


def task_fields(task: TaskKey) -> dict[str, object]:
    """INDEX or GROUP/INDEX as fields of a body. Raises Invalid."""
    group, _, index = str(task).rpartition("/")
    if not (index.isascii() and index.isdigit()):
        raise Invalid([Problem("index", "must be the index of a task", str(task), "write it as 3, or GROUP/3")])
    return {"index": int(index), "group": group or None}


def path_with(path: str, query: Query) -> str:
    """Appends parameters to a path, which may have some already."""
    pairs = [(name, _query_value(value)) for name, value in query if value is not None]
    return f"{path}{'&' if '?' in path else '?'}{urlencode(pairs)}" if pairs else path


def quoted(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


def drop_none(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def window_query(start: Time | None, stop: Time | None, step: str | None) -> Query:
    """Parameters of a time window; `step` is the time that one value stands for."""
    return [("start", format_time(start)), ("stop", format_time(stop)), ("step", step)]


def format_time(time: Time | None) -> str | None:
    """A datetime without a zone is local time, as everywhere in Python."""
    return time.astimezone(UTC).isoformat() if isinstance(time, datetime) else time


def _query_value(value: object) -> str:
    return "true" if value is True else "false" if value is False else str(value)
