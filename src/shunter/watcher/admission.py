"""Validates a Hello. Pure; called by the watcher before the engine sees it."""

from __future__ import annotations

import re

from shunter.model.protocol.refusals import RefusalCode, refuse
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, Hello, Refused
from shunter.model.resources import AMOUNT_MAX
from shunter.model.schema.name_fields import NODE_NAME_PATTERN

RESOURCES_MAX = 64
ENTRIES_MAX = 256  # labels, and attributes
TEXT_MAX = 4096  # characters of one name, label, attribute or address


def hello_problem(hello: Hello) -> Refused | None:
    if hello.protocol != PROTOCOL_VERSION:
        reason = f"the worker uses protocol version {hello.protocol}, but this manager uses {PROTOCOL_VERSION}"
        return refuse(RefusalCode.PROTOCOL_VERSION, reason)
    problem = _identity_problem(hello) or _capacity_problem(hello.capacity) or _text_problem(hello)
    return None if problem is None else refuse(RefusalCode.INVALID, problem)


def _identity_problem(hello: Hello) -> str | None:
    if not re.fullmatch(NODE_NAME_PATTERN, hello.name):
        return f"name: {hello.name[:80]!r} is not a host name: letters, digits, '.', '_' and '-', at most 253"
    if not hello.boot:
        return "boot: is empty; use a new random text for every start of the worker"
    return None


def _capacity_problem(capacity: dict[str, int]) -> str | None:
    if len(capacity) > RESOURCES_MAX:
        return f"capacity: has {len(capacity)} resources, more than {RESOURCES_MAX}"
    for resource, amount in capacity.items():
        if not 0 <= amount <= AMOUNT_MAX:
            return f"capacity.{resource[:80]}: {amount} is not within 0 and {AMOUNT_MAX}"
    return None


def _text_problem(hello: Hello) -> str | None:
    for field, entries in (("labels", hello.labels), ("attributes", hello.attributes)):
        if len(entries) > ENTRIES_MAX:
            return f"{field}: has {len(entries)} entries, more than {ENTRIES_MAX}"
    texts = [hello.boot, hello.datacenter, hello.address, *hello.capacity]
    texts += [hello.worker_id, hello.machine, hello.machine_boot]
    texts += [*hello.labels, *hello.labels.values(), *hello.attributes, *hello.attributes.values()]
    if any(len(text) > TEXT_MAX for text in texts):
        return f"a text is longer than {TEXT_MAX} characters"
    return None
