"""Manifests for end-to-end tests: a job from its name, its command and further fields of its spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml


def job(name: str, command: Sequence[str] = ("/bin/true",), **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"command": list(command), **spec},
    }


def shell(name: str, script: str, **spec: Any) -> dict[str, Any]:
    return job(name, ("/bin/sh", "-c", script), **spec)


def in_namespace(namespace: str, document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}


def as_yaml(*documents: dict[str, Any]) -> str:
    return str(yaml.safe_dump_all(documents))
