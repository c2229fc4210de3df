"""Every RPC of both gRPC services as every role, and as another tenant. An RPC that is missing here fails."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from shunter.model.identity.roles import PERMISSIONS, Role
from shunter.proto.v1 import external_scheduler_pb2 as scheduler_pb
from shunter.proto.v1 import external_scheduler_pb2_grpc as scheduler_grpc
from shunter.proto.v1 import jobs_pb2 as pb
from tests.services.jobs_harness import Client, manifest, open_jobs_harness

Code = grpc.StatusCode
MARKER = "zebra"  # in all that tenant red wrote, besides the names that are asked about
# By service and method: the operation whose permission it needs, and a request about what is in a namespace.
RPCS: dict[tuple[str, str], tuple[str, Any]] = {
    ("Jobs", "Submit"): ("submitJob", lambda space: pb.SubmitRequest(manifest=manifest("job"), namespace=space)),
    ("Jobs", "Get"): ("getJob", lambda space: pb.GetRequest(job="job", namespace=space, tasks_max=5)),
    ("Jobs", "List"): ("listJobs", lambda space: pb.ListRequest(namespace=space)),
    ("Jobs", "Watch"): ("followJob", lambda space: pb.WatchJobRequest(job="job", namespace=space)),
    ("Jobs", "Logs"): ("readJobLogs", lambda space: pb.LogsRequest(job="job", namespace=space)),
    ("Jobs", "Cancel"): ("stopJob", lambda space: pb.CancelRequest(job="job", namespace=space)),
    ("ExternalScheduler", "Watch"): ("connectScheduler", lambda _: scheduler_pb.WatchRequest(name="mine")),
    ("ExternalScheduler", "Decide"): ("connectScheduler", lambda _: scheduler_pb.Decision(token="none")),
    ("ExternalScheduler", "Renew"): ("connectScheduler", lambda _: scheduler_pb.RenewRequest(token="none")),
}
OF_CLUSTER = ("connectScheduler",)


def test_every_rpc_is_known() -> None:
    files = pb.DESCRIPTOR, scheduler_pb.DESCRIPTOR
    services = [service for file in files for service in file.services_by_name.values()]
    assert {(each.name, method.name) for each in services for method in each.methods} == RPCS.keys()


async def ask(client: Client, rpc: tuple[str, str], namespace: str) -> tuple[Code, str]:
    """The code, and all that is said: the answer or the first message of a stream, or the refusal."""
    service, method = rpc
    stub = client.stub if service == "Jobs" else scheduler_grpc.ExternalSchedulerStub(client.channel)  # type: ignore[no-untyped-call]
    call = getattr(stub, method)(RPCS[rpc][1](namespace), metadata=client.metadata, timeout=60)
    try:
        answer = await (call.read() if hasattr(call, "read") else call)
        return Code.OK, str(answer)
    except grpc.aio.AioRpcError as error:
        return error.code(), str(error.details())
    finally:
        call.cancel()


@pytest.mark.parametrize("role", list(Role))
async def test_a_role_may_call_what_its_permissions_say(role: Role) -> None:
    async with open_jobs_harness() as harness:
        async with harness.client() as client:
            await client.submit(seconds=60)
        async with harness.client(await harness.create_key(role)) as client:
            for rpc, (operation, _) in RPCS.items():
                code, said = await ask(client, rpc, "")
                is_denied = code is Code.PERMISSION_DENIED and "this needs the role" in said
                assert is_denied is (role not in PERMISSIONS[operation]), (rpc, code, said)


async def test_another_tenant_is_told_the_same_of_what_exists_and_of_what_never_did() -> None:
    async with open_jobs_harness() as harness:
        red = await harness.create_tenant("red")
        await harness.create_tenant("blue")
        blue = await harness.create_key(Role.ADMIN, tenant="blue")
        async with harness.client(red) as client:
            request = pb.SubmitRequest(manifest=manifest("job", 60).replace("team: blue", f"team: {MARKER}"))
            await client.call("Submit", request)
        async with harness.client(blue) as client:
            for rpc, (operation, _) in RPCS.items():
                code, said = await ask(client, rpc, "red")
                ghost_code, ghost_said = await ask(client, rpc, "ghost")
                assert (code, said) == (ghost_code, ghost_said.replace("ghost", "red")), rpc
                if operation in OF_CLUSTER:
                    assert (code, "cluster-wide credential" in said) == (Code.PERMISSION_DENIED, True)
                elif rpc != ("Jobs", "List"):
                    assert code is Code.NOT_FOUND, (rpc, said)
                for namespace in ("", "*"):
                    assert MARKER not in (await ask(client, rpc, namespace))[1], rpc
        async with harness.client(red) as client:
            assert MARKER in (await ask(client, ("Jobs", "Get"), "red"))[1]
