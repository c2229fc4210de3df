"""Secrets as callers of the gateway see them. Values are encrypted here; `tests/unit/engine/secrets` has the orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.crypto.key_ring import KeyFile, KeyRing
from shunter.model.errors import Conflict, Invalid
from shunter.ports.identity import TenantChange
from tests.unit.gateway.harness import GatewayHarness, run_scenario


def with_keys(harness: GatewayHarness, path: Path) -> KeyRing:
    keys = harness.engine.secrets.keys = KeyRing(KeyFile(path / "keys", may_create=True))
    return keys


@pytest.mark.parametrize("value", [b"\xff\xfe", b"a\0b"])
def test_a_value_that_is_no_text_can_be_a_file_but_no_variable(tmp_path: Path, value: bytes) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        with_keys(harness, tmp_path)
        secrets = harness.gateway.secrets
        await secrets.set("default", "key", value)
        with pytest.raises(Invalid, match="cannot be the variable KEY; use `file` instead of `env`"):
            await harness.run("a", secrets=[{"name": "key", "env": "KEY"}])
        await harness.run("a", secrets=[{"name": "key", "file": "key"}])
        await secrets.set("default", "word", "grün".encode())
        await harness.run("b", secrets=[{"name": "word", "env": "WORD"}])
        with pytest.raises(Conflict, match="unfinished jobs use secret 'word' as a variable"):
            await secrets.set("default", "word", value)

    run_scenario(scenario)


def test_a_cluster_without_secrets_gets_no_further_keys(tmp_path: Path) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        keys, secrets = with_keys(harness, tmp_path), harness.gateway.secrets
        first = await secrets.rotate_key()
        assert await secrets.rotate_key() == first
        assert (len(keys.ids()), first.added) == (1, False)
        await secrets.set("default", "a", b"v")
        second = await secrets.rotate_key()
        assert (second.added, second.resealed, len(keys.ids())) == (True, 1, 2)

    run_scenario(scenario)


def test_a_tenant_leaves_no_secret_to_who_gets_its_namespace_next(tmp_path: Path) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        with_keys(harness, tmp_path)
        gateway = harness.gateway
        await gateway.tenants.create("red", TenantChange(namespaces=("red", "red-2")))
        await gateway.secrets.set("red", "a", b"v")
        with pytest.raises(Conflict, match="tenant 'red' still has 1 secret"):
            await gateway.tenants.delete("red")
        await gateway.secrets.set("red-2", "a", b"v")
        with pytest.raises(Conflict, match="namespace 'red-2' still has 1 secret"):
            await gateway.tenants.update("red", TenantChange(namespaces=("red",)))
        await gateway.secrets.delete("red", "a")
        await gateway.secrets.delete("red-2", "a")
        await gateway.tenants.delete("red")

    run_scenario(scenario)
