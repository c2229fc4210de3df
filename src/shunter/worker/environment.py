"""Builds the environment variables that the worker gives a task. Keepers build the same for their own tasks in
`keeper.work_queue`; a test compares them. Used by `worker.runtimes.attempt_runner`, and for commands of health
checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.model.tracing import TRACEPARENT_VARIABLE
from shunter.worker.keeper.task_setup import variable_name
from shunter.worker.keeper.work_queue import EXECUTOR_COUNT_VARIABLE
from shunter.worker.secret_values import secret_variables


def task_environment(
    order: Order, index: int, spec: TaskSpec, node: str, ports: Mapping[str, int], devices: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """All variables except SHUNTER_PAYLOAD, whose path only the runtime knows."""
    position = index - order.first
    env = {
        **spec.env,
        **secret_variables(spec),
        "SHUNTER_JOB": order.job_name,
        "SHUNTER_NAMESPACE": order.namespace,
        "SHUNTER_GROUP": order.group_name,
        "SHUNTER_TASK_INDEX": str(order.shown[position] if order.shown else index),
        "SHUNTER_TASK_COUNT": str(order.count),
        "SHUNTER_ATTEMPT": str(order.attempt),
        "SHUNTER_NODE": node,
    }
    if order.trace:
        env[TRACEPARENT_VARIABLE] = order.trace
    if order.entries:
        env["SHUNTER_ENTRY"] = order.entries[position]
        if EXECUTOR_COUNT_VARIABLE in spec.env:
            env["SHUNTER_SLOT_ID"] = order.entries[position]
            env["SHUNTER_EXECUTOR_INDEX"] = env["SHUNTER_TASK_INDEX"]
    for name, port in ports.items():
        env[variable_name(b"SHUNTER_PORT_", name).decode()] = str(port)
    for kind, ids in devices.items():
        env[variable_name(b"SHUNTER_DEVICES_", kind).decode()] = ",".join(ids)
        if kind == "gpu":
            env["CUDA_VISIBLE_DEVICES"] = ",".join(ids)
    return env
