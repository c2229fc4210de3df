"""The SQLite store keeps the contract of every store, and what only a file can be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.sqlite.store import SqliteStore

from .store import CONTRACT, check
from .store_material import Claim


@pytest.mark.parametrize("claim", CONTRACT)
async def test_sqlite_store(claim: Claim, tmp_path: Path) -> None:
    await check(claim, lambda: SqliteStore(tmp_path / "store.db"))
