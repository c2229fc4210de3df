"""Users that the cluster does not know by itself: an issuer of OpenID Connect vouches for them, or a plugin does. Used
by `gateway.authentication`."""

from __future__ import annotations

import re
from dataclasses import replace

from shunter.gateway.sign_in.plugin_users import PluginUsers
from shunter.model.identity.oidc import ExternalUser
from shunter.ports.security.token_issuer import TokenIssuer

_JWT = re.compile(r"eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")


class ExternalUsers:
    """The issuer, if there is one, checks JWTs; plugins check everything else."""

    def __init__(self, issuer: TokenIssuer | None = None, plugins: PluginUsers | None = None) -> None:
        self.issuer, self._plugins = issuer, plugins

    @property
    def is_empty(self) -> bool:
        return self.issuer is None and self._plugins is None

    @property
    def fingerprint(self) -> str:
        """Differs when the settings differ, so that users sign in again when roles are mapped in another way. It
        leaves out the path of the file with authorities, which may differ between managers."""
        plugins = () if self._plugins is None else self._plugins.names
        return repr((None if self.issuer is None else replace(self.issuer.settings, ca_file=""), plugins))

    def find(self, credential: str) -> ExternalUser | None:
        """Raises Unauthorized with the reason, where there is one that the sender may read."""
        if self.issuer is not None and _JWT.fullmatch(credential):
            return self.issuer.find(credential)
        return None if self._plugins is None else self._plugins.find(credential)

    async def prepare(self, credential: str) -> None:
        """Ask whoever must be asked, so that `find` can answer. Raises Unavailable, Busy."""
        if self.issuer is not None and _JWT.fullmatch(credential):
            await self.issuer.learn_key(credential)
        elif self._plugins is not None:
            await self._plugins.ask(credential)
