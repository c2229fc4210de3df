"""Which addresses count as this machine, where nothing but that protects a cluster."""

from __future__ import annotations

import pytest

from shunter.app.options import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_loopback_addresses_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["127.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "::", "0.0.0.0", "", "127.1"]
)
def test_other_names_may_be_any_machine(host: str) -> None:
    assert not is_loopback(host)
