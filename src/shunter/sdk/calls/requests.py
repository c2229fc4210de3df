"""Every REST call as a value: method, quoted path with its query, headers, JSON body. Pure; called by the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from shunter.sdk.errors import Invalid, Problem
from shunter.sdk.transport.steps import Request

JSON = ("Content-Type", "application/json")
BULK_ITEMS_MAX = 20_000
BULK_BODY_MAX_BYTES = 32 * 2**20
JOB_PAGE_MAX = 1_000
TASK_PAGE_MAX = 10_000
NODE_PAGE_MAX = 1_000
EVENT_PAGE_MAX = 1_000

Query = Iterable[tuple[str, object]]


def cluster() -> Request:
    return Request("GET", "/cluster")


def update_cluster(settings: Mapping[str, Any]) -> Request:
    return Request("PATCH", "/cluster", (JSON,), msgspec.json.encode(dict(settings)))


def down(leave_running: bool) -> Request:
    body = msgspec.json.encode({"leave_running": leave_running})
    return Request("POST", "/cluster/down", (JSON,), body, repeatable=False)


def submit(manifest: Mapping[str, Any], namespace: str, key: str, follow: str | None = None) -> Request:
    """`follow` (end, progress, logs) makes the answer a stream of lines instead of the job."""
    path = path_with("/jobs", [("namespace", namespace), ("follow", follow)])
    return Request("POST", path, (JSON, ("Idempotency-Key", key)), msgspec.json.encode(manifest))


def submit_bulk(items: list[bytes], namespace: str, key: str) -> Request:
    """`items` are manifests that are JSON already."""
    body = b'{"items":[' + b",".join(items) + b"]}"
    return Request("POST", path_with("/bulk/jobs", [("namespace", namespace)]), (JSON, ("Idempotency-Key", key)), body)


def jobs(namespace: str, states: Iterable[str], labels: Mapping[str, str], limit: int, after: str | None) -> Request:
    filters = [("state", state) for state in states]
    filters += [("label", f"{name}={value}") for name, value in labels.items()]
    return Request("GET", path_with("/jobs", [("namespace", namespace), *filters, ("limit", limit), ("after", after)]))


def job(reference: str, namespace: str) -> Request:
    return Request("GET", job_path(reference, "", namespace))


TaskKey = int | str  # an index, or GROUP/INDEX where the job has several groups


def stop(reference: str, namespace: str, task: TaskKey | None, now: bool, signal: str | None = None) -> Request:
    subpath, query = ("", []) if task is None else task_part(task)
    return Request(
        "DELETE", job_path(reference, subpath, namespace, [*query, ("now", now or None), ("signal", signal)])
    )


def update(reference: str, namespace: str, manifest: Mapping[str, Any], node: str | None) -> Request:
    path = job_path(reference, "", namespace, [("node", node)])
    return Request("PUT", path, (JSON,), msgspec.json.encode(manifest))


def scale(reference: str, namespace: str, counts: Mapping[str, int]) -> Request:
    body = msgspec.json.encode({"counts": dict(counts)})
    return Request("POST", job_path(reference, "/scale", namespace), (JSON,), body)


def roll_back(reference: str, namespace: str) -> Request:
    """Twice is there and back again."""
    return Request("POST", job_path(reference, "/rollback", namespace), repeatable=False)


def restart(reference: str, namespace: str, task: TaskKey | None) -> Request:
    group, _, index = ("", "", "") if task is None else str(task).rpartition("/")
    body = {} if task is None else {"index": int(index), "group": group or None}
    path = job_path(reference, "/restart", namespace)
    return Request("POST", path, (JSON,), msgspec.json.encode(body), repeatable=False)


def move(reference: str, namespace: str, task: TaskKey, node: str) -> Request:
    subpath, query = task_part(task)
    path = job_path(reference, f"{subpath}/move", namespace, query)
    return Request("POST", path, (JSON,), msgspec.json.encode({"node": node}), repeatable=False)


def follow(reference: str, namespace: str, mode: str) -> Request:
    return Request("GET", job_path(reference, "/follow", namespace, [("mode", mode)]))


def tasks(reference: str, namespace: str, states: Iterable[str], all: bool, limit: int, after: str | None) -> Request:
    query = [*(("state", state) for state in states), ("all", all or None), ("limit", limit), ("after", after)]
    return Request("GET", job_path(reference, "/tasks", namespace, query))


def task(reference: str, namespace: str, task: TaskKey) -> Request:
    subpath, query = task_part(task)
    return Request("GET", job_path(reference, subpath, namespace, query))


def attempts(reference: str, namespace: str, task: TaskKey) -> Request:
    subpath, query = task_part(task)
    return Request("GET", job_path(reference, f"{subpath}/attempts", namespace, query))


def logs(reference: str, namespace: str, task: TaskKey, query: Query) -> Request:
    subpath, group = task_part(task)
    return Request("GET", job_path(reference, f"{subpath}/logs", namespace, [*group, *query]))


def why(reference: str, namespace: str, task: TaskKey | None = None) -> Request:
    subpath, query = ("", []) if task is None else task_part(task)
    return Request("GET", job_path(reference, f"{subpath}/why", namespace, query))


def plan(manifests: list[Mapping[str, Any]], namespace: str) -> Request:
    body = msgspec.json.encode({"items": manifests})
    return Request("POST", path_with("/plan", [("namespace", namespace)]), (JSON,), body)


def policies() -> Request:
    return Request("GET", "/policies")


def use_policy(name: str) -> Request:
    return Request("PUT", "/policies/active", (JSON,), msgspec.json.encode({"name": name}))


def runs(reference: str, namespace: str, limit: int, after: str | None) -> Request:
    return Request("GET", job_path(reference, "/runs", namespace, [("limit", limit), ("after", after)]))


def nodes(limit: int, after: str | None) -> Request:
    return Request("GET", path_with("/nodes", [("limit", limit), ("after", after)]))


def node(name: str) -> Request:
    return Request("GET", f"/nodes/{quote(name, safe='')}")


def node_stats(name: str) -> Request:
    return Request("GET", f"/nodes/{quote(name, safe='')}/stats")


def drain_node(name: str, deadline: str | None) -> Request:
    return Request(
        "POST",
        f"{_node_path(name)}/drain",
        (JSON,),
        msgspec.json.encode({} if deadline is None else {"deadline": deadline}),
    )


def undrain_node(name: str) -> Request:
    return Request("DELETE", f"{_node_path(name)}/drain")


def cordon_node(name: str, reason: str) -> Request:
    return Request("POST", f"{_node_path(name)}/cordon", (JSON,), msgspec.json.encode({"reason": reason}))


def uncordon_node(name: str) -> Request:
    return Request("DELETE", f"{_node_path(name)}/cordon")


def release_node(name: str) -> Request:
    return Request("DELETE", f"{_node_path(name)}/quarantine")


def attribute_node(name: str, attributes: Mapping[str, str | None]) -> Request:
    return Request("PATCH", _node_path(name), (JSON,), msgspec.json.encode({"attributes": dict(attributes)}))


def _node_path(name: str) -> str:
    return f"/nodes/{quote(name, safe='')}"


def label_node(name: str, labels: Mapping[str, str | None]) -> Request:
    body = msgspec.json.encode({"labels": dict(labels)})
    return Request("PATCH", f"/nodes/{quote(name, safe='')}", (JSON,), body)


def events(namespace: str, job_name: str | None, limit: int, after: str | None) -> Request:
    query = [("namespace", namespace), ("job", job_name), ("limit", limit), ("after", after)]
    return Request("GET", path_with("/events", query))


def follow_events(namespace: str, job_name: str | None, after: str | None) -> Request:
    query = [("namespace", namespace), ("job", job_name), ("after", after), ("follow", True)]
    return Request("GET", path_with("/events", query), (("Accept", "text/event-stream"),))


def task_part(task: TaskKey) -> tuple[str, list[tuple[str, object]]]:
    """INDEX or GROUP/INDEX; INDEX~PIECE is one that was replaced."""
    group, _, task_text = str(task).rpartition("/")
    index, _, piece = task_text.partition("~")
    return f"/tasks/{quote(index, safe='')}", [("group", group or None), ("piece", piece or None)]


def job_path(reference: str, subpath: str, namespace: str, query: Query = ()) -> str:
    job, slash, _ = reference.partition("/")
    if slash:
        raise Invalid([Problem("job", "is a task, and this is about whole jobs", reference, f"write {job}")])
    return path_with(f"/jobs/{quote(reference, safe='@:')}{subpath}", [("namespace", namespace), *query])


def path_with(path: str, query: Query) -> str:
    pairs = [(name, _query_value(value)) for name, value in query if value is not None]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _query_value(value: object) -> str:
    return "true" if value is True else "false" if value is False else str(value)
