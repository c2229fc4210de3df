"""A worker announces the address by which it reaches its manager."""

from __future__ import annotations

import pytest

from shunter.app.worker import local_address


@pytest.mark.parametrize("manager", ["127.0.0.1:7701", "localhost:7701"])
def test_with_a_manager_on_the_same_machine_it_is_the_loopback(manager: str) -> None:
    assert local_address(manager) in ("127.0.0.1", "::1")


def test_where_there_is_no_way_to_the_manager_it_has_none() -> None:
    assert local_address("no-such-host.invalid:7701") == ""
