"""What the shell offers on TAB: names that the cluster knows. Silent where there is no cluster."""

from __future__ import annotations

import os

from shunter.model.errors import ShunterError

OFFERED_MAX = 200


def complete_jobs(incomplete: str) -> list[str]:
    from shunter.sdk.client import connect

    try:
        with connect(namespace=os.environ.get("SHUNTER_NAMESPACE", "default"), patience_s=0) as client:
            names = (job.name for job in client.jobs(limit=OFFERED_MAX))
            return sorted({name for name in names if name.startswith(incomplete)})
    except ShunterError:
        return []


def complete_nodes(incomplete: str) -> list[str]:
    from shunter.sdk.client import connect

    try:
        with connect(patience_s=0) as client:
            return [node.name for node in client.nodes() if node.name.startswith(incomplete)][:OFFERED_MAX]
    except ShunterError:
        return []


def complete_namespaces(incomplete: str) -> list[str]:
    from shunter.sdk.client import connect

    try:
        with connect(patience_s=0) as client:
            spaces = {job.view.namespace for job in client.jobs(namespace="*", limit=OFFERED_MAX)}
            return sorted(space for space in spaces if space.startswith(incomplete))
    except ShunterError:
        return []
