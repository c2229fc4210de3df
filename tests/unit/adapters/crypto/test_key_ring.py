from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import pytest

from shunter.adapters.crypto.key_ring import KEYS_MAX, KeyFile, KeyRing, KeyVariable
from shunter.model.errors import Conflict
from shunter.model.secrets import SealedValue, associated_data
from shunter.ports.security.secret_keys import NoSecretKey

NAME = associated_data("default", "password")


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(KeyFile(tmp_path / "secrets.key", may_create=True))


def test_a_sealed_value_opens_under_its_own_name_only(ring: KeyRing) -> None:
    sealed = ring.seal(b"hush", NAME)
    assert b"hush" not in sealed.ciphertext
    assert ring.open(sealed, NAME) == b"hush"
    with pytest.raises(NoSecretKey, match="was altered"):
        ring.open(sealed, associated_data("default", "other"))


def test_an_altered_value_does_not_open(ring: KeyRing) -> None:
    sealed = ring.seal(b"hush", NAME)
    altered = bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:]
    with pytest.raises(NoSecretKey, match="was altered"):
        ring.open(SealedValue(sealed.key_id, sealed.nonce, altered), NAME)


def test_the_key_file_is_made_at_the_first_use_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    ring = KeyRing(KeyFile(path, may_create=True))
    assert ring.ids() == () and not path.exists()
    ring.seal(b"x", NAME)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_key_seals_and_the_old_one_still_opens(ring: KeyRing) -> None:
    before = ring.seal(b"hush", NAME)
    added = ring.add()
    assert ring.ids() == (added, before.key_id)
    assert ring.seal(b"hush", NAME).key_id == added
    assert ring.open(before, NAME) == b"hush"


def test_a_value_of_an_unknown_key_names_the_key_and_the_file(ring: KeyRing, tmp_path: Path) -> None:
    sealed = ring.seal(b"hush", NAME)
    other = KeyRing(KeyFile(tmp_path / "other.key", may_create=True))
    with pytest.raises(NoSecretKey, match=rf"key {sealed.key_id}, which .*other\.key does not have"):
        other.open(sealed, NAME)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    mine = KeyRing(KeyFile(path, may_create=True))
    sealed = mine.seal(b"hush", NAME)
    copy = tmp_path / "copy"
    other = KeyRing(KeyFile(copy, may_create=False))
    with pytest.raises(NoSecretKey):
        other.open(sealed, NAME)
    copy.write_text(path.read_text())
    assert other.open(sealed, NAME) == b"hush"


def test_a_manager_that_may_not_make_keys_says_what_to_do(tmp_path: Path) -> None:
    ring = KeyRing(KeyFile(tmp_path / "keys", may_create=False))
    with pytest.raises(NoSecretKey, match="every manager needs the same"):
        ring.seal(b"hush", NAME)
    with pytest.raises(Conflict, match="openssl rand"):
        ring.add()


@pytest.mark.parametrize(
    ("text", "fault"),
    [("\n", "has no key"), ("abc\n", "key 1 is not 32 bytes"), ("QUJD\n" * (KEYS_MAX + 1), "at most 16")],
)
def test_a_damaged_file_is_refused_and_not_replaced(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "keys"
    path.write_text(text)
    ring = KeyRing(KeyFile(path, may_create=True))
    with pytest.raises(NoSecretKey, match=fault):
        ring.seal(b"hush", NAME)
    assert path.read_text() == text


def test_keys_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (b64encode(os.urandom(32)).decode() for _ in range(2))
    monkeypatch.setenv("TEST_KEYS", second)
    before = KeyRing(KeyVariable("TEST_KEYS")).seal(b"hush", NAME)
    monkeypatch.setenv("TEST_KEYS", f"{first},{second}")
    ring = KeyRing(KeyVariable("TEST_KEYS"))
    assert ring.open(before, NAME) == b"hush"
    assert ring.seal(b"hush", NAME).key_id != before.key_id
    with pytest.raises(Conflict):
        ring.add()
