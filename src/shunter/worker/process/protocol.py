"""What a worker and a keeper say to each other over the keeper's Unix socket (`HOME/keepers/N.sock`).

One JSON array a line, UTF-8, the first item is the verb. Times are milliseconds since 1970. Version 1:

    worker to keeper
    ["attach", version]                     I am your worker now. Answered by all reports that are not acknowledged,
                                            then "state"; the keeper forgets its specs.
    ["spec", id, {fields of TaskSpec}]      For later runs. Instead of `secrets`: `secret_files`, name to base64.
    ["forget", id]                          That spec is not needed any longer.
    ["run", [Order, ...]]                   Queue these ranges, each as the array of
    `model.protocol.worker_messages.Order`; the `spec`
                                            of an order is the id of a spec sent before.
    ["take", request, kind, what]           Give back what has not started: kind "tail" and how many, "reservations" and
                                            a list, or "range" and [job, group, first, last, newest attempt].
                                            Answered by "taken".
    ["stop", [job, group, first, last], newest attempt, grace_s, signal, how, detail]    End the running task if it is
                                            one of these; signal 0 means TERM. `how` and `detail` go into its Ended.
    ["ports", job, group, index, attempt, {name: port}]    The host ports of a task that is to be run; before "run".
    ["devices", {kind: [id, ...]}]          The devices that the lane's tasks may use from now on.
    ["contact", at_s]                       When the worker was last in contact with a manager, in seconds since the
                                            machine's boot. Tasks with `stop_after_s` end that long after it.
    ["ack", seq]                            Reports up to `seq` are committed.
    ["end"]                                 Kill the running task, leave nothing behind, end.

    keeper to worker
    ["state", version, number, pid, segment, running, [Order, ...], devices, [[job, group, index, attempt, ports], ...],
    [[job, group, stop_after_s], ...]]      What is queued, its ports, and what needs contact; `running` is null or
                                            [Order, index, started_ms, segment, record, pid, TaskSpec or null,
                                            ports]. The spec is there for a task with ports or health checks.
    ["report", seq, [Ended, ...], [started, ...], segment]    Kept, and repeated at every attach until
                                            acknowledged. `started` is the array of `KeeperStarted`; `segment` is
                                            the log segment in use.
    ["taken", request, [[job, group, attempt, first, last], ...]]

A keeper takes one worker at a time, the newest. It goes on without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.worker.keeper.json_lines import VERSION
from shunter.worker.secret_values import secret_files, secret_variables


class KeeperStarted(msgspec.Struct, array_like=True, gc=False):
    job: int
    group: int
    attempt: int
    index: int
    started_ms: int
    segment: int
    record: int
    pid: int
    ports: dict[str, int] = {}


class KeeperRunning(msgspec.Struct, array_like=True):
    order: Order
    index: int
    started_ms: int
    segment: int
    record: int
    pid: int
    spec: TaskSpec | None = None
    ports: dict[str, int] = {}


class ReclaimedRange(msgspec.Struct, array_like=True, gc=False):
    job: int
    group: int
    attempt: int
    first: int
    last: int


class TaskPorts(msgspec.Struct, array_like=True, gc=False):
    job: int
    group: int
    index: int
    attempt: int
    ports: dict[str, int]


class ContactLimit(msgspec.Struct, array_like=True, gc=False):
    job: int
    group: int
    stop_after_s: float


class KeeperState(msgspec.Struct, array_like=True, tag="state"):
    version: int
    number: int
    pid: int
    segment: int
    running: KeeperRunning | None
    queue: list[Order]
    devices: dict[str, list[str]] = {}
    ports: list[TaskPorts] = []
    contact_limits: list[ContactLimit] | None = None  # None: a keeper of 0.2.0, which does not know `contact`


class KeeperReport(msgspec.Struct, array_like=True, tag="report"):
    seq: int
    ended: list[Ended]
    started: list[KeeperStarted]
    segment: int


class Reclaimed(msgspec.Struct, array_like=True, tag="taken"):
    request: int
    ranges: list[ReclaimedRange]


@dataclass(frozen=True, slots=True)
class Termination:
    """How to stop a running task, and what its result says about it."""

    grace_s: float
    signal: int = 0
    how: str = "stopped"
    detail: str = ""


KeeperMessage = KeeperState | KeeperReport | Reclaimed
RangeBounds = tuple[int, int, int, int]  # job, group, first, last

_decoder: msgspec.json.Decoder[KeeperMessage] = msgspec.json.Decoder(KeeperMessage)
_encoder = msgspec.json.Encoder()


def decode(line: bytes | bytearray) -> KeeperMessage:
    """Raises msgspec.MsgspecError."""
    return _decoder.decode(line)


def attach() -> bytes:
    return _line(["attach", VERSION])


def spec(id: int, task: TaskSpec) -> bytes:
    """With every field: a keeper knows no defaults. Secrets are variables and files like any others to it."""
    fields = msgspec.structs.asdict(task)
    del fields["secrets"]
    fields["secret_files"] = secret_files(task)
    if task.secrets:
        fields["env"] = {**task.env, **secret_variables(task)}
    return _line(["spec", id, fields])


def forget(id: int) -> bytes:
    return _line(["forget", id])


def run(orders: list[Order]) -> bytes:
    return _line(["run", orders])


def reclaim(request: int, kind: str, selector: Any) -> bytes:
    return _line(["take", request, kind, selector])


def stop(bounds: RangeBounds, attempt_max: int, end: Termination) -> bytes:
    return _line(["stop", bounds, attempt_max, end.grace_s, end.signal, end.how, end.detail])


def ports(task: TaskPorts) -> bytes:
    return _line(["ports", *msgspec.structs.astuple(task)])


def devices(ids: Mapping[str, Sequence[str]]) -> bytes:
    return _line(["devices", ids])


def contact(at_s: float) -> bytes:
    return _line(["contact", at_s])


def acknowledge(seq: int) -> bytes:
    return _line(["ack", seq])


def end() -> bytes:
    return _line(["end"])


def _line(message: list[Any]) -> bytes:
    return _encoder.encode(message) + b"\n"
