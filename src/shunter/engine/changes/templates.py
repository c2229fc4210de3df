"""Changes of templates: jobs that a schedule or a dispatch starts."""

from __future__ import annotations

import msgspec

from shunter.engine.changes.change_struct import ChangeStruct


class TemplateSet(ChangeStruct, tag=24):
    """Stores a job that a schedule or a dispatch runs: a new one, or a new spec of a known one."""

    namespace: str
    name: str
    spec: msgspec.Raw  # JobSpec
    user: str
    at_ms: int
    id: int  # from the same counter as job ids, so that no job has the same


class TemplatePaused(ChangeStruct, tag=25):
    namespace: str
    name: str
    is_paused: bool
    at_ms: int


class TemplateDropped(ChangeStruct, tag=26):
    namespace: str
    name: str
    at_ms: int


class TemplateFired(ChangeStruct, tag=27):
    """A firing was due or requested (`due_ms` 0). `job` 0 means that it made no run, for `reason`."""

    namespace: str
    name: str
    due_ms: int
    job: int
    reason: str
    at_ms: int


TemplateChange = TemplateSet | TemplatePaused | TemplateDropped | TemplateFired
