"""The settings of an issuer, and which plugins may authenticate."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.app import config
from shunter.app.options import UpOptions
from shunter.app.sign_in.external_users import build_external_users, load_authenticators, read_oidc_settings
from shunter.model.errors import Invalid
from shunter.model.identity.oidc import Grant, OidcSettings, check_secure_url, parse_grant
from shunter.model.identity.roles import Role
from shunter.simulation.runtime.loop import VirtualClock

ISSUER = "https://sso.example/realms/main"
WHOLE: dict[str, Any] = {
    "oidc_issuer": ISSUER,
    "oidc_client_id": "shunter",
    "oidc_role_map": ("ops=operator", "/red=x@y=submitter@red"),
}


def test_the_audience_is_the_client_unless_others_are_named() -> None:
    grants = (Grant("ops", Role.OPERATOR), Grant("/red=x@y", Role.SUBMITTER, "red"))
    assert read_oidc_settings(UpOptions(**WHOLE)) == OidcSettings(ISSUER, "shunter", ("shunter",), grants)
    named = read_oidc_settings(UpOptions(**WHOLE, oidc_audiences=("a", "b"), oidc_clock_skew_s=0.0))
    assert named is not None and (named.audiences, named.clock_skew_s) == (("a", "b"), 0.0)
    assert read_oidc_settings(UpOptions()) is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"oidc_client_id": None}, "--oidc-client-id"),
        ({"oidc_role_map": ()}, "--oidc-role-map"),
        ({"oidc_role_map": ("ops",)}, "oidc.role_map"),
        ({"oidc_issuer": None}, "--oidc-client-id"),
        ({"oidc_issuer": "http://sso.example"}, "--oidc-issuer"),
        ({"oidc_clock_skew_s": 301.0}, "oidc.clock_skew"),
        ({"oidc_ca": "/no/such/file"}, "oidc.ca"),
    ],
)
def test_settings_that_cannot_work_are_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_oidc_settings(UpOptions(**{**WHOLE, **changes}))
    assert refused.value.problems[0].field == field


@pytest.mark.parametrize("text", ["", "ops", "=operator", "ops=king", "ops=operator@", "ops=operator@a@b=x"])
def test_a_grant_needs_a_group_and_a_role(text: str) -> None:
    with pytest.raises(Invalid, match=r"GROUP=ROLE"):
        parse_grant(text, "role_map")


@pytest.mark.parametrize(
    "url", ["", "sso.example", "ftp://a", "https://", "https://u:p@a/", "https://a/#b", "https://a b"]
)
def test_an_issuer_is_a_url(url: str) -> None:
    with pytest.raises(Invalid, match="is not a URL"):
        check_secure_url(url, "issuer")


@pytest.mark.parametrize("url", ["https://a", "https://a:8443/b/c?d=e", "http://127.0.0.1:1/x", "http://[::1]:80/"])
def test_only_this_machine_may_do_without_tls(url: str) -> None:
    assert check_secure_url(url, "issuer") == url


def test_the_file_sets_what_the_command_line_leaves_out() -> None:
    document = {"oidc": {"issuer": ISSUER, "client_id": "x", "role_map": ["a=viewer"], "clock_skew": "5s"}}
    options = config.parse_config(document).fill_options(UpOptions(oidc_client_id="shunter"))
    settings = read_oidc_settings(options)
    assert settings is not None and (settings.client_id, settings.clock_skew_s) == ("shunter", 5.0)
    with pytest.raises(Invalid, match=r"oidc\.issuer"):
        config.parse_config({"oidc": {"issuer": "http://sso.example"}})


def test_a_plugin_that_is_not_installed_is_named() -> None:
    with pytest.raises(Invalid, match=r"auth\.plugins: is not installed \(got 'nosuch'\)"):
        load_authenticators(["nosuch"])


async def test_without_settings_nobody_is_asked() -> None:
    users, work = build_external_users(UpOptions(), VirtualClock())
    assert users.is_empty and work == ()
