"""Finds the keys that encrypt secrets: in a file that SHUNTER_SECRETS_KEY_FILE or config.toml names, in
SHUNTER_SECRETS_KEY, or in SHUNTER_HOME. Called by `app.manager`."""

from __future__ import annotations

import os
from pathlib import Path

from shunter.adapters.crypto.key_ring import KeyFile, KeyRing, KeyVariable
from shunter.app.home import Home

KEY_VARIABLE = "SHUNTER_SECRETS_KEY"
KEY_FILE_VARIABLE = "SHUNTER_SECRETS_KEY_FILE"


def build_secret_keys(home: Home, configured: str | None, *, is_alone: bool) -> KeyRing:
    """A manager that is alone makes the file in its home at the first use. Several managers need the same keys, so none
    of them makes any."""
    if file := secrets_key_file(configured):
        return KeyRing(KeyFile(file, may_create=False))
    if os.environ.get(KEY_VARIABLE):
        return KeyRing(KeyVariable(KEY_VARIABLE))
    return KeyRing(KeyFile(home.secrets_key, may_create=is_alone))


def secrets_key_file(configured: str | None) -> Path | None:
    """The file with keys outside of SHUNTER_HOME, which tasks must not read."""
    file = os.environ.get(KEY_FILE_VARIABLE) or configured
    return Path(file).absolute() if file else None
