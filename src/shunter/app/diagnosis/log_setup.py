"""Where log lines of a process go, from which level on, and in which form. Called once by each process that serves.

    SHUNTER_LOG=warning                          everything from this level on
    SHUNTER_LOG=info,engine=debug,watcher=error  other levels for some packages
    SHUNTER_LOG_FORMAT=json                      a JSON object on each line

No line has a secret: whatever looks like one is replaced, and so are the secrets that this process knows."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from shunter.log import ACTION, FIELDS
from shunter.model.errors import Invalid, Problem
from shunter.model.redaction import redact

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
FORMATS = ("text", "json")
LEVELS_VARIABLE, FORMAT_VARIABLE = "SHUNTER_LOG", "SHUNTER_LOG_FORMAT"
PREFIX = "shunter."
ROOT = ""
VALUE_SIZE_MAX = 10_000  # of one field


class LogSetup:
    """`hide` adds a secret that must not be in any line from now on."""

    def __init__(self, secrets: set[str], handler: logging.Handler) -> None:
        self._secrets, self._handler = secrets, handler

    def hide(self, *secrets: str) -> None:
        self._secrets.update(filter(None, secrets))

    def close(self) -> None:
        logging.getLogger().removeHandler(self._handler)


def set_up_logging(
    default: int = logging.INFO, environment: Mapping[str, str] = os.environ, stream: TextIO | None = None
) -> LogSetup:
    """Raises Invalid."""
    levels = parse_levels(environment.get(LEVELS_VARIABLE, ""), default)
    form = environment.get(FORMAT_VARIABLE) or FORMATS[0]
    if form not in FORMATS:
        raise Invalid([Problem(FORMAT_VARIABLE, "is not a form of log lines", form, f"use {' or '.join(FORMATS)}")])
    secrets: set[str] = set()
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(secrets) if form == "json" else TextFormatter(secrets))
    root = logging.getLogger()
    root.addHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    return LogSetup(secrets, handler)


def parse_levels(text: str, default: int) -> dict[str, int]:
    """Levels by the name of a logger; that of the root is empty. Raises Invalid."""
    levels = {ROOT: default}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, level = part.rpartition("=")
        if level not in LEVELS or (equals and not name):
            fix = f"write LEVEL or PACKAGE=LEVEL, separated by commas; levels are {', '.join(LEVELS)}"
            raise Invalid([Problem(LEVELS_VARIABLE, "has no such level", part, fix)])
        levels[name if not name or name.startswith(PREFIX) else PREFIX + name] = LEVELS[level]
    return levels


class TextFormatter(logging.Formatter):
    def __init__(self, secrets: set[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._secrets)


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, action, and the fields of the line."""

    def __init__(self, secrets: set[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Any] = getattr(record, FIELDS, {})
        document = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "action": redact(getattr(record, ACTION, None) or record.getMessage(), self._secrets),
            **{name: self._value(name, value) for name, value in fields.items()},
        }
        if record.exc_info:
            document["exception"] = redact(self.formatException(record.exc_info), self._secrets)
        return msgspec.json.encode(document).decode()

    def _value(self, name: str, value: Any) -> Any:
        """A name may say that the value is a secret."""
        if value is None or isinstance(value, bool | int | float):
            return value
        text = redact(str(value)[:VALUE_SIZE_MAX], self._secrets)
        marked = f"{name}={text}"
        redacted = redact(marked)
        return text if redacted == marked else redacted.partition("=")[2]
