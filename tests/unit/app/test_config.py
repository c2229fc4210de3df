"""config.toml: what it sets, what overrides it, and how mistakes are reported."""

from __future__ import annotations

import platform
import tomllib
from pathlib import Path

import pytest

from shunter.app.config import Config, parse_config, read_config
from shunter.app.options import MachineOptions, UpOptions
from shunter.engine.settings import EngineSettings
from shunter.model.errors import Invalid
from shunter.ports.store import Retention
from shunter.watcher.settings import WatcherSettings
from shunter.worker.settings import WorkerSettings

HOME = Path("/home/of/worker")


def parse(document: str) -> Config:
    return parse_config(tomllib.loads(document))


def refusals(document: str) -> dict[str, str]:
    """Where a document is refused, and in which words."""
    with pytest.raises(Invalid) as caught:
        parse(document)
    return {problem.field: str(problem) for problem in caught.value.problems}


@pytest.mark.parametrize("document", ["", "[worker]\n[nodes]\n[limits]\n", '[nodes]\nheartbeat = "auto"\n'])
def test_what_is_not_said_has_the_defaults_of_the_settings(document: str) -> None:
    config = parse(document)
    assert (config.watcher, config.engine) == (WatcherSettings(), EngineSettings())
    assert config.fill_options(UpOptions()) == UpOptions()
    assert config.worker_settings(HOME, MachineOptions()) == WorkerSettings(HOME, platform.node())


def test_no_file_is_a_configuration_too(tmp_path: Path) -> None:
    assert read_config(tmp_path / "config.toml") == Config()


def test_a_worker_is_as_the_file_says() -> None:
    config = parse("""
        [worker]
        name = "Engine-1"
        cpu = "1500m"
        memory = "2Gi"
        resources = {gpu = 2, disk = "1Ki"}
        labels = {disk = "ssd"}
        datacenter = "berlin"
        warm_keepers = 0
        log_age = "1h30m"
        log_total_max = "1Mi"
        cgroups = false
    """)
    assert config.worker_settings(HOME, MachineOptions()) == WorkerSettings(
        HOME,
        "Engine-1",
        {"cpu": 1500, "memory": 2 * 2**30, "gpu": 2, "disk": 1024},
        {"disk": "ssd"},
        "berlin",
        warm_keepers=0,
        cgroups=False,
        log_age_max_s=5400.0,
        log_total_max_bytes=2**20,
    )


def test_a_manager_is_as_the_file_says() -> None:
    config = parse("""
        cluster = {name = "yard", listen = "[::1]:1", workers_listen = "10.0.0.5:0", policy = "spread", insecure = true}
        nodes = {heartbeat = "500ms", timeout = 9}
        history = {jobs_age = 0, jobs_max = 1, events_age = "1d", events_max = 2, audit_age = "2d", audit_max = 3}
        limits = {jobs_max = 3, tasks_max = 4, inbox_max = 5, lost_max = 6, quarantine_jobs = 7}
    """)
    assert config.fill_options(UpOptions()) == UpOptions(
        name="yard", listen="[::1]:1", workers_listen="10.0.0.5:0", policy="spread", insecure=True
    )
    assert config.watcher == WatcherSettings(heartbeat_s=0.5, timeout_s=9.0)
    assert config.engine == EngineSettings(
        jobs_max=3,
        tasks_max=4,
        inbox_max=5,
        lost_max=6,
        quarantine_jobs=7,
        retention=Retention(0.0, 1, 86400.0, 2, 172_800.0, 3),
    )


def test_the_command_line_wins_over_the_file() -> None:
    config = parse("""
        cluster = {name = "yard", listen = "127.0.0.1:7070"}
        worker = {name = "a", cpu = 2, datacenter = "x", labels = {disk = "ssd", rack = "7"}, resources = {gpu = 1}}
    """)
    assert config.fill_options(UpOptions(name="other")) == UpOptions(name="other", listen="127.0.0.1:7070")
    said = MachineOptions(name="b", cpu="3", datacenter="y", labels={"disk": "hdd"}, resources={"gpu": "4"})
    settings = config.worker_settings(HOME, said)
    assert (settings.name, settings.datacenter) == ("b", "y")
    assert settings.capacity == {"cpu": 3000, "gpu": 4}
    assert settings.labels == {"disk": "hdd", "rack": "7"}


def test_all_problems_are_told_at_once_with_place_value_and_fix(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("""
        nodes = {heartbeat = "soon"}
        cluster = {polcy = "spread", policy = "spraed", listen = "7070", workers_listen = 7071}
        histroy = {}
        [worker]
        cpu = "lots"
        cgroups = "no"
    """)
    with pytest.raises(Invalid) as caught:
        read_config(file)
    assert [str(problem).partition("known policies")[0] for problem in caught.value.problems] == [
        "config.toml: nodes.heartbeat: must be a duration (got 'soon'); write it like 90s, 10m or 1h30m",
        "config.toml: cluster.polcy: unknown field; did you mean policy?",
        "config.toml: cluster.policy: unknown policy (got 'spraed'); did you mean spread? ",
        "config.toml: cluster.listen: is not a valid address (got '7070'); write it as HOST:PORT, like 127.0.0.1:7700",
        "config.toml: cluster.workers_listen: must be text (got 7071); put it in quotes",
        "config.toml: histroy: unknown field; did you mean history?",
        "config.toml: worker.cpu: must be a quantity (got 'lots'); write it like 2 or 500m",
        "config.toml: worker.cgroups: must be true or false (got 'no')",
    ]


def test_devices_are_named_by_id_and_the_command_line_wins_kind_by_kind() -> None:
    config = parse("""worker = {devices = {gpu = ["0", "1"], fpga = ["/dev/fpga0"]}}""")
    settings = config.worker_settings(HOME, MachineOptions(devices={"gpu": "2, 3"}))
    assert settings.devices == {"gpu": ("2", "3"), "fpga": ("/dev/fpga0",)}


@pytest.mark.parametrize("said", ["", "0,,1", "0,0", "a b"])
def test_devices_on_the_command_line_are_checked(said: str) -> None:
    with pytest.raises(Invalid, match="--device"):
        parse("").worker_settings(HOME, MachineOptions(devices={"gpu": said}))


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ("nodes = {heartbeat = '4s', timeout = '9s'}", "nodes.heartbeat"),
        ("nodes = {heartbeat = 0.01}", "nodes.heartbeat"),
        ("nodes = {heartbeat = '2h'}", "nodes.heartbeat"),
        ("nodes = {timeout = 0}", "nodes.timeout"),
        ("nodes = {timeout = 0.1, heartbeat = 0.05}", "nodes.timeout"),
        ("nodes = 3", "nodes"),
        ("limits = {lost_max = 256}", "limits.lost_max"),
        ("limits = {jobs_max = 0}", "limits.jobs_max"),
        ("history = {jobs_max = -1}", "history.jobs_max"),
        ("worker = {resources = {gpu = 0.5}}", "worker.resources.gpu"),
        ("worker = {labels = {'-' = 'x'}}", "worker.labels.-"),
        ("worker = {devices = {gpu = 2}}", "worker.devices.gpu"),
        ("worker = {devices = {gpu = []}}", "worker.devices.gpu"),
        ("worker = {devices = {gpu = ['0', '1', '0']}}", "worker.devices.gpu"),
        ("worker = {devices = {gpu = ['0,1']}}", "worker.devices.gpu"),
        ("worker = {devices = {cpu = ['0']}}", "worker.devices.cpu"),
        ("worker = {name = 'a b'}", "worker.name"),
        ("worker = {datacenter = 'Berlin'}", "worker.datacenter"),
    ],
)
def test_what_cannot_be_is_refused(document: str, field: str) -> None:
    assert list(refusals(document)) == [field]


def test_a_heartbeat_beyond_the_timeout_is_told_beside_other_problems() -> None:
    found = refusals("nodes = {heartbeat = '4s', timeout = '9s'}\nlimits = {jobs_max = 0}")
    assert "use at most 3.0 seconds" in found["nodes.heartbeat"] and "limits.jobs_max" in found


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[nodes]\nheartbeat = 2s\n", r"is not TOML: .*line 2"), (b"a = '\xff'", "cannot be read: .*utf-8")],
)
def test_a_file_that_is_no_toml_is_told_as_such(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(Invalid, match=rf"config\.toml: {words}"):
        read_config(file)


def test_a_file_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.mkdir()
    with pytest.raises(Invalid, match=r"config\.toml: cannot be read: .*directory"):
        read_config(file)
