"""What `shunter ca` does with the authority of a home. Works on files, with or without a manager that runs there."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.certificates.authority import AUTHORITY_LIFETIME_S, Authority, TrustedAuthority
from shunter.adapters.certificates.files import write_whole
from shunter.adapters.certificates.issuing import Subject, key_pem, make_key, utc
from shunter.app.home import Home
from shunter.model.errors import Conflict, Invalid, Problem
from shunter.model.identity.certified_names import Bearer, CertifiedName

LIFETIME_MIN_S = 60.0
LIFETIME_MAX_S = 36_525 * 86400.0
NAME_MAX = 253
SERVER = "server"
__all__ = [
    "Issued",
    "TrustedAuthority",
    "create_authority",
    "drop_authority",
    "issue_certificate",
    "list_authorities",
    "rotate_authority",
]
KINDS = (SERVER, str(Bearer.MANAGER), str(Bearer.WORKER))


@dataclass(frozen=True, slots=True)
class Issued:
    certificate: Path
    key: Path
    authorities: Path


def create_authority(name: str | None, lifetime_s: float | None) -> Authority:
    """Raises Conflict and Invalid."""
    authority = _authority()
    given = name or platform.node() or "shunter"
    authority.create(given, _checked(lifetime_s, AUTHORITY_LIFETIME_S), utc(time.time()))
    return authority


def rotate_authority(lifetime_s: float | None) -> TrustedAuthority:
    return _authority().rotate(_checked(lifetime_s, AUTHORITY_LIFETIME_S), utc(time.time()))


def drop_authority(id: str) -> None:
    _authority().drop(id)


def list_authorities() -> list[TrustedAuthority]:
    return _authority().trusted()


def issue_certificate(
    kind: str, name: str, hosts: Sequence[str], lifetime_s: float, folder: Path, *, replaces: bool
) -> Issued:
    """Write a key, its certificate and the trusted authorities into a folder. Raises Invalid and Conflict."""
    if kind not in KINDS:
        raise Invalid([Problem("KIND", "is not a kind of certificate", kind, f"use one of {', '.join(KINDS)}")])
    if not 0 < len(name) <= NAME_MAX or "/" in name or not name.isprintable():
        raise Invalid([Problem("NAME", "is not a name", name[:80], "use the name of the manager, node or server")])
    if kind == Bearer.WORKER and hosts:
        raise Invalid([Problem("--host", "does not apply to workers, which nobody connects to", None, "leave it out")])
    subject = Subject(None if kind == SERVER else CertifiedName(Bearer(kind), name), _hosts(kind, name, hosts))
    issued = Issued(folder / f"{kind}.crt", folder / f"{kind}.key", folder / "ca.crt")
    existing = next((each for each in (issued.certificate, issued.key) if each.exists()), None)
    if existing is not None and not replaces:
        raise Conflict(f"{existing} exists; choose another folder with --out, or replace it with --replace")
    authority, key = _authority(), make_key()
    certificate = authority.issue(subject, key.public_key(), _checked(lifetime_s, lifetime_s), utc(time.time()))
    try:
        write_whole(issued.key, key_pem(key))
        write_whole(issued.certificate, certificate, 0o644)
        write_whole(issued.authorities, authority.bundle(), 0o644)
    except OSError as error:
        raise Invalid([Problem("--out", f"cannot be written: {error.strerror}", str(folder))]) from error
    return issued


def _hosts(kind: str, name: str, hosts: Sequence[str]) -> tuple[str, ...]:
    return () if kind == Bearer.WORKER else tuple(dict.fromkeys((*hosts, *(() if hosts else (name,)))))


def _checked(lifetime_s: float | None, default_s: float) -> float:
    given = default_s if lifetime_s is None else lifetime_s
    if not LIFETIME_MIN_S <= given <= LIFETIME_MAX_S:
        raise Invalid([Problem("--valid-for", "is out of range", given, "use one minute to 100 years")])
    return given


def _authority() -> Authority:
    return Authority(Home.find().authority)
