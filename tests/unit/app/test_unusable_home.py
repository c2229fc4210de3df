"""A home that cannot be written gives a message that says what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from shunter.app.home import Home
from shunter.app.serve import start_error
from shunter.cli.main import run_command
from shunter.model.errors import Invalid


def test_a_home_that_cannot_be_created_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(Invalid, match="SHUNTER_HOME: cannot be used: Not a directory"):
        Home.find()


def test_a_home_whose_lock_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(Invalid, match="SHUNTER_HOME: cannot be used: Is a directory"):
        Home(tmp_path).lock()


def test_a_full_disk_is_named_when_a_cluster_starts(tmp_path: Path) -> None:
    """The error of a write has no name of a file."""
    home = Home(tmp_path)
    full = OSError(errno.ENOSPC, "No space left on device")
    assert "SHUNTER_HOME: cannot be used: No space left on device" in start_error(home, full)
    assert str(tmp_path) in start_error(home, full)
    assert start_error(home, OSError(errno.EADDRINUSE, "Address already in use")) == (
        "cannot start: Address already in use"
    )
    named = PermissionError(errno.EACCES, "Permission denied", "/a/file")
    assert start_error(home, named) == "cannot start: /a/file: Permission denied"


def test_an_error_of_a_write_has_no_error_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path))
    monkeypatch.setattr(Home, "find", full)
    assert run_command(["store", "verify"]) == 2
    assert capsys.readouterr().err == "shunter: error: No space left on device\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"pid": "x", "url": "u"}', '{"pid": 1e99, "url": "u"}', '{"pid": 5}', '{"pid": -1}']
)
def test_a_damaged_description_of_a_cluster_is_none(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    home.description.write_text(text)
    assert home.read_description() is None
