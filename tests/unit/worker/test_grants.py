"""Host ports and devices: nothing has two owners at a time."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.job.spec import Port
from shunter.worker.grants import Devices, HostPorts, NoFreePort

WEB = (Port("web", 0), Port("admin", 0, host_port=9999))


def test_a_fixed_port_is_used_as_it_is_and_a_free_one_is_chosen_once() -> None:
    ports = HostPorts(31_000, 31_009)
    first = ports.allocate((1, 0, 0, 1), WEB)
    assert first["admin"] == 9999
    assert 31_000 <= first["web"] <= 31_009
    assert ports.allocate((1, 0, 0, 1), WEB) == first
    assert ports.allocate((1, 0, 1, 1), WEB)["web"] != first["web"]


def test_a_port_that_somebody_listens_on_is_not_chosen() -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        taken = other.getsockname()[1]
        with pytest.raises(NoFreePort, match=str(taken)):
            HostPorts(taken, taken).allocate((1, 0, 0, 1), (Port("web", 0),))


def test_freed_ports_come_again_only_after_all_others() -> None:
    ports = HostPorts(31_010, 31_014)
    seen = []
    for index in range(10):
        seen.append(ports.allocate((1, 0, index, 1), (Port("web", 0),))["web"])
        ports.release(1, 0, 1, [index])
    assert len(set(seen[:5])) == 5
    assert seen[:5] == seen[5:]


def test_ports_of_an_earlier_life_are_not_handed_out() -> None:
    ports = HostPorts(31_020, 31_021)
    ports.adopt((1, 0, 0, 1), {"web": 31_020})
    assert ports.allocate((1, 0, 1, 1), (Port("web", 0),)) == {"web": 31_021}
    with pytest.raises(NoFreePort):
        ports.allocate((1, 0, 2, 1), (Port("web", 0),))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=40))
def test_no_device_ever_has_two_holders(steps: list[tuple[int, int]]) -> None:
    devices = Devices({"gpu": ["0", "1", "2", "3"]})
    held: dict[int, list[str]] = {}
    for holder, wanted in steps:
        if holder in held:
            devices.release(holder)
            del held[holder]
            continue
        taken = devices.allocate(holder, {"gpu": wanted, "licence": 1})
        release = 4 - sum(map(len, held.values()))
        assert (taken is None) == (wanted > release)
        if taken is not None:
            held[holder] = taken.get("gpu", [])
            assert len(held[holder]) == wanted
    used = [id for ids in held.values() for id in ids]
    assert len(used) == len(set(used))


def test_devices_that_are_set_no_longer_are_not_handed_out_again() -> None:
    devices = Devices({"gpu": ["1", "2"]})
    devices.adopt("found", {"gpu": ["0", "1"]})
    assert devices.allocate("other", {"gpu": 2}) is None
    devices.release("found")
    assert devices.allocate("other", {"gpu": 2}) == {"gpu": ["1", "2"]}
