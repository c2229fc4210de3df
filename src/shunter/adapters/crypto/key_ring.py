"""Encrypts with AES-256-GCM under keys that are given as text. Implements `ports.security.secret_keys` on a source of
such text: a file, or a variable of the environment. Used by managers; `cryptography` is imported at the first use.

A line is a key: 32 bytes in base64. The first key seals, and all of them open. The id of a key is derived from it, so
managers agree about ids without talking to each other."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from shunter.log import Log
from shunter.model.errors import Conflict
from shunter.model.secrets import SealedValue
from shunter.ports.security.secret_keys import NoSecretKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
NONCE_BYTES = 12
KEYS_MAX = 16  # in one file
KEY_ID_SIZE = 12
_NAMING = b"shunter secrets key 1\0"  # what an id is derived from besides the key
_MISSING_FIX = "every manager needs the same: 32 random bytes in base64 (`openssl rand -base64 32`)"

log = Log(__name__)


class KeySource(Protocol):
    """Where the text of the keys is."""

    name: str  # for messages
    may_create: bool  # whether this manager makes the first key

    def version(self) -> object:
        """Changes when the text does; None if there is none. Raises OSError."""
        ...

    def read(self) -> str:
        """Raises OSError and UnicodeDecodeError."""
        ...

    def write(self, text: str) -> None:
        """Replace the text, whole or not at all. Raises Conflict where it is not ours to write, and OSError."""
        ...


class KeyRing:
    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._version: object = None
        self._keys: dict[str, bytes] = {}  # by id, in the order of the text
        self._ciphers: dict[str, AESGCM] = {}
        self._problem = ""

    def ids(self) -> Sequence[str]:
        self._refresh()
        return tuple(self._keys)

    def ensure(self) -> str:
        self._refresh()
        if self._is_missing and self._source.may_create:
            return self.add()
        for id in self._keys:
            return id
        fix = f": {self._problem}" if self._problem else f"; {_MISSING_FIX}"
        raise NoSecretKey(f"{self._source.name} has no key for secrets{fix}")

    @property
    def _is_missing(self) -> bool:
        return self._version is None and not self._keys and not self._problem

    def add(self) -> str:
        self._refresh()
        if self._problem:
            raise NoSecretKey(f"{self._source.name} cannot be used{self._because()}")
        if len(self._keys) >= KEYS_MAX:
            fix = "remove the last lines of those that no secret needs any longer"
            raise Conflict(f"{self._source.name} has {len(self._keys)} keys, at most {KEYS_MAX} are allowed; {fix}")
        keys = [os.urandom(KEY_BYTES), *self._keys.values()]
        try:
            self._source.write("".join(f"{b64encode(key).decode()}\n" for key in keys))
        except OSError as error:
            raise NoSecretKey(f"{self._source.name} cannot be written: {error.strerror}") from error
        self._refresh()
        log.info("secrets_key.added", key=next(iter(self._keys)), keys=len(self._keys))
        return next(iter(self._keys))

    def seal(self, value: bytes, bound_to: bytes) -> SealedValue:
        id = self.ensure()
        nonce = os.urandom(NONCE_BYTES)
        return SealedValue(id, nonce, self._cipher(id).encrypt(nonce, value, bound_to))

    def open(self, sealed: SealedValue, bound_to: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        if sealed.key_id not in self._keys:
            self._refresh()
        if sealed.key_id not in self._keys:
            raise NoSecretKey(
                f"it was encrypted with key {sealed.key_id}, which {self._source.name} does not have{self._because()}"
            )
        try:
            return self._cipher(sealed.key_id).decrypt(sealed.nonce, sealed.ciphertext, bound_to)
        except (InvalidTag, ValueError) as error:
            raise NoSecretKey("its stored value was altered; set it again") from error

    def _cipher(self, id: str) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if id not in self._ciphers:
            self._ciphers[id] = AESGCM(self._keys[id])
        return self._ciphers[id]

    def _refresh(self) -> None:
        """Read the text again if it has changed. What was read last counts while it cannot be read."""
        try:
            version = self._source.version()
            if version == self._version and not self._problem:
                return
            keys = [] if version is None else _parse(self._source.read())
        except (OSError, ValueError) as error:
            problem = (error.strerror or repr(error)) if isinstance(error, OSError) else str(error)
            if problem != self._problem:
                log.error("secrets_key.unreadable", source=self._source.name, error=problem)
            self._problem = problem
            return
        self._version, self._problem = version, ""
        self._keys = {key_id(key): key for key in keys}
        self._ciphers = {id: cipher for id, cipher in self._ciphers.items() if id in self._keys}

    def _because(self) -> str:
        return f": {self._problem}" if self._problem else ""


class KeyFile:
    """Readable by its owner only. `may_create`: the file is in the manager's home, which makes it at the first use."""

    def __init__(self, path: Path, *, may_create: bool) -> None:
        self.name, self.may_create = str(path), may_create
        self._path = path

    def version(self) -> object:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> str:
        return self._path.read_text(encoding="ascii")

    def write(self, text: str) -> None:
        if not self.may_create:
            raise Conflict(
                f"the keys in {self.name} are yours to change: on every manager, write a new first line (32 random "
                "bytes in base64: `openssl rand -base64 32`), keep the old ones, then rotate again"
            )
        draft = self._path.with_name(f".{self._path.name}.draft")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            draft.replace(self._path)
            _sync_folder(self._path.parent)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


class KeyVariable:
    """Keys in a variable of the environment, separated by spaces or commas."""

    may_create = False

    def __init__(self, name: str) -> None:
        self.name = name

    def version(self) -> object:
        return os.environ.get(self.name)

    def read(self) -> str:
        return os.environ.get(self.name, "").replace(",", "\n").replace(" ", "\n")

    def write(self, text: str) -> None:  # noqa: ARG002
        raise Conflict(f"the keys are in {self.name}: put a new one in front there, and start the managers again")


def key_id(key: bytes) -> str:
    return sha256(_NAMING + key).hexdigest()[:KEY_ID_SIZE]


def _parse(text: str) -> list[bytes]:
    """Raises ValueError, whose text has no key."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise ValueError("it has no key")
    if len(lines) > KEYS_MAX:
        raise ValueError(f"it has {len(lines)} keys, at most {KEYS_MAX} are allowed")
    keys = []
    for number, line in enumerate(lines, 1):
        try:
            key = b64decode(line, validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise ValueError(f"key {number} is not {KEY_BYTES} bytes in base64")
        keys.append(key)
    return keys


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
