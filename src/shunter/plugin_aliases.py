"""Maps the modules that plugins and programs for 0.1.0 import to their present names. `import shunter` activates it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MODULE_BY_OLD_PATH = {
    "shunter.model.flights": "shunter.model.protocol.flight_records",
    "shunter.model.jobs": "shunter.model.job.spec",
    "shunter.model.situations": "shunter.model.protocol.scheduler_messages",
    "shunter.model.views": "shunter.model.rest.views",
    "shunter.planning.candidates": "shunter.planning.filter.filters",
    "shunter.planning.ledger": "shunter.planning.filter.node_ledger",
    "shunter.planning.scores": "shunter.planning.score.scores",
    "shunter.worker.task_log": "shunter.worker.runtimes.task_log",
}


def enable_old_paths() -> None:
    """From now on an old path can be imported. It is looked for last, so that other imports cost what they did."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)


class _OldPathFinder(MetaPathFinder, Loader):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MODULE_BY_OLD_PATH else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in place of the empty one, so that there is one of each class."""
        path = module.__name__
        warnings.warn(f"{path} has moved: import from shunter.plugins", DeprecationWarning, stacklevel=2)
        sys.modules[path] = import_module(MODULE_BY_OLD_PATH[path])


_FINDER = _OldPathFinder()
