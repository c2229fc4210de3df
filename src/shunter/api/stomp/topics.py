"""The topics of subscriptions: `/topic/KIND` carries the names of all objects that change, `/topic/KIND/NAME` one whole
object. Used by `api.stomp.session` and `api.stomp.hub`."""

from __future__ import annotations

import re
from typing import NamedTuple

from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.schema.name_fields import NAME_PATTERN, NAME_SIZE_MAX

PREFIX = "/topic/"
NAMESPACES = "namespaces"
KINDS = {"testbeds": TESTBED, "jobs": BATCH_JOB, "schedulings": SCHEDULING}

_is_name = re.compile(NAME_PATTERN).fullmatch


class Topic(NamedTuple):
    namespace: str
    kind: str
    name: str | None = None  # None: of all of that kind, their names


class UnknownTopic(Exception):
    """Says which topics there are."""


def parse_topic(destination: str, namespace: str | None, own: str = NAMESPACE_DEFAULT) -> Topic:
    """Raises UnknownTopic. `namespace` is that of the header, if there is one. `own` is what the default namespace
    means to the reader."""
    segments = destination.removeprefix(PREFIX).split("/") if destination.startswith(PREFIX) else []
    if segments[:1] == [NAMESPACES] and len(segments) > 2:
        if namespace not in (None, segments[1]):
            raise UnknownTopic(f"the destination has namespace {segments[1]}, but the header has {namespace}")
        namespace, segments = segments[1], segments[2:]
    namespace = own if namespace in (None, NAMESPACE_DEFAULT) else namespace
    names = [namespace, *segments[1:]]
    if len(segments) not in (1, 2) or segments[0] not in KINDS or not all(map(is_name, names)):
        raise UnknownTopic(
            f"{destination[:200]!r} does not exist; use {PREFIX}testbeds, {PREFIX}jobs or {PREFIX}schedulings, "
            f"optionally followed by /NAME, or the same under {PREFIX}{NAMESPACES}/NAMESPACE/"
        )
    return Topic(namespace, KINDS[segments[0]], segments[1] if len(segments) == 2 else None)


def is_name(word: str) -> bool:
    return len(word) <= NAME_SIZE_MAX and _is_name(word) is not None
