"""Removes secrets from text that leaves the machine: log lines, and what `shunter debug bundle` packs. Used by `log`
and `app.diagnosis`."""

from __future__ import annotations

import re
from collections.abc import Iterable

REDACTED = "REDACTED"
SECRET_SIZE_MIN = 6  # a shorter text may be part of any word

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(shk_[a-z0-9]{10}_)[A-Za-z0-9_-]{20,}"), rf"\1{REDACTED}"),  # an API key; its id is public
    (re.compile(r"\bshs_[A-Za-z0-9_.=-]{20,}"), f"shs_{REDACTED}"),  # the session of a browser
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {REDACTED}"),
    (re.compile(r"([a-z][a-z0-9+.-]*://[^\s/:@]*):[^\s/@]+@"), rf"\1:{REDACTED}@"),  # a URL with a password
    (
        re.compile(
            r"(?i)\b([a-z0-9_.-]*(?:password|passwd|passphrase|secret|token|api_?key|private_?key)[a-z0-9_]*"
            r"[\"']?\s*[=:]\s*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s,;\"'}]+)"
        ),
        rf"\1{REDACTED}",
    ),
    (
        re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL),
        f"-----{REDACTED} PRIVATE KEY-----",
    ),
)
_HINT = re.compile(r"(?i)shk_|shs_|bearer|basic|://|passw|passphrase|secret|token|key")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets, and without whatever looks like one."""
    for secret in secrets:
        if len(secret) >= SECRET_SIZE_MIN:
            text = text.replace(secret, REDACTED)
    if _HINT.search(text) is not None:
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
    return text
