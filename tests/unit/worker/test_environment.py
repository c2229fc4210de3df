"""Keepers and the worker give a task the same environment."""

from __future__ import annotations

import os

import msgspec

from shunter.model.job.spec import Port, TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.environment import task_environment
from shunter.worker.keeper.lane import device_variables
from shunter.worker.keeper.task_setup import variable_name
from shunter.worker.keeper.work_queue import Spec, TaskRange
from shunter.worker.process import protocol

SPEC = TaskSpec(("true",), env={"A": "ä", "EMPTY": ""}, ports=(Port("web-ui.v2", 80),))
TRACE = f"00-{'a' * 32}-{'b' * 16}-01"
ORDER = Order(
    3, 1, 5, 9, 2, 7, 1, 1, "films", "render", "back", 20, [1, 3, 5, 7, 9], ["a", "b", "c", "d", "e"], TRACE
)  # fmt: skip
PORTS = {"web-ui.v2": 20_001}
DEVICES = {"gpu": ["0", "2"], "vendor.com/fpga": ["x"]}


def test_a_task_is_told_the_same_by_its_keeper_and_by_the_worker() -> None:
    _, _, fields = msgspec.json.decode(protocol.spec(1, SPEC))
    order = msgspec.json.decode(msgspec.json.encode(ORDER))
    keeper = dict(TaskRange(order, Spec(fields, {})).environment(7, b"node", b"lane", device_variables(DEVICES)))
    keeper.update({variable_name(b"SHUNTER_PORT_", name): b"%d" % port for name, port in PORTS.items()})
    del keeper[b"SHUNTER_MARK"]  # a keeper's own mark
    worker = task_environment(ORDER, 7, SPEC, "node", PORTS, DEVICES)
    assert {os.fsencode(key): os.fsencode(value) for key, value in worker.items()} == keeper
    assert worker["SHUNTER_PORT_WEB_UI_V2"] == "20001"
    assert worker["TRACEPARENT"] == TRACE
    assert worker["SHUNTER_DEVICES_VENDOR_COM_FPGA"] == "x"
    assert (worker["SHUNTER_TASK_INDEX"], worker["SHUNTER_ENTRY"], worker["CUDA_VISIBLE_DEVICES"]) == ("5", "c", "0,2")


def test_an_executor_of_a_batch_job_is_told_its_slot_and_its_number() -> None:
    spec = msgspec.structs.replace(SPEC, env={"SHUNTER_EXECUTOR_COUNT": "5"})
    _, _, fields = msgspec.json.decode(protocol.spec(1, spec))
    order = msgspec.json.decode(msgspec.json.encode(ORDER))
    keeper = TaskRange(order, Spec(fields, {})).environment(7, b"node", b"lane", {})
    worker = task_environment(ORDER, 7, spec, "node", {}, {})
    for name, value in (("SHUNTER_SLOT_ID", "c"), ("SHUNTER_EXECUTOR_INDEX", "5")):
        assert worker[name] == keeper[name.encode()].decode() == value
