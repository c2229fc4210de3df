"""Finds the policies of this installation: the built-in ones and those of installed plugins."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from shunter import plugins
from shunter.log import Log
from shunter.planning.policies import REMOTE_PREFIX, Catalogue, PluginEntry

log = Log(__name__)


def find_policies(named: str | None = None, folders: Sequence[Path] = ()) -> Catalogue:
    """`named` is a policy named at the start; `module:Class` loads one that is not a plugin. Modules are looked for in
    the current directory, in `folders`, and where Python finds modules."""
    policies = _load_plugins(plugins.POLICIES)
    if named is not None and ":" in named and not named.startswith(REMOTE_PREFIX):
        policies.append(import_policy(named, folders))
    return Catalogue(policies, _load_plugins(plugins.FILTERS), _load_plugins(plugins.SCORES))


def import_policy(name: str, folders: Sequence[Path] = ()) -> PluginEntry:
    """The class that `module:Class` names."""
    module, _, target = name.partition(":")
    if module.endswith(".py") or "/" in module:
        fix = f"write {Path(module).stem}:{target}, in the directory of the file"
        return PluginEntry(name, f"module {module}", error="is the path of a file, not a module", fix=fix)
    searched = [str(folder) for folder in (Path.cwd(), *folders)]
    try:
        sys.path[:0] = searched
        return PluginEntry(name, f"module {module}", getattr(import_module(module), target))
    except (Exception, SystemExit) as error:  # third-party code may raise anything
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            fix = f"start the command in the directory of {module}.py"
            return PluginEntry(name, f"module {module}", error=f"no module {module} in {Path.cwd()}", fix=fix)
        return PluginEntry(name, f"module {module}", error=f"{type(error).__name__}: {error}")
    finally:
        for folder in searched:
            sys.path.remove(folder)


def _load_plugins(group: str) -> list[PluginEntry]:
    found = plugins.find_plugins(group)
    for plugin in found:
        if plugin.error:
            log.error("plugin.broken", group=group, name=plugin.name, source=plugin.source, error=plugin.error)
    return [PluginEntry(each.name, each.source, each.target, each.error) for each in found]
