"""The certified names of managers and of workers, each of one node. Read by the listener for workers; written by
`adapters.certificates`.

The name is a URI among the certificate's alternative names, so that no host name can be taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Bearer(StrEnum):
    MANAGER = "manager"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class CertifiedName:
    """`name` is that of the manager or of the node."""

    bearer: Bearer
    name: str

    @property
    def uri(self) -> str:
        return f"shunter://{self.bearer}/{_quote(self.name)}"

    def __str__(self) -> str:
        return f"{self.bearer} {self.name}"


_URI = re.compile(rf"shunter://({'|'.join(Bearer)})/([A-Za-z0-9._~%-]{{1,800}})")
_PLAIN = re.compile(r"[A-Za-z0-9._~-]")


def find_certified_name(alternative_names: Iterable[str]) -> CertifiedName | None:
    """The certified name; None if a certificate has none, or several."""
    found = [match for name in alternative_names if (match := _URI.fullmatch(name)) is not None]
    return CertifiedName(Bearer(found[0][1]), _unquote(found[0][2])) if len(found) == 1 else None


def _quote(name: str) -> str:
    """As in any URI: what is not plain becomes %XX."""
    return "".join(chr(byte) if _PLAIN.fullmatch(chr(byte)) else f"%{byte:02X}" for byte in name.encode())


def _unquote(text: str) -> str:
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())
    return data.decode(errors="replace")
