"""Log lines: actions with fields, `log.info("task.placed", task=..., node=...)`. A thin layer over `logging`, because
the usual structured-logging library takes a quarter of a second to import."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any

# Of the request that the present code works on. A field `trace_id` of its log lines; empty: it has none.
trace_id: ContextVar[str] = ContextVar("trace_id", default="")
ACTION, FIELDS = "action", "fields"  # attributes of a record, for handlers that write another form


class Log:
    """A named logger whose lines are `action key=value ...`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, action: str, **fields: Any) -> None:
        self._write(logging.DEBUG, action, fields)

    def info(self, action: str, **fields: Any) -> None:
        self._write(logging.INFO, action, fields)

    def warning(self, action: str, **fields: Any) -> None:
        self._write(logging.WARNING, action, fields)

    def error(self, action: str, **fields: Any) -> None:
        self._write(logging.ERROR, action, fields)

    def exception(self, action: str, **fields: Any) -> None:
        self._write(logging.ERROR, action, fields, exc_info=True)

    def _write(self, level: int, action: str, fields: dict[str, Any], exc_info: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            if trace := trace_id.get():
                fields.setdefault("trace_id", trace)
            text = " ".join([action, *(f"{key}={_quoted(value)}" for key, value in fields.items())])
            self._logger.log(level, "%s", text, exc_info=exc_info, extra={ACTION: action, FIELDS: fields})


def _quoted(value: Any) -> str:
    text = str(value)
    return repr(text) if not text or any(c in text for c in ' "=\n') else text
