"""What a client can be asked about templates, queues and dead letters, and about holding and repeating jobs, as
conversations. Both clients take their meaning from here, as from `sdk.calls.jobs`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec

from shunter.model.rest.admin_views import DeadPage, Purged, QueuePage, QueueView, Replayed, TemplatePage, TemplateView
from shunter.model.rest.views import JobView
from shunter.sdk.calls.requests import JSON, job_path, path_with
from shunter.sdk.core import Core
from shunter.sdk.transport.steps import Conversation, Request

PAGE_MAX = 1_000


def hold(core: Core, reference: str, namespace: str | None, is_held: bool) -> Conversation[JobView]:
    path = job_path(reference, "/hold" if is_held else "/release", namespace or core.namespace)
    return core.fetch(Request("POST", path, (JSON,)), JobView)


def retry(core: Core, reference: str, namespace: str | None, only_failed: bool) -> Conversation[JobView]:
    """Repeated with the same key after an outage, so that it is one run."""
    path = job_path(reference, "/retry", namespace or core.namespace, [("failed", only_failed or None)])
    return core.fetch(Request("POST", path, (JSON, _key(core))), JobView)


def templates(core: Core, namespace: str | None, limit: int | None) -> Conversation[int]:
    """Emits TemplateViews by name."""

    def page(size: int, cursor: str | None) -> Request:
        query = [("namespace", namespace or core.namespace), ("limit", size), ("after", cursor)]
        return Request("GET", path_with("/templates", query))

    return core.pages(page, TemplatePage, PAGE_MAX, limit)


def template(core: Core, name: str) -> Conversation[TemplateView]:
    return core.fetch(Request("GET", _template_path(core, name)), TemplateView)


def pause_template(core: Core, name: str, is_paused: bool) -> Conversation[TemplateView]:
    body = msgspec.json.encode({"paused": is_paused})
    return core.fetch(Request("PATCH", _template_path(core, name), (JSON,), body), TemplateView)


def delete_template(core: Core, name: str) -> Conversation[None]:
    return core.send(Request("DELETE", _template_path(core, name)))


def dispatch(core: Core, name: str, parameters: Mapping[str, str], payload: bytes | None) -> Conversation[JobView]:
    """Repeated with the same key after an outage, so that it is one run."""
    body: dict[str, Any] = {"parameters": dict(parameters)}
    if payload is not None:
        body["payload"] = b64encode(payload).decode()
    request = Request("POST", _template_path(core, name, "/runs"), (JSON, _key(core)), msgspec.json.encode(body))
    return core.fetch(request, JobView)


def queues(core: Core) -> Conversation[list[QueueView]]:
    page = yield from core.fetch(Request("GET", "/queues"), QueuePage)
    return page.items


def queue(core: Core, name: str) -> Conversation[QueueView]:
    return core.fetch(Request("GET", _queue_path(name)), QueueView)


def change_queue(core: Core, name: str, rules: Mapping[str, Any]) -> Conversation[QueueView]:
    changes = {rule: value for rule, value in rules.items() if value is not None}
    return core.fetch(Request("PATCH", _queue_path(name), (JSON,), msgspec.json.encode(changes)), QueueView)


def delete_queue(core: Core, name: str) -> Conversation[None]:
    return core.send(Request("DELETE", _queue_path(name)))


def purge_queue(core: Core, name: str) -> Conversation[int]:
    purged = yield from core.fetch(Request("POST", _queue_path(name, "/purge"), (JSON,)), Purged)
    return purged.count


def dead_letters(core: Core, namespace: str | None, job: str | None, limit: int | None) -> Conversation[int]:
    """Emits DeadViews, oldest first."""
    return core.pages(partial(_dead_page, namespace or core.namespace, job), DeadPage, PAGE_MAX, limit)


def replay(core: Core, numbers: Iterable[int], job: str | None) -> Conversation[Replayed]:
    """Not repeated after an outage: the letters may be gone, and their runs be there."""
    return core.fetch(_dead_request(core, "replay", numbers, job), Replayed)


def purge_dead(core: Core, numbers: Iterable[int], job: str | None) -> Conversation[int]:
    purged = yield from core.fetch(_dead_request(core, "purge", numbers, job), Purged)
    return purged.count


def _dead_page(namespace: str, job: str | None, size: int, cursor: str | None) -> Request:
    query = [("namespace", namespace), ("job", job), ("limit", size), ("after", cursor)]
    return Request("GET", path_with("/dead", query))


def _dead_request(core: Core, action: str, numbers: Iterable[int], job: str | None) -> Request:
    body: dict[str, Any] = {"numbers": list(numbers)} | ({} if job is None else {"job": job})
    path = path_with(f"/dead/{action}", [("namespace", core.namespace)])
    return Request("POST", path, (JSON,), msgspec.json.encode(body), repeatable=False)


def _template_path(core: Core, name: str, subpath: str = "") -> str:
    return path_with(f"/templates/{quote(name, safe='')}{subpath}", [("namespace", core.namespace)])


def _queue_path(name: str, subpath: str = "") -> str:
    return f"/queues/{quote(name, safe='')}{subpath}"


def _key(core: Core) -> tuple[str, str]:
    return ("Idempotency-Key", core.new_key())
