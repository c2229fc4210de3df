"""A home that cannot be written gives a message that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.app.home import Home
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
