"""The address of each listener that a manager tells other managers and workers."""

from __future__ import annotations

import platform

import pytest

from shunter.app.listeners.addresses import Advertised

NODE = platform.node()


@pytest.mark.parametrize(
    ("listen", "other", "expected"),
    [
        ("10.0.0.1:1", "10.0.1.1:2", "10.0.1.1:2"),
        ("127.0.0.1:1", "10.0.1.1:2", "10.0.1.1:2"),
        ("10.0.0.1:1", "127.0.0.1:2", "127.0.0.1:2"),
        ("0.0.0.0:1", "10.0.1.1:2", "10.0.1.1:2"),
        ("10.0.0.1:1", "[fd00::1]:2", "[fd00::1]:2"),
        ("10.0.0.1:1", "0.0.0.0:2", "10.0.0.1:2"),
        ("[fd00::1]:1", "[::]:2", "[fd00::1]:2"),
        ("127.0.0.1:1", "0.0.0.0:2", f"{NODE}:2"),
        ("0.0.0.0:1", "[::]:2", f"{NODE}:2"),
    ],
)
def test_each_listener_is_reached_at_its_own_host(listen: str, other: str, expected: str) -> None:
    assert Advertised(listen, None).address_of(other) == expected


@pytest.mark.parametrize("other", ["10.0.1.1:2", "0.0.0.0:2", "127.0.0.1:2"])
def test_a_host_that_is_given_holds_for_all_listeners(other: str) -> None:
    assert Advertised("10.0.0.1:1", "m1.example").address_of(other) == "m1.example:2"
    assert Advertised("10.0.0.1:1", "fd00::7").address_of(other) == "[fd00::7]:2"


def test_a_listener_that_there_is_not_has_no_address() -> None:
    assert Advertised("10.0.0.1:1", None).address_of("") == ""
