"""Which store a cluster uses: the command line before the file of SHUNTER_STORE_URL_FILE, before config.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shunter.app.config import parse_config
from shunter.app.storage.stores import choose_store
from shunter.model.errors import Invalid

PLAIN, SECRET = "postgresql://me@db/jobs", "postgresql://me:hunter2@db/jobs"


@pytest.fixture
def url_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "url"
    path.write_text(f"{SECRET}\n")
    monkeypatch.setenv("SHUNTER_STORE_URL_FILE", str(path))
    return path


def test_without_any_choice_it_is_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHUNTER_STORE_URL_FILE", raising=False)
    assert choose_store(None, None) == "sqlite"
    assert choose_store(None, SECRET) == SECRET
    assert choose_store("memory", SECRET) == "memory"


@pytest.mark.usefixtures("url_file")
def test_the_file_comes_before_the_configuration_and_after_the_command_line() -> None:
    assert choose_store(None, "memory") == SECRET
    assert choose_store(PLAIN, "memory") == PLAIN


def test_a_password_on_the_command_line_is_refused_with_the_fix() -> None:
    with pytest.raises(Invalid, match=r"--store: has a password.*PGPASSWORD.*SHUNTER_STORE_URL_FILE") as refusal:
        choose_store(SECRET, None)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("content", [None, "mysql://me:hunter2@db", ""])
def test_a_file_that_cannot_be_used_is_named(content: str | None, url_file: Path) -> None:
    url_file.unlink() if content is None else url_file.write_text(content)
    with pytest.raises(Invalid, match=r"SHUNTER_STORE_URL_FILE: ") as refusal:
        choose_store(None, None)
    assert "hunter2" not in str(refusal.value)


def test_the_configuration_may_have_a_password_and_no_other_store() -> None:
    assert parse_config({"cluster": {"store": SECRET}}).cluster["store"] == SECRET
    with pytest.raises(Invalid, match=r"cluster\.store: is not a store type"):
        parse_config({"cluster": {"store": "oracle"}})


def test_a_cluster_on_sqlite_does_not_load_asyncpg() -> None:
    modules = "sys, shunter.app.manager, shunter.app.storage.backup, shunter.app.storage.verify"
    script = f"import {modules}; sys.exit('asyncpg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
