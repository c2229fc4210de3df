"""The gRPC server for external schedulers, over a real connection, with a client that has only the generated stubs."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest

from shunter.adapters.grpc import scheduler_server
from shunter.proto.v1 import external_scheduler_pb2 as pb
from tests.services.scheduler_harness import NODES, PATIENCE_S, open_scheduler_harness


async def first(stream: grpc.aio.UnaryStreamCall[pb.WatchRequest, pb.Situation]) -> pb.Situation:
    situation = await stream.read()
    assert isinstance(situation, pb.Situation)
    return situation


async def next_with_work(stream: grpc.aio.UnaryStreamCall[pb.WatchRequest, pb.Situation]) -> pb.Situation:
    while not (situation := await first(stream)).queued:
        pass
    return situation


async def test_a_scheduler_in_any_language_places_tasks() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        harness.use_external_policy("mine")
        stream = stub.watch()
        whole = await first(stream)
        assert whole.whole
        assert [node.name for node in whole.nodes if node.HasField("name")] == [
            harness.engine.node_name(row) for row in range(1, NODES + 1)
        ]
        assert whole.nodes[-1].capacity["cpu"] > 0
        assert whole.lease.lease_s == PATIENCE_S
        job = await harness.submit("job", 2)
        situation = await next_with_work(stream)
        assert not situation.whole
        [waiting] = situation.queued
        [task_class] = situation.classes
        assert (waiting.count, task_class.id, dict(task_class.needs)) == (2, waiting.class_id, {"cpu": 1000})
        placement = pb.Placement(class_id=waiting.class_id, nodes=[1, 2], counts=[1, 1])
        answer = await stub.decide(token=whole.lease.token, based_on=situation.version, placements=[placement])
        assert (answer.placed, list(answer.refusals)) == (2, [])
        await harness.ended(job)
        refused = await stub.decide(token=whole.lease.token, placements=[placement])
        assert refused.refusals[0].reason.endswith("has no pending tasks")
        lease = await stub.renew(whole.lease.token)
        assert lease.lease_s == PATIENCE_S


async def code_of(call: object) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call  # type: ignore[misc]
    return raised.value.code(), raised.value.details() or ""


async def test_whoever_has_no_token_sees_nothing() -> None:
    async with open_scheduler_harness() as harness, harness.stub("wrong") as stub:
        for call in (first(stub.watch()), stub.decide(token="x"), stub.renew("x")):
            code, details = await code_of(call)
            assert code is grpc.StatusCode.UNAUTHENTICATED
            assert "authorization: Bearer TOKEN" in details


async def test_requests_that_cannot_be_meant_are_refused_with_the_fix() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        refused = [
            (stub.watch("Not A Name"), "is not a valid scheduler name"),
            (stub.watch(wants=["everything"]), "choose from tasks, objects"),
            (stub.watch(mode="boss"), "choose lead or shadow"),
        ]
        for stream, text in refused:
            code, details = await code_of(first(stream))
            assert code is grpc.StatusCode.INVALID_ARGUMENT
            assert text in details


async def test_a_void_token_is_refused_and_the_older_stream_ends() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        older = stub.watch()
        token = (await first(older)).lease.token
        newer = stub.watch()
        await first(newer)
        code, details = await code_of(stub.decide(token=token))
        assert (code, "this token is no longer valid" in details) == (grpc.StatusCode.FAILED_PRECONDITION, True)
        code, details = await code_of(first(older))
        assert (code, "another session with the same name took over" in details) == (grpc.StatusCode.ABORTED, True)


async def test_beyond_the_budget_the_caller_is_asked_for_patience() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        token = (await first(stub.watch())).lease.token
        calls = await asyncio.gather(*(stub.decide(token=token) for _ in range(250)), return_exceptions=True)
        busy = [call for call in calls if isinstance(call, grpc.aio.AioRpcError)]
        assert busy
        assert {call.code() for call in busy} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        patience: Any = busy[0].trailing_metadata()  # pairs, whatever its type says
        [(key, value)] = patience
        assert key == "retry-after-ms"
        assert int(value) < 1_000


async def test_a_stream_that_ends_gives_the_lead_back_at_once() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        harness.use_external_policy("mine", lease_s=3_600.0)
        stream = stub.watch()
        await first(stream)
        job = await harness.submit("job")
        await asyncio.sleep(0.1)
        assert job in harness.engine.state.jobs
        stream.cancel()
        await harness.ended(job)


async def test_a_silent_scheduler_is_replaced_and_leads_again_when_it_is_back() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        harness.use_external_policy("mine", lease_s=0.2)
        stream = stub.watch()
        await first(stream)
        await harness.ended(await harness.submit("job"))
        harness.engine.schedulers.set_lease(PATIENCE_S)
        again = stub.watch()
        token = (await first(again)).lease.token
        job = await harness.submit("late")
        [waiting] = (await next_with_work(again)).queued
        placement = pb.Placement(class_id=waiting.class_id, nodes=[3], counts=[1])
        assert (await stub.decide(token=token, placements=[placement])).placed == 1
        await harness.ended(job)


async def test_a_shadow_sees_what_was_decided_and_changes_nothing() -> None:
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        stream = stub.watch(mode="shadow")
        await harness.until(lambda: harness.engine.schedulers.sessions(), "the shadow is there")
        job = await harness.submit("job", 2)
        situation = await next_with_work(stream)
        assert situation.HasField("active")
        [placement] = situation.active.placements
        same = await stub.decide(token=situation.lease.token, number=situation.number, placements=[placement])
        assert same.agrees
        await harness.ended(job)
        other = pb.Placement(class_id=placement.class_id, nodes=[1], counts=[1])
        code, _ = await code_of(stub.decide(token=situation.lease.token, number=situation.number, placements=[other]))
        assert code is grpc.StatusCode.FAILED_PRECONDITION, "it was compared already"


async def test_a_session_ends_soon_after_its_token_was_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_server, "CHECK_EVERY_S", 0.02)
    async with open_scheduler_harness() as harness, harness.stub() as stub:
        harness.use_external_policy("mine")
        stream = stub.watch()
        await first(stream)
        harness.services.clear()
        code, detail = await code_of(stream.read())
        assert code is grpc.StatusCode.ABORTED and "its token is no longer valid" in detail
        code, _ = await code_of(stub.watch().read())
        assert code is grpc.StatusCode.UNAUTHENTICATED
        assert not harness.engine.schedulers.sessions()
