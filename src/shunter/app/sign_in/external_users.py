"""Builds what authenticates users that the cluster does not know by itself: the issuer, and plugins. Called by
`app.manager`, which runs what is built here in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from shunter import plugins
from shunter.app.options import UpOptions
from shunter.gateway.sign_in.external_users import ExternalUsers
from shunter.gateway.sign_in.plugin_users import PluginUsers
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.oidc import (
    CLOCK_SKEW_DEFAULT_S,
    CLOCK_SKEW_MAX_S,
    GROUPS_CLAIM_DEFAULT,
    SCOPES_DEFAULT,
    USER_CLAIM_DEFAULT,
    OidcSettings,
    check_secure_url,
    parse_grant,
)
from shunter.ports.clock import Clock
from shunter.ports.security.authenticator import Authenticator

Work = Callable[[], Awaitable[None]]


def read_oidc_settings(options: UpOptions) -> OidcSettings | None:
    """None without an issuer. Raises Invalid."""
    _check_complete(options)
    if options.oidc_issuer is None:
        return None
    if not 0 <= (options.oidc_clock_skew_s or 0) <= CLOCK_SKEW_MAX_S:
        fix = f"use at most {CLOCK_SKEW_MAX_S:.0f}s"
        raise Invalid([Problem("oidc.clock_skew", "is too long", options.oidc_clock_skew_s, fix)])
    client_id = options.oidc_client_id or ""
    skew_s = options.oidc_clock_skew_s
    return OidcSettings(
        issuer=check_secure_url(options.oidc_issuer, "--oidc-issuer"),
        client_id=client_id,
        audiences=options.oidc_audiences or (client_id,),
        grants=tuple(parse_grant(each, "oidc.role_map") for each in options.oidc_role_map),
        user_claim=options.oidc_user_claim or USER_CLAIM_DEFAULT,
        groups_claim=options.oidc_groups_claim or GROUPS_CLAIM_DEFAULT,
        scopes=options.oidc_scopes or SCOPES_DEFAULT,
        clock_skew_s=CLOCK_SKEW_DEFAULT_S if skew_s is None else skew_s,
        ca_file=_readable(options.oidc_ca, "oidc.ca"),
    )


def _check_complete(options: UpOptions) -> None:
    """Options of an issuer are given together or not at all. Raises Invalid with every problem."""
    required = {"--oidc-client-id": options.oidc_client_id, "--oidc-role-map": options.oidc_role_map}
    optional = {"--oidc-audience": options.oidc_audiences}  # without one, it is the client id
    if options.oidc_issuer is None:
        given = [name for name, value in (required | optional).items() if value]
        problems = [Problem(name, "needs an issuer", None, "add --oidc-issuer URL") for name in given]
    else:
        missing = [name for name, value in required.items() if not value]
        problems = [Problem(name, "is missing: an issuer needs it", None, f"add {name}") for name in missing]
    if problems:
        raise Invalid(problems)


def build_external_users(options: UpOptions, clock: Clock) -> tuple[ExternalUsers, Sequence[Work]]:
    """The external users, and what must run in the background for them. Libraries for signatures are loaded only if
    there is an issuer."""
    settings = read_oidc_settings(options)
    authenticators = load_authenticators(options.authenticators)
    known = PluginUsers(authenticators, asyncio.to_thread, time.monotonic) if authenticators else None
    if settings is None:
        return ExternalUsers(plugins=known), ()
    from shunter.adapters.oidc.issuer import Issuer

    issuer = Issuer(settings, clock.now)
    return ExternalUsers(issuer, known), (issuer.run,)


def load_authenticators(names: Sequence[str]) -> dict[str, Authenticator]:
    """Only those that the settings name: an installed package must not let anybody in by itself. Raises Invalid."""
    installed = {each.name: each for each in reversed(plugins.find_plugins(plugins.AUTHENTICATORS))} if names else {}
    loaded: dict[str, Authenticator] = {}
    for name in names:
        plugin = installed.get(name)
        if plugin is None or plugin.error:
            reason = "is not installed" if plugin is None else f"cannot be loaded: {plugin.error}"
            fix = f"installed are: {', '.join(sorted(installed)) or 'none'}"
            raise Invalid([Problem("auth.plugins", reason, name, fix)])
        try:
            loaded[name] = plugin.target()
        except (Exception, SystemExit) as error:  # third-party code may raise anything
            reason = f"cannot be started: {type(error).__name__}: {error}"
            raise Invalid([Problem("auth.plugins", reason, name, "see the manual of the plugin")]) from error
    return loaded


def _readable(file: str | None, option: str) -> str:
    """Raises Invalid."""
    if file is None:
        return ""
    try:
        Path(file).read_bytes()
    except OSError as error:
        raise Invalid([Problem(option, f"cannot be read: {error.strerror}", file, "name a file of PEM")]) from None
    return str(Path(file).absolute())
