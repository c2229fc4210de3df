"""The id of a worker's home: made once, and never read through a link."""

from __future__ import annotations

from pathlib import Path

from shunter.worker.identity import worker_id


def test_a_home_keeps_its_id_and_another_home_has_another(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = worker_id(tmp_path / "a")
    assert worker_id(tmp_path / "a") == first
    assert worker_id(tmp_path / "b") != first


def test_a_link_to_a_secret_is_replaced_and_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("0" * 32)
    home = tmp_path / "home"
    home.mkdir()
    (home / "id").symlink_to(secret)
    (home / "id.new").symlink_to(secret)
    made = worker_id(home)
    assert made != "0" * 32
    assert worker_id(home) == made
    assert (secret.read_text(), (home / "id").is_symlink()) == ("0" * 32, False)


def test_a_damaged_id_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("not an id")
    assert worker_id(tmp_path) == worker_id(tmp_path) != "not an id"
