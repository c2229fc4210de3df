"""Parses references in paths: a job (`NAME`, `NAME@RUN` or `id:123`), a task index, a name, a position in the event
stream. Called by the routes."""

from __future__ import annotations

import re
from typing import NoReturn

from shunter.model.errors import Invalid, Problem
from shunter.model.job.arrays import INDEX_MAX
from shunter.model.schema.name_fields import NAME, RUN_PATTERN
from shunter.model.schema.problems import Problems, format_value
from shunter.ports.admin import EventPosition
from shunter.ports.principals import JobReference, TaskReference

JOB_PATTERN = RUN_PATTERN + r"|^id:[1-9][0-9]{0,17}$"
EVENT_PATTERN = r"^[0-9]{1,18}(-[0-9]{1,9})?$"

_JOB = re.compile(JOB_PATTERN)
_INDEX = re.compile(r"[0-9]{1,10}")
_EVENT = re.compile(EVENT_PATTERN)


def parse_job_reference(text: str, namespace: str, field: str = "path.job") -> JobReference:
    if not _JOB.fullmatch(text):
        _refuse(field, "must name a job", text, "write NAME, NAME@RUN or id:NUMBER")
    if text.startswith("id:"):
        return JobReference(namespace, id=int(text[3:]))
    name, _, run = text.partition("@")
    return JobReference(namespace, name, int(run) if run else None)


def parse_task_reference(text: str, group: str | None) -> TaskReference:
    if not _INDEX.fullmatch(text) or int(text) > INDEX_MAX:
        _refuse("path.index", "must be the index of a task: a number from 0", text, None)
    return TaskReference(int(text), group)


def parse_name(text: str, field: str) -> str:
    problems = Problems()
    NAME.read(text, field, problems)
    problems.raise_any()
    return text


def parse_event_position(text: str, field: str) -> EventPosition:
    """`VERSION-N`, the id of an event, or `VERSION` for all events of that version."""
    if not _EVENT.fullmatch(text):
        _refuse(field, "must be the id of an event", text, "write VERSION or VERSION-N")
    version, _, number = text.partition("-")
    return EventPosition(int(version), int(number) if number else None)


def _refuse(field: str, message: str, value: str, fix: str | None) -> NoReturn:
    raise Invalid([Problem(field, message, format_value(value), fix)])
