"""Shunter runs jobs on machines, from a laptop to a cluster. From Python: `with shunter.connect() as client: ...`

Names are loaded at first use, so that `import shunter` stays cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shunter.plugin_aliases import enable_old_paths

if TYPE_CHECKING:
    from shunter import aio as aio
    from shunter.sdk import errors as errors
    from shunter.sdk.client import Client as Client
    from shunter.sdk.client import Job as Job
    from shunter.sdk.client import connect as connect
    from shunter.sdk.errors import Busy as Busy
    from shunter.sdk.errors import Conflict as Conflict
    from shunter.sdk.errors import Gone as Gone
    from shunter.sdk.errors import Invalid as Invalid
    from shunter.sdk.errors import JobFailed as JobFailed
    from shunter.sdk.errors import NotFound as NotFound
    from shunter.sdk.errors import NotReachable as NotReachable
    from shunter.sdk.errors import Rejected as Rejected
    from shunter.sdk.errors import ShunterError as ShunterError
    from shunter.sdk.errors import TooLarge as TooLarge
    from shunter.sdk.errors import Unauthorized as Unauthorized
    from shunter.sdk.errors import Unavailable as Unavailable

__version__ = "0.3.0"

_MODULES = {"aio": "shunter.aio", "errors": "shunter.sdk.errors"}
_CLIENT = ("Client", "Job", "connect")
_ERRORS = (
    *("Busy", "Conflict", "Gone", "Invalid", "NotFound", "NotReachable", "Rejected", "ShunterError", "TooLarge"),
    *("JobFailed", "Unauthorized", "Unavailable"),
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _CLIENT:
        return getattr(import_module("shunter.sdk.client"), name)
    if name in _ERRORS:
        return getattr(import_module("shunter.sdk.errors"), name)
    raise AttributeError(f"module 'shunter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, *_CLIENT, *_ERRORS])


enable_old_paths()  # what was written for 0.1.0 finds the modules that have moved
