"""A private Prometheus and Alertmanager, of Debian's packages, on free ports of loopback, ended by process id."""

from __future__ import annotations

import json
import runpy
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCALE = 1 / 60
UP_MAX_S = 60.0
FIRE_MAX_S = 90.0
POLL_S = 0.2

CONFIG = """\
global:
  scrape_interval: 250ms
  scrape_timeout: 250ms
  evaluation_interval: 250ms
rule_files: [alerts.yml]
alerting:
  alertmanagers:
    - static_configs: [{{targets: ["{alertmanager}"]}}]
scrape_configs:
  - job_name: shunter
    scheme: {scheme}
    authorization: {{credentials_file: {key}}}
    tls_config: {{ca_file: "{ca}"}}
    static_configs: [{{targets: ["{target}"]}}]
"""


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


@dataclass(frozen=True, slots=True)
class Monitoring:
    prometheus: str
    alertmanager: str

    def query(self, expr: str) -> list[dict[str, Any]]:
        found = _get(f"http://{self.prometheus}/api/v1/query?query={urllib.parse.quote(expr)}")
        result: list[dict[str, Any]] = found["data"]["result"]
        return result

    def alerts(self) -> dict[str, Mapping[str, Any]]:
        """The alerts that have reached Alertmanager and are active, by name."""
        found = _get(f"http://{self.alertmanager}/api/v2/alerts?active=true")
        return {each["labels"]["alertname"]: each for each in found}

    def wait_until_fires(self, name: str) -> Mapping[str, Any]:
        return self._wait(name, fires=True)

    def wait_until_resolved(self, name: str) -> None:
        self._wait(name, fires=False)

    def _wait(self, name: str, *, fires: bool) -> Mapping[str, Any]:
        deadline_s = time.monotonic() + FIRE_MAX_S
        while time.monotonic() < deadline_s:
            found = self.alerts()
            if (name in found) == fires:
                return found.get(name, {})
            time.sleep(POLL_S)
        rules = _get(f"http://{self.prometheus}/api/v1/rules")["data"]["groups"][0]["rules"]
        rule = next(each for each in rules if each["name"] == name)
        raise AssertionError(f"{name} {'does not fire' if fires else 'fires still'}: {rule}")


@contextmanager
def running_monitoring(folder: Path, target: str, key: Path, ca: Path | None = None) -> Iterator[Monitoring]:
    """Both servers, which scrape one manager, with all times of the alerts scaled. `ca` signed its certificate."""
    for program, target_name in (("prometheus", "prometheus"), ("prometheus-alertmanager", "alertmanager")):
        if shutil.which(program) is None:
            pytest.skip(f"{target_name} not found: make setup-observability installs it")
    monitoring = Monitoring(free_address(), free_address())
    rules = runpy.run_path(str(ROOT / "scripts" / "generate_alerts.py"))["alert_rules"](SCALE)
    (folder / "alerts.yml").write_text(rules)
    config = CONFIG.format(
        alertmanager=monitoring.alertmanager,
        target=target,
        key=key,
        scheme="http" if ca is None else "https",
        ca=ca or "",
    )
    (folder / "prometheus.yml").write_text(config)
    (folder / "alertmanager.yml").write_text("route: {receiver: none, group_wait: 0s}\nreceivers: [{name: none}]\n")
    commands = (
        (
            "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/am",
            f"--web.listen-address={monitoring.alertmanager}", "--cluster.listen-address=",
        ),
        (
            "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address={monitoring.prometheus}", "--rules.alert.resend-delay=1s",
            "--query.lookback-delta=10s",
        ),
    )  # fmt: skip
    processes = []
    try:
        for command in commands:
            with (folder / f"{command[0]}.log").open("ab") as log:
                processes.append(subprocess.Popen(command, stdout=log, stderr=log, env={"GOMAXPROCS": "1"}))
        _wait_ready(f"http://{monitoring.alertmanager}/-/ready", folder)
        _wait_ready(f"http://{monitoring.prometheus}/-/ready", folder)
        yield monitoring
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(timeout=30)


def _wait_ready(url: str, folder: Path) -> None:
    deadline_s = time.monotonic() + UP_MAX_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if time.monotonic() > deadline_s:
                logs = "\n".join(log.read_text()[-800:] for log in folder.glob("*.log"))
                raise AssertionError(f"{url} does not answer:\n{logs}") from None
        time.sleep(POLL_S)


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:
        return json.load(response)
