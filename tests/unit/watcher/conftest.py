"""Fixtures for the watcher's tests."""

from __future__ import annotations

import pytest

from shunter.watcher import heartbeat_timing


@pytest.fixture
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are down after three heartbeats of a second, so that scenarios stay short."""
    monkeypatch.setattr(heartbeat_timing, "TIMEOUT_MIN_S", 3.0)
