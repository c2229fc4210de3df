"""Which policies there are, which one decides, and changing that while the cluster runs. Called by the gateway."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.log import Log
from shunter.model.errors import Invalid
from shunter.model.views import PolicyPage, PolicyView
from shunter.planning.planner import POLICY_DEFAULT
from shunter.planning.policies import Catalogue, Offer

SETTING = "policy"  # the name of the cluster's setting
log = Log(__name__)


class Policies:
    def __init__(self, engine: Engine, catalogue: Catalogue) -> None:
        self._engine, self._catalogue = engine, catalogue

    def page(self) -> PolicyPage:
        views = [self._view(offer) for offer in self._catalogue.offers()]
        return PolicyPage(views, None, len(views))

    async def use(self, name: str) -> PolicyPage:
        """At once, and after a restart too. Raises Invalid for one that cannot be used."""
        policy = self._catalogue.build(name)
        await self._engine.set_settings({SETTING: name})
        self._engine.use_policy(policy)
        log.info("policy.changed", policy=name)
        return self.page()

    def _view(self, offer: Offer) -> PolicyView:
        brain = self._engine.brain
        is_active = offer.kind != "filter" and not offer.error and offer.name == brain.name
        error = offer.error or (brain.trouble if is_active else "")
        return PolicyView(
            name=offer.name,
            kind=offer.kind,
            source=offer.source,
            active=is_active or (offer.kind == "filter" and not offer.error),
            error=error or None,
            failures=brain.failures if is_active else 0,
        )


def choose_policy(catalogue: Catalogue, kept: str, configured: str | None) -> str:
    """Who decides at the start: what was set while the cluster ran, else what is configured, else the default. A
    plugin that is gone since must not keep the cluster from starting."""
    for name in (kept, configured):
        if name:
            try:
                catalogue.build(name)
                return name
            except Invalid as error:
                if name == configured:
                    raise
                log.error("policy.gone", policy=name, error=error.detail)
    return POLICY_DEFAULT
