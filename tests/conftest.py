"""What all tests share: a Docker daemon, a PostgreSQL server, the signals of a terminal, the profile of hypothesis, and
--no-skips."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.machine_limits import NO_BRIDGE, NO_CGROUPS, NO_COMPILER, NO_GO, NO_PODMAN_SERVICE, NO_ROOT, NO_TRACES
from tests.postgres_server import PostgresServer, running_server
from tests.services.docker_daemon import TestDaemon, shared_daemon, skip_reason

# A shell that starts the tests in the background makes them, and all that they start, ignore these signals.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# On a busy machine an example takes long to run, and long to generate.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make fuzz`: many more examples of everything that is tested with random input, and new ones each time.
FUZZ_EXAMPLES = int(os.environ.get("SHUNTER_FUZZ_EXAMPLES", "0"))
settings.register_profile(
    "fuzz", settings.get_profile("patient"), max_examples=FUZZ_EXAMPLES or 100, suppress_health_check=list(HealthCheck)
)
settings.load_profile("fuzz" if FUZZ_EXAMPLES else "patient")

TESTS = Path(__file__).parent
# Folders in the order of their longest tests, so that no process is left alone with a long one; quick ones come last.
SLOWEST_FIRST = ("upgrade", "e2e", "services", "simulation")

# A machine can deny these to a test. Everything else that a test needs can be installed.
MACHINE_LIMITS = (NO_ROOT, NO_BRIDGE, NO_CGROUPS, NO_PODMAN_SERVICE, NO_TRACES, NO_COMPILER, NO_GO)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="fail tests that are skipped because something is not installed",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {folder: rank for rank, folder in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(TESTS).parts[0], len(ranks)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.config.getoption("--no-skips") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(MACHINE_LIMITS):
            report.outcome, report.longrepr = "failed", f"--no-skips: {reason}"
    return report


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[TestDaemon]:
    """A private Docker daemon, in the folder that all xdist workers of a run share."""
    if reason := skip_reason():
        pytest.skip(reason)
    folder = tmp_path_factory.getbasetemp()
    with shared_daemon(folder if worker_id == "master" else folder.parent) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A private PostgreSQL server. Tests share it: each has a schema of its own, and leaves the server running."""
    with running_server() as server:
        yield server
