"""Real clusters for campaigns of faults."""

from __future__ import annotations

from tests.e2e.conftest import home, make_home

__all__ = ["home", "make_home"]
