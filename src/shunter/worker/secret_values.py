"""What the secrets of a task are to it: variables, and files. Used by the worker wherever it starts tasks."""

from __future__ import annotations

from shunter.model.job.spec import TaskSpec


def secret_variables(spec: TaskSpec) -> dict[str, str]:
    return {each.env: (each.value or b"").decode("utf-8", "replace") for each in spec.secrets if each.env}


def secret_files(spec: TaskSpec) -> dict[str, bytes]:
    return {each.file: each.value or b"" for each in spec.secrets if each.file}
