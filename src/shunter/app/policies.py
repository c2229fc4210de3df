"""The policies that this installation offers: our own, and those of the plugins that are installed beside it."""

from __future__ import annotations

from shunter import plugins
from shunter.log import Log
from shunter.planning.policies import Brought, Catalogue

log = Log(__name__)


def find_policies() -> Catalogue:
    return Catalogue(_brought(plugins.POLICIES), _brought(plugins.FILTERS), _brought(plugins.SCORES))


def _brought(group: str) -> list[Brought]:
    found = plugins.find_plugins(group)
    for plugin in found:
        if plugin.error:
            log.error("plugin.broken", group=group, name=plugin.name, source=plugin.source, error=plugin.error)
    return [Brought(each.name, each.source, each.target, each.error) for each in found]
