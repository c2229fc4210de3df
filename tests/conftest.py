"""Servers that the tests of a run share, signals as a terminal would have them, and no haste for properties."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.services.docker_daemon import TestDaemon, shared_daemon, skip_reason

# Whoever starts the tests in the background lets them ignore these, and what they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# On a busy machine an example takes long, and it takes long to think of one.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[TestDaemon]:
    """A private Docker daemon. xdist's workers have folders of their own below one that they share."""
    if reason := skip_reason():
        pytest.skip(reason)
    folder = tmp_path_factory.getbasetemp()
    with shared_daemon(folder if worker_id == "master" else folder.parent) as daemon:
        yield daemon
