"""Addresses of the listener for external schedulers: loopback without a token, others with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.app.config import parse_config
from shunter.app.options import UpOptions
from shunter.app.serve import Readiness, run


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path))
    return tmp_path


def refusal(options: UpOptions) -> str:
    told: list[Readiness] = []
    assert run(options, told.append) == 2
    assert told[0].is_rejected
    return told[0].error


@pytest.mark.parametrize("address", ["0.0.0.0:8082", "10.0.0.5:8082", "[::]:8082"])
@pytest.mark.parametrize("insecure", [True, False])
def test_an_open_door_is_on_loopback_only_whatever_else_is_allowed(address: str, insecure: bool) -> None:
    told = refusal(UpOptions(external_listen=address, external_open=True, insecure=insecure))
    assert "--external-listen: would give other machines access without a token" in told and address in told
    assert "listen on 127.0.0.1, or remove --external-open" in told


def test_a_door_with_a_token_is_for_other_machines_only_where_that_is_allowed() -> None:
    assert "without TLS" in refusal(UpOptions(external_listen="0.0.0.0:8082"))


def test_to_open_a_door_that_is_nowhere_is_refused() -> None:
    assert "--external-listen 127.0.0.1:8082" in refusal(UpOptions(external_open=True))


def test_the_file_may_say_it_too(home: Path) -> None:
    config = parse_config({"external": {"listen": "127.0.0.1:8082", "open": True, "delete_absent_304": True}})
    options = config.fill_options(UpOptions())
    assert (options.external_listen, options.external_open, options.external_absent_304) == (
        "127.0.0.1:8082", True, True,
    )  # fmt: skip
    (home / "config.toml").write_text('[external]\nlisten = "0.0.0.0:8082"\nopen = true\n')
    assert "without a token" in refusal(UpOptions())
