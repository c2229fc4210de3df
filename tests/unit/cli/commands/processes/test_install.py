"""The command install, as far as it goes without a package index."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cli.main import run_command


def test_what_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["install", "storm"]) == 2
    assert "'storm' is not a framework; use spark or flink" in capsys.readouterr().err


def test_a_version_belongs_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["install", "spark", "flink", "--version", "4.0.1"]) == 2
    assert "it applies to one framework" in capsys.readouterr().err


def test_a_home_that_is_set_is_used_and_nothing_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert run_command(["install", "spark"]) == 125
    assert f"SPARK_HOME: {tmp_path} does not contain Apache Spark; correct or unset" in capsys.readouterr().err
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.1.jar").touch()
    run_command(["install", "spark"])
    assert f"SPARK_HOME is set: using Apache Spark 4.0.1 in {tmp_path}" in capsys.readouterr().out
