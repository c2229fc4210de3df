"""Templates with parameters: dispatches, their payloads, and what is refused."""

from __future__ import annotations

import pytest

from shunter.engine.jobs.templates import Dispatch
from shunter.engine.outbox import PAYLOADS_BYTES_MAX
from shunter.model.errors import Busy, Conflict, Invalid
from shunter.model.job.spec import JobOptions, JobSpec, Parameters, TaskSpec
from shunter.model.protocol.worker_messages import Orders
from tests.unit.engine.harness import Harness, run_scenario, spec


def parameterised_job(**fields: object) -> JobSpec:
    parameters = Parameters(("input",), {"quality": "high"}, **fields)  # type: ignore[arg-type]
    return spec("render", options=JobOptions(parameters=parameters))


def job_with_stdin(data: bytes) -> JobSpec:
    return spec("reader", task=TaskSpec(("cat",), payload=data, payload_is_stdin=True))


def test_a_dispatch_runs_with_its_parameters_and_its_payload_byte_for_byte() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(parameterised_job())
        payload = bytes(range(256)) * 7
        first = await harness.engine.dispatch(Dispatch("default", "render", "me", {"input": "a b"}, payload))
        second = await harness.engine.dispatch(Dispatch("default", "render", "me", {"input": "c", "quality": "low"}))
        empty = await harness.engine.dispatch(Dispatch("default", "render", "me", {"input": "d"}, b""))
        assert (first.run, second.run, empty.run) == (1, 2, 3)
        payloads = [harness.engine.state.jobs[run.job_id].task_sets[0].spec.task.payload for run in (second, empty)]
        assert payloads == [None, b""]
        task = harness.engine.state.jobs[first.job_id].task_sets[0].spec.task
        assert task.payload == payload
        assert task.env == {"SHUNTER_PARAM_INPUT": "a b", "SHUNTER_PARAM_QUALITY": "high"}
        assert harness.engine.state.jobs[second.job_id].task_sets[0].spec.task.env["SHUNTER_PARAM_QUALITY"] == "low"

    run_scenario(scenario)


def test_what_no_clock_runs_cannot_be_paused() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(parameterised_job())
        with pytest.raises(Conflict, match="template 'render' has no schedule to pause: it runs only when dispatched"):
            await harness.engine.pause_template("default", "render", True)

    run_scenario(scenario)


def test_a_dispatch_with_the_same_key_is_the_same_run() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(parameterised_job())
        dispatch = Dispatch("default", "render", "me", {"input": "a"}, key="once")
        first, again = await harness.engine.dispatch(dispatch), await harness.engine.dispatch(dispatch)
        assert (again.job_id, again.created) == (first.job_id, False)

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("payload", "given", "sent", "problem"),
    [
        ("optional", {}, None, "parameters.input: is required; add --param input=VALUE"),
        ("optional", {"input": "a", "qualty": "low"}, None, "parameters.qualty: is not a parameter of this job"),
        ("required", {"input": "a"}, None, "payload: is required; add --payload FILE"),
        ("forbidden", {"input": "a"}, b"x", "payload: is not allowed: this job takes no payload"),
        ("optional", {"input": "a"}, b"x" * (2**20 + 1), "payload: must be at most 1,048,576 bytes"),
        ("optional", {"input": "a" * 40_000}, None, "parameters.input: must be at most 32,768 bytes"),
    ],
)
def test_a_dispatch_is_refused_with_all_that_is_wrong(
    payload: str, given: dict[str, str], sent: bytes | None, problem: str
) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(parameterised_job(payload=payload))
        with pytest.raises(Invalid) as refused:
            await harness.engine.dispatch(Dispatch("default", "render", "me", given, sent))
        assert problem in refused.value.detail
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_payloads_are_bounded_together_and_room_comes_back_when_runs_end() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.submit(parameterised_job())
        for number in range(3):
            await harness.engine.dispatch(Dispatch("default", "render", "me", {"input": "a"}, bytes([number]) * 300))
        with pytest.raises(Busy, match="payloads of unfinished jobs use 900 of 1,000 bytes"):
            await harness.engine.dispatch(Dispatch("default", "render", "me", {"input": "a"}, b"x" * 200))
        with pytest.raises(Busy, match="payloads of unfinished jobs use 900 of 1,000 bytes"):
            await harness.submit(job_with_stdin(b"x" * 200))
        await harness.settle()
        await harness.end_all()
        await harness.submit(job_with_stdin(b"x" * 200))
        assert harness.engine.state.payload_bytes == 200

    run_scenario(scenario, payload_bytes_max=1_000)


def test_orders_with_large_payloads_go_in_several_messages() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(parameterised_job())
        for number in range(20):
            await harness.engine.dispatch(Dispatch("default", "render", "me", {"input": "a"}, bytes([number]) * 2**20))
        await harness.join(cpu=20)
        messages = [message for _, message in harness.workers.sent if isinstance(message, Orders)]
        assert len(messages) == 3
        assert all(
            sum(len(spec.payload or b"") for spec in each.specs.values()) <= PAYLOADS_BYTES_MAX for each in messages
        )
        assert sorted(order.job for each in messages for order in each.orders) == sorted(harness.engine.state.jobs)
        assert all({order.spec for order in each.orders} == set(each.specs) for each in messages)

    run_scenario(scenario)
