"""Shell completion: names from the cluster, and states. Offers nothing if the cluster does not answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from shunter.model.errors import ShunterError

if TYPE_CHECKING:
    from shunter.sdk.client import Client

COMPLETIONS_MAX = 200
# States of jobs and tasks. A copy, because importing the lifecycle tables is too slow for completion.
STATES = ("waiting", "queued", "pending", "assigned", "running", "stopping", "succeeded", "failed", "cancelled")


def complete_jobs(incomplete: str) -> list[str]:
    return _complete(incomplete, lambda client: (job.name for job in client.jobs(limit=COMPLETIONS_MAX)))


def complete_nodes(incomplete: str) -> list[str]:
    return _complete(incomplete, lambda client: (node.name for node in client.nodes()))


def complete_namespaces(incomplete: str) -> list[str]:
    def namespaces(client: Client) -> Iterable[str]:
        return (job.view.namespace for job in client.jobs(namespace="*", limit=COMPLETIONS_MAX))

    return _complete(incomplete, namespaces)


def complete_queues(incomplete: str) -> list[str]:
    return _complete(incomplete, lambda client: (queue.name for queue in client.queues()))


def complete_templates(incomplete: str) -> list[str]:
    return _complete(incomplete, lambda client: (each.name for each in client.templates(limit=COMPLETIONS_MAX)))


def complete_policies(incomplete: str) -> list[str]:
    def usable(client: Client) -> Iterable[str]:
        return (each.name for each in client.policies() if each.kind != "filter")

    return _complete(incomplete, usable)


def complete_states(incomplete: str) -> list[str]:
    return [state for state in STATES if state.startswith(incomplete)]


def _complete(incomplete: str, names: Callable[[Client], Iterable[str]]) -> list[str]:
    from shunter.sdk.client import connect

    try:
        with connect(namespace=os.environ.get("SHUNTER_NAMESPACE", "default"), patience_s=0) as client:
            found = sorted({name for name in names(client) if name.startswith(incomplete)})
            return found[:COMPLETIONS_MAX]
    except ShunterError:
        return []
