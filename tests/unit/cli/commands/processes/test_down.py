"""`shunter down --cluster` stops the cluster of a home, never that of an address."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Shunter


def test_an_address_does_not_say_which_cluster_to_stop(shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHUNTER_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("SHUNTER_HOME", raising=False)
    refused = shunter("down", "--cluster", "--yes")
    assert refused.code == 2
    assert "SHUNTER_URL: does not say which cluster to stop: SHUNTER_HOME does; unset it" in refused.err
