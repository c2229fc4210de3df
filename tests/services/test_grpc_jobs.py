"""`shunter.v1.Jobs` over a real connection, with a client that has only the generated stubs."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio

from shunter.api.grpc import jobs_service
from shunter.api.grpc.calls import Limits
from shunter.model.identity.roles import Role
from shunter.proto.v1 import jobs_pb2 as pb
from tests.services.jobs_harness import Client, open_jobs_harness, refusal

Code = grpc.StatusCode


async def changes(stream: Any) -> list[pb.JobChange]:
    found = []
    while (message := await stream.read()) is not grpc.aio.EOF:  # type: ignore[attr-defined]  # not in its stubs
        found.append(message)
    return found


def types(messages: list[pb.JobChange]) -> list[str]:
    return [message.change.type for message in messages if message.HasField("change")]


async def test_a_client_submits_watches_and_reads_a_job() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        submitted = await client.submit(count=2)
        assert (submitted.created, submitted.job.name, submitted.job.count) == (True, "job", 2)
        seen = await changes(client.watch("job", after=submitted.position))
        assert (seen[0].job.name, seen[-1].end.state) == ("job", "succeeded")
        found = types(seen)
        assert (found[0], found[-1]) == ("job.submitted", "job.succeeded")
        assert "tasks.placed" in found
        got = await client.call("Get", pb.GetRequest(job="job", tasks_max=1))
        assert (got.job.state, [task.name for task in got.tasks], got.next_task != "") == ("succeeded", ["job/0"], True)
        rest = await client.call("Get", pb.GetRequest(job="job@1", tasks_max=5, tasks_after=got.next_task))
        assert ([task.state for task in rest.tasks], rest.next_task) == (["succeeded"], "")


async def test_a_watch_goes_on_where_the_last_connection_ended() -> None:
    async with open_jobs_harness() as harness:
        async with harness.client() as client:
            submitted = await client.submit(seconds=0.3)
            stream = client.watch("job", after=submitted.position)
            first = [await stream.read(), await stream.read()]
        async with harness.client() as client:
            rest = await changes(client.watch("job", after=first[-1].position))
            whole = await changes(client.watch("job", after=submitted.position))
            assert types(first) + types(rest) == types(whole)
            positions = [message.position for message in whole[1:-1]]
            assert len(set(positions)) == len(positions)
            assert (await changes(client.watch("job")))[-1].end.state == "succeeded"
            ahead = await refusal(client.watch("job", after="999999").read())
            assert (ahead.code(), "is ahead of the cluster" in str(ahead.details())) == (Code.INVALID_ARGUMENT, True)


async def test_jobs_are_listed_by_what_rest_can_select() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        for name in ("a", "b", "c"):
            await client.submit(name, seconds=60)
        page = await client.call("List", pb.ListRequest(limit=2, labels={"team": "blue"}))
        assert ([job.name for job in page.jobs], page.total) == (["c", "b"], 3)
        rest = await client.call("List", pb.ListRequest(limit=2, after=page.next))
        assert ([job.name for job in rest.jobs], rest.next) == (["a"], "")
        assert [job.name for job in (await client.call("List", pb.ListRequest(text="b"))).jobs] == ["b"]
        assert not (await client.call("List", pb.ListRequest(namespace="other"))).jobs
        error = await refusal(client.call("List", pb.ListRequest(states=["lazy"], limit=5000)))
        assert error.code() is Code.INVALID_ARGUMENT
        assert fields(error) == ["states[0]", "limit"]


def fields(error: grpc.aio.AioRpcError) -> list[str]:
    """The paths in the standard details of an error."""
    from google.rpc import error_details_pb2

    bad = error_details_pb2.BadRequest()
    [detail] = status_of(error).details
    assert detail.Unpack(bad)
    return [violation.field for violation in bad.field_violations]


def status_of(error: grpc.aio.AioRpcError) -> Any:
    from google.rpc import status_pb2

    metadata: Any = error.trailing_metadata()  # pairs, whatever its type says
    return status_pb2.Status.FromString(dict(metadata)["grpc-status-details-bin"])


async def test_a_cancelled_job_ends_its_watch() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        await client.submit(seconds=600)
        stream = client.watch("job")
        assert (await stream.read()).HasField("job")
        answer = await client.call("Cancel", pb.CancelRequest(job="job", now=True))
        assert answer.job.state in ("stopping", "cancelled")
        assert (await changes(stream))[-1].end.state == "cancelled"
        again = await client.call("Cancel", pb.CancelRequest(job="job"))
        assert again.job.state == "cancelled"


async def test_a_manifest_that_is_wrong_is_refused_with_its_fields() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        wrong = "apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: NO}\nspec: {command: [x], count: -1}"
        error = await refusal(client.call("Submit", pb.SubmitRequest(manifest=wrong)))
        assert error.code() is Code.INVALID_ARGUMENT
        assert fields(error) == ["metadata.name", "spec.count"]
        error = await refusal(client.call("Submit", pb.SubmitRequest(manifest="a: [")))
        assert error.code() is Code.INVALID_ARGUMENT
        error = await refusal(client.submit(idempotency_key="a b"))
        assert fields(error) == ["idempotency_key"]


async def test_a_repeated_key_returns_the_first_job() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        first = await client.submit(idempotency_key="k1")
        second = await client.submit(idempotency_key="k1")
        assert (first.created, second.created, first.job.id) == (True, False, second.job.id)


async def test_what_does_not_exist_is_not_found_and_a_name_that_is_none_is_invalid() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        for call in (
            client.call("Get", pb.GetRequest(job="nothing")),
            client.call("Cancel", pb.CancelRequest(job="nothing")),
            client.watch("nothing").read(),
            client.call("Logs", pb.LogsRequest(job="nothing")).read(),
        ):
            error = await refusal(call)
            assert (error.code(), "job 'nothing' does not exist" in str(error.details())) == (Code.NOT_FOUND, True)
        assert fields(await refusal(client.call("Get", pb.GetRequest(job="Not a name")))) == ["job"]


async def test_roles_are_those_of_rest() -> None:
    async with open_jobs_harness() as harness:
        async with harness.client(await harness.create_key(Role.SUBMITTER)) as client:
            await client.submit(seconds=60)
        async with harness.client(await harness.create_key(Role.VIEWER)) as client:
            assert (await client.call("Get", pb.GetRequest(job="job"))).job.name == "job"
            for call in (client.submit("other"), client.call("Cancel", pb.CancelRequest(job="job"))):
                error = await refusal(call)
                assert error.code() is Code.PERMISSION_DENIED
                assert "needs the role submitter, operator or admin" in str(error.details())


async def test_a_tenant_does_not_learn_of_the_jobs_of_another() -> None:
    async with open_jobs_harness() as harness:
        red, blue = await harness.create_tenant("red"), await harness.create_tenant("blue")
        async with harness.client(red) as client:
            job = (await client.submit(seconds=60)).job
            assert job.namespace == "red"
        async with harness.client(blue) as client:
            by_id = f"id:{job.id}"
            calls = [
                (method, kind(job=name, namespace=namespace))
                for name, namespace in (("job", "red"), (by_id, "red"), (by_id, ""))
                for method, kind in (("Get", pb.GetRequest), ("Cancel", pb.CancelRequest))
            ]
            for method, request in calls:
                assert (await refusal(client.call(method, request))).code() is Code.NOT_FOUND
            for stream in (client.watch("job", namespace="red"), client.watch(by_id)):
                assert (await refusal(stream.read())).code() is Code.NOT_FOUND
            assert not (await client.call("List", pb.ListRequest(namespace="*"))).jobs
            submit = client.submit("mine", namespace="red")
            assert (await refusal(submit)).code() is Code.NOT_FOUND


async def test_a_wrong_token_is_refused_before_anything_else() -> None:
    async with open_jobs_harness() as harness, harness.client("wrong") as client:
        for call in (client.submit(), client.watch("job").read(), client.call("Get", pb.GetRequest(job="?"))):
            error = await refusal(call)
            assert (error.code(), "Bearer TOKEN" in str(error.details())) == (Code.UNAUTHENTICATED, True)


async def test_guesses_of_tokens_are_limited() -> None:
    async with open_jobs_harness() as harness, harness.client("wrong") as client:
        codes = [(await refusal(client.call("Get", pb.GetRequest(job="job")))).code() for _ in range(21)]
        assert codes == [Code.UNAUTHENTICATED] * 20 + [Code.RESOURCE_EXHAUSTED]
        error = await refusal(client.call("Get", pb.GetRequest(job="job")))
        assert status_of(error).details[0].TypeName() == "google.rpc.RetryInfo"


async def test_streams_end_soon_after_their_key_was_revoked() -> None:
    async with open_jobs_harness(Limits(check_every_s=0.02)) as harness:
        new = await harness.create_key(Role.SUBMITTER)
        async with harness.client(new) as client:
            await client.submit(seconds=600)
            stream = client.watch("job")
            await stream.read()
            [key] = (await harness.gateway.identity.keys(10, None)).items
            await harness.gateway.identity.revoke_key(key.id)
            error = await refusal(changes(stream))
            assert (error.code(), "no longer valid" in str(error.details())) == (Code.UNAUTHENTICATED, True)
            await no_streams(harness.services)


async def no_streams(services: Any) -> None:
    async with asyncio.timeout(10):
        while services.calls.streams:
            await asyncio.sleep(0.005)


async def test_a_stream_ends_with_its_deadline_and_with_its_client() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        await client.submit(seconds=600)
        stream = client.call("Watch", pb.WatchJobRequest(job="job"), timeout=0.3)
        assert (await refusal(changes(stream))).code() is Code.DEADLINE_EXCEEDED
        await no_streams(harness.services)
        stream = client.watch("job")
        await stream.read()
        stream.cancel()
        await no_streams(harness.services)


async def test_messages_that_are_too_large_are_refused() -> None:
    async with open_jobs_harness() as harness, harness.client() as client:
        large = "#" * (jobs_service.MANIFEST_BYTES_MAX + jobs_service.REQUEST_BYTES_MAX)
        error = await refusal(client.call("Submit", pb.SubmitRequest(manifest=large)))
        assert (error.code(), "larger than" in str(error.details())) == (Code.INVALID_ARGUMENT, True)
        long = "a" * jobs_service.REQUEST_BYTES_MAX
        assert (await refusal(client.call("Get", pb.GetRequest(job=long)))).code() is Code.INVALID_ARGUMENT
        garbage = client.channel.unary_unary("/shunter.v1.Jobs/Get", bytes, pb.GetAnswer.FromString)
        error = await refusal(garbage(b"\xff\xff", metadata=client.metadata))
        assert (error.code(), fields(error)) == (Code.INVALID_ARGUMENT, ["request"])


async def test_streams_of_a_connection_are_limited() -> None:
    async with (
        open_jobs_harness(Limits(streams_per_connection_max=2, streams_max=3)) as harness,
        harness.client() as client,
        harness.client() as second,
    ):
        await client.submit(seconds=600)
        open_streams = [client.watch("job"), client.watch("job")]
        for stream in open_streams:
            await stream.read()
        error = await refusal(client.watch("job").read())
        assert (error.code(), "2 open streams" in str(error.details())) == (Code.RESOURCE_EXHAUSTED, True)
        third = second.watch("job")
        await third.read()
        error = await refusal(second.watch("job").read())
        assert (error.code(), "3 streams are open" in str(error.details())) == (Code.RESOURCE_EXHAUSTED, True)
        open_streams[0].cancel()
        await until_open(second)


async def until_open(client: Client) -> None:
    """A stream that was closed makes room for another one."""
    async with asyncio.timeout(10):
        while True:
            try:
                await client.watch("job").read()
                return
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.01)


async def test_idle_streams_and_calls_without_a_request_end() -> None:
    async with open_jobs_harness(Limits(idle_s=0.1, request_s=0.1)) as harness, harness.client() as client:
        await client.submit(seconds=600)
        error = await refusal(changes(client.watch("job")))
        assert (error.code(), "nothing happened for 0.1 s" in str(error.details())) == (Code.UNAVAILABLE, True)
        get: Any = client.channel.stream_unary("/shunter.v1.Jobs/Get", bytes, bytes)
        error = await refusal(get(metadata=client.metadata))
        assert (error.code(), "did not come within" in str(error.details())) == (Code.INVALID_ARGUMENT, True)
        await no_streams(harness.services)
