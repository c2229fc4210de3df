"""The sign-ins of this user, by cluster, in a file that only the user reads. Written by `shunter login` and
`shunter logout`, and when tokens are renewed.

Several programs may use it at once: whoever changes it holds its lock."""

from __future__ import annotations

import base64
import binascii
import fcntl
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shunter.sdk.contexts import contexts_path
from shunter.sdk.errors import Invalid, Problem

if TYPE_CHECKING:
    from shunter.sdk.login.issuer_client import TokenAnswer

SIZE_MAX_BYTES = 2**20
ACCESS, ID = "access_token", "id_token"


@dataclass(frozen=True, slots=True)
class Login:
    """`kind` says which of the issuer's tokens the cluster accepts."""

    issuer: str
    client_id: str
    kind: str
    token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_s: float
    ca_file: str = ""


def choose_token(answer: TokenAnswer, audiences: Collection[str]) -> tuple[str, str, float] | None:
    """The kind, the token and when it expires, of the one that is for the cluster. None if none is."""
    for kind, token in ((ACCESS, answer.access_token), (ID, answer.id_token)):
        claims = read_claims(token)
        listed = claims.get("aud")
        listed = listed if isinstance(listed, list) else [listed]
        expires_s = claims.get("exp")
        if any(each in audiences for each in listed) and isinstance(expires_s, int | float):
            return kind, token, float(expires_s)
    return None


def read_claims(token: str) -> Mapping[str, object]:
    """What a token says; nothing of it is verified. Empty for what is no JWT."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, binascii.Error, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def logins_path(environment: Mapping[str, str] = os.environ) -> Path:
    return contexts_path(environment).with_name("logins.json")


def load_logins(path: Path) -> dict[str, Login]:
    """The sign-ins by cluster. Raises Invalid if the file is damaged, or if others may read it."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            data = file.read(SIZE_MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Invalid([Problem(str(path), f"cannot be read ({error.strerror})")]) from error
    if mode & 0o077:
        fix = f"run: chmod 600 {path}"
        raise Invalid([Problem(str(path), f"contains tokens, but others may read it (mode {mode:o})", fix=fix)])
    try:
        return {str(cluster): Login(**fields) for cluster, fields in json.loads(data).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Invalid([Problem(str(path), "is damaged", fix="delete it, and run: shunter login")]) from error


@contextmanager
def changed_logins(path: Path) -> Iterator[dict[str, Login]]:
    """All sign-ins, to change within the block; they are written at its end. Others wait for that."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(path.with_name(".logins.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        logins = load_logins(path)
        before = dict(logins)
        yield logins
        if logins != before:
            _save(path, logins)
    finally:
        os.close(lock)


def _save(path: Path, logins: Mapping[str, Login]) -> None:
    """All or nothing, with mode 0600."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".logins-")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump({cluster: asdict(login) for cluster, login in logins.items()}, file, indent=2)
            file.write("\n")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
