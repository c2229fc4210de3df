"""Values of secrets in orders to workers, and tasks whose secrets cannot be read."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import pytest
from msgspec.structs import replace

from shunter.adapters.crypto.key_ring import KeyFile, KeyRing
from shunter.gateway.explain.why import reasons_of
from shunter.model.errors import Conflict, Invalid
from shunter.model.job.spec import SYSTEM, JobSpec, SecretRef
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.worker_messages import Orders
from shunter.model.secrets import SealedValue, associated_data
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import service, system

TOKEN = SecretRef("token", env="TOKEN")


def with_secret(job: JobSpec, ref: SecretRef = TOKEN) -> JobSpec:
    group = job.groups[0]
    task = replace(group.task, secrets=(ref,))
    return replace(job, groups=(replace(group, task=task),))


def keys_in(path: Path) -> KeyRing:
    return KeyRing(KeyFile(path / "keys", may_create=True))


async def set_token(harness: Harness, value: bytes = b"hush", **fields: bool) -> SealedValue:
    sealed = harness.engine.secrets.keys.seal(value, associated_data("default", "token"))
    await harness.engine.set_secret("default", "token", sealed, "ada", **fields)
    return sealed


def values_sent(harness: Harness) -> list[bytes | None]:
    sent = [each for _, each in harness.workers.sent if isinstance(each, Orders)]
    return [ref.value for orders in sent for task in orders.specs.values() for ref in task.secrets]


def reasons(harness: Harness, name: str) -> str:
    job = harness.engine.state.find_job("default", name)
    assert job is not None
    return "\n".join(each.text for each in reasons_of(harness.engine.state, job))


def states(harness: Harness, name: str) -> list[str]:
    job = harness.engine.state.find_job("default", name)
    assert job is not None
    table = harness.engine.state.table
    return [TaskState(table.state[each.base]).name.lower() for each in job.task_sets]


def test_only_orders_have_the_value(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.secrets.keys = keys_in(tmp_path)
        await set_token(harness)
        await harness.join("n1")
        await harness.submit(with_secret(spec("a")))
        assert values_sent(harness) == [b"hush"]
        job = harness.engine.state.find_job("default", "a")
        assert job is not None and b"hush" not in job.spec_version.body

    run_scenario(scenario)


@pytest.mark.parametrize("type", ["batch", SYSTEM])
def test_an_altered_secret_queues_its_tasks_again_at_once_and_stops_nothing_else(tmp_path: Path, type: str) -> None:
    async def scenario(harness: Harness) -> None:
        kinds = {"batch": spec("a"), SYSTEM: system(name="a")}
        keys = harness.engine.secrets.keys = keys_in(tmp_path)
        good = keys.seal(b"hush", associated_data("default", "token"))
        bad = SealedValue(good.key_id, good.nonce, b"x" * len(good.ciphertext))
        await harness.engine.set_secret("default", "token", bad, "ada")
        await harness.join("n1")
        await harness.submit(with_secret(kinds[type]), spec("b"))
        assert [order.job_name for _, order in harness.orders()] == ["b"]
        assert "was altered" in reasons(harness, "a")
        assert states(harness, "a") == ["queued"]
        assert any("was altered" in (event.reason or "") for event in await harness.events() if event.job == "a")
        await harness.engine.set_secret("default", "token", good, "ada")
        await harness.settle()
        assert values_sent(harness) == [b"hush"]

    run_scenario(scenario)


def test_tasks_wait_while_the_leader_lacks_the_key_and_run_as_soon_as_it_is_there(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.secrets.keys = keys_in(tmp_path)
        sealed = await set_token(harness)
        await harness.join("n1")
        file = tmp_path / "keys"
        text = file.read_text()
        file.write_text(b64encode(os.urandom(32)).decode())
        await harness.submit(with_secret(spec("a")), spec("b"))
        assert [order.job_name for _, order in harness.orders()] == ["b"]
        assert f"is encrypted with key {sealed.key_id}, which the leader does not have" in reasons(harness, "a")
        file.write_text(file.read_text() + "\n" + text)
        await harness.settle(1.1)
        assert values_sent(harness) == [b"hush"]

    run_scenario(scenario)


def test_a_key_that_goes_before_the_order_is_sent_is_waited_for(tmp_path: Path) -> None:
    class Fickle(KeyRing):
        is_gone = False

        def open(self, sealed: SealedValue, bound_to: bytes) -> bytes:
            if self.is_gone:
                self._keys.clear()  # as if the file had been replaced after the round began
            return super().open(sealed, bound_to)

    async def scenario(harness: Harness) -> None:
        file = KeyFile(tmp_path / "keys", may_create=True)
        keys = harness.engine.secrets.keys = Fickle(file)
        await set_token(harness)
        keys.is_gone = True
        await harness.join("n1")
        await harness.submit(with_secret(spec("a")))
        assert values_sent(harness) == []
        assert states(harness, "a") == ["queued"]
        keys.is_gone = False
        (tmp_path / "keys").write_text((tmp_path / "keys").read_text() + "\n")
        await harness.settle(2.1)
        assert values_sent(harness) == [b"hush"]

    run_scenario(scenario)


def test_a_node_whose_worker_does_not_know_secrets_gets_no_task_with_one(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.secrets.keys = keys_in(tmp_path)
        await set_token(harness)
        harness.attributes = {"shunter": "0.2.0"}
        await harness.join("old")
        await harness.submit(with_secret(spec("a")), with_secret(system(name="s")), spec("b"))
        assert [order.job_name for _, order in harness.orders()] == ["b"]
        text = "its worker is older than 0.3.0 and cannot give secrets to tasks; upgrade it"
        assert text in reasons(harness, "a")
        assert text in reasons(harness, "s")
        with pytest.raises(Invalid, match="what the worker can do"):
            await harness.engine.attribute_node("old", {"secrets": "true"})
        harness.attributes = {"secrets": "true"}
        await harness.join("new")
        assert sorted(values_sent(harness), key=str) == [b"hush", b"hush"]

    run_scenario(scenario)


def test_a_variable_must_be_text_when_it_is_referenced_and_when_it_is_set(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.secrets.keys = keys_in(tmp_path)
        await set_token(harness, b"\xff", is_text=False)
        with pytest.raises(Invalid, match="is not text, so it cannot be the variable TOKEN; use `file` instead"):
            await harness.submit(with_secret(spec("a")))
        await harness.submit(with_secret(spec("a"), SecretRef("token", file="key")))
        await set_token(harness)
        await harness.submit(with_secret(spec("b")))
        with pytest.raises(Conflict, match="use secret 'token' as a variable, so it must be text; use `file`"):
            await set_token(harness, b"\xff", is_text=False)
        await harness.restart_manager()
        harness.engine.secrets.keys = keys_in(tmp_path)
        with pytest.raises(Conflict, match="as a variable"):
            await set_token(harness, b"\xff", is_text=False)
        await harness.engine.delete_secret("default", "token", "ada")
        with pytest.raises(Conflict, match="as a variable"):
            await set_token(harness, b"\xff", is_text=False)

    run_scenario(scenario)


def test_an_update_of_a_service_names_secrets_that_do_not_exist(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.secrets.keys = keys_in(tmp_path)
        web = service(1, name="s")
        [submitted] = await harness.submit(web)
        with pytest.raises(Invalid, match="secret 'token' does not exist in namespace 'default'"):
            await harness.engine.update(submitted.job_id, with_secret(web), "ada")
        with pytest.raises(Invalid, match="secret 'token' does not exist in namespace 'default'"):
            await harness.submit(with_secret(web))

    run_scenario(scenario)
