"""A written manifest reads as the same spec, for every field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.model.job.manifest_writer import write_manifest
from shunter.model.job.manifests import JobReader
from shunter.model.job.spec import JobSpec


def read(manifest: dict[str, Any]) -> JobSpec:
    [spec] = JobReader(None).read_all([manifest], default_namespace="default", make_name=str)
    return spec


SPECS: list[dict[str, Any]] = [
    {"command": ["x"]},
    {"command": ["x"], "stop_grace": 0},
    {"command": ["x"], "count": 9, "priority": 3, "queue": "night", "hold": True, "failures_max": 2},
    {"command": ["x"], "resources": {"cpu": "500m", "memory": "256Mi", "disk": "1Gi", "gpu": 2, "licence": 1}},
    {"command": ["x"], "env": {"A": "1"}, "dir": "/srv", "user": "nobody", "stop_grace": "9s", "log_max": "1Mi"},
    {"command": ["x"], "array": "1-9:2,20", "parallel_max": 2, "estimate": "10m"},
    {"command": ["x"], "entries": ["a", "b"], "timeout": {"run": "1m", "queue": "2h", "job": "3h"}},
    {"command": ["x"], "restart": {"policy": "on-failure", "max": 5, "on_exit": [{"codes": [2], "action": "fail"}]}},
    {"command": ["x"], "restart": {"policy": "always", "max": "unlimited", "elsewhere": True}},
    {"command": ["x"], "count": 4, "gang": True, "exclusive": True, "datacenters": ["dc1"]},
    {"command": ["x"], "spread": [{"label": "zone"}], "affinity": [{"to": "node", "match": "node.name == 'a'"}]},
    {"command": ["x"], "isolation": "user", "constraints": ["node.name == 'a'"]},
    {"command": ["x"], "after": [{"job": "a", "when": "finished"}], "start_at": "2030-01-31T08:00:00Z"},
    {"command": ["x"], "start_at": "10m", "deadline": "2h", "stdin": "aGk="},
    {"command": ["x"], "schedule": {"cron": "0 1 * * *"}},
    {"command": ["x"], "parameters": {"required": ["day"], "optional": {"x": "1"}}},
    {"command": ["x"], "disconnect": {"replace_after": "1m", "stop_after": "30s"}, "at_most_once": True},
    {"image": "debian", "command": ["x"], "args": ["y"], "network": "host", "read_only": True, "pids_max": 7},
    {"image": "debian", "mounts": [{"source": "/a", "target": "/b", "read_only": True}]},
    {
        "type": "service", "command": ["x"], "count": 2, "ports": [{"name": "web", "host_port": 8080}],
        "health": [{"http": "/ok", "interval": "3s"}], "update": {"parallel": 2, "rollback": False},
    },
    {"type": "service", "command": ["x"], "ports": [{"name": "a"}], "health": [{"tcp": "a"}, {"command": ["c"]}]},
    {"type": "system", "command": ["x"], "ports": [{"name": "web", "host_port": 8080}]},
    {"type": "sysbatch", "command": ["x"], "constraints": ["node.name != 'a'"]},
    {
        "groups": [
            {"name": "a", "command": ["x"], "count": 2, "timeout": {"run": "1m"}},
            {"name": "b", "command": ["y"], "after": [{"group": "a"}]},
        ],
        "timeout": {"job": "1h"},
    },
]  # fmt: skip


@pytest.mark.parametrize("fields", SPECS, ids=lambda fields: "-".join(fields)[:60])
def test_every_field_is_written_as_it_was_read(fields: dict[str, Any]) -> None:
    metadata = {"name": "render", "namespace": "film", "labels": {"team": "film"}}
    spec = read({"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": metadata, "spec": fields})
    written = write_manifest(spec)
    assert msgspec.json.decode(msgspec.json.encode(written)) == written
    assert read(written) == spec, written
