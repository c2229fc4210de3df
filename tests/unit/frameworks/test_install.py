"""An installation is done once, completely or not at all. A stand-in for uv lays out the files of a package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shunter.frameworks.install import InstallRequest, NotInstalled, install
from shunter.frameworks.locations import KINDS, MARKER_FILE, read_marker

UV = f"""#!{sys.executable}
import pathlib, sys
words = sys.argv[1:]
with open(pathlib.Path(__file__).with_name("asked"), "a") as asked:
    asked.write(" ".join(words) + "\\n")
if words[0] == "venv":
    python = pathlib.Path(words[-1]) / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
elif "9.9.9" in words[-1]:
    sys.exit("no such version")
else:
    home = pathlib.Path(words[words.index("--python") + 1]).parent.parent
    version = words[-1].partition("==")[2] or "4.0.1"
    for jar in (f"pyspark/jars/spark-core_2.13-{{version}}.jar", f"pyflink/lib/flink-dist-{{version}}.jar"):
        path = home / "lib" / "python3.11" / "site-packages" / jar
        path.parent.mkdir(parents=True)
        path.touch()
"""


@pytest.fixture
def uv_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What uv was asked for, a line each."""
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(UV)
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:/usr/bin:/bin")
    return uv.with_name("asked")


@pytest.mark.parametrize("name", KINDS)
def test_it_is_installed_in_an_environment_of_its_own(tmp_path: Path, uv_calls: Path, name: str) -> None:
    said: list[str] = []
    found = install(InstallRequest(KINDS[name]), said.append, tmp_path)
    assert (found.version, found.python) == ("4.0.1", str(tmp_path / name / "bin" / "python"))
    assert read_marker(tmp_path / name) == found
    assert [line.split()[0] for line in uv_calls.read_text().splitlines()] == ["venv", "pip"]
    assert said[-1] == f"{KINDS[name].title} 4.0.1 is installed in {tmp_path / name}"


def test_a_second_time_nothing_is_done(tmp_path: Path, uv_calls: Path) -> None:
    first = install(InstallRequest(KINDS["spark"]), print, tmp_path)
    before, said = uv_calls.read_text(), list[str]()
    assert install(InstallRequest(KINDS["spark"]), said.append, tmp_path) == first
    assert uv_calls.read_text() == before
    assert said == [f"Apache Spark 4.0.1 is already installed in {tmp_path / 'spark'}"]


def test_another_version_replaces_it_and_again_installs_it_anew(tmp_path: Path, uv_calls: Path) -> None:
    install(InstallRequest(KINDS["spark"]), print, tmp_path)
    assert install(InstallRequest(KINDS["spark"], version="4.1.0"), print, tmp_path).version == "4.1.0"
    assert "pyspark==4.1.0" in uv_calls.read_text()
    before = uv_calls.read_text()
    install(InstallRequest(KINDS["spark"], version="4.1.0", reinstall=True), print, tmp_path)
    assert len(uv_calls.read_text()) > len(before)


def test_one_that_was_broken_off_begins_anew(tmp_path: Path, uv_calls: Path) -> None:
    install(InstallRequest(KINDS["spark"]), print, tmp_path)
    (tmp_path / "spark" / MARKER_FILE).unlink()
    assert install(InstallRequest(KINDS["spark"]), print, tmp_path).version == "4.0.1"
    assert [line.split()[0] for line in uv_calls.read_text().splitlines()] == ["venv", "pip"] * 2


def test_one_that_fails_says_so_and_leaves_nothing(tmp_path: Path, uv_calls: Path) -> None:
    with pytest.raises(NotInstalled, match=r"could not install pyspark==9\.9\.9: uv ended with 1, see above"):
        install(InstallRequest(KINDS["spark"], version="9.9.9"), print, tmp_path)
    assert uv_calls.exists()
    assert not (tmp_path / "spark").exists()
