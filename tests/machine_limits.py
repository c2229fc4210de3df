"""Reasons to skip a test that no installation can remove. `--no-skips` accepts only these."""

from __future__ import annotations

NO_ROOT = "this needs root"
NO_BRIDGE = "this machine does not allow network bridges"
NO_CGROUPS = "this machine gives its worker no control groups"
NO_TRACES = "the public trace is not in SHUNTER_TRACES"
NO_PODMAN_SERVICE = "podman does not run on this machine"
NO_COMPILER = "this machine has no C compiler"
NO_GO = "this machine has no Go that builds tests/foreign"
