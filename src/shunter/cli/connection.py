"""The client that commands use. It prints a notice when it waits for the cluster.

Also says where the address and the token of the cluster come from, if one of them is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from shunter.cli.exit_codes import print_notice, print_warning
from shunter.model.errors import Invalid, Problem, ShunterError
from shunter.model.identity.keys import parse_key
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.sdk.client import Client, connect
from shunter.sdk.contexts import LOCAL, load_contexts
from shunter.sdk.endpoint import Endpoint, finder, home_folder, local_endpoint
from shunter.sdk.errors import NotReachable
from shunter.sdk.responses import GENERAL_REFUSAL
from shunter.sdk.retry import PATIENCE_S

ASK_FOR_KEY = "the key was revoked, rotated or has expired, or its user is disabled; ask an administrator for another"
COPY_TOKEN = "copy `token` from the manager's SHUNTER_HOME"
NOTICE_AFTER_S = 0.5  # shorter waits are not worth a line,
NOTICE_AFTER_TOTAL_S = 1.0  # unless there are many, as between several managers


def open_client(namespace: str = NAMESPACE_DEFAULT, patience_s: float = PATIENCE_S) -> Client:
    has_notified, waited_s = False, 0.0
    _check_home()

    def on_retry(failure: ShunterError, delay_s: float) -> None:
        nonlocal has_notified, waited_s
        waited_s += delay_s
        if not has_notified and (delay_s >= NOTICE_AFTER_S or waited_s >= NOTICE_AFTER_TOTAL_S):
            has_notified = True
            print_notice(f"{failure.detail}; retrying for up to {patience_s:.0f} s")

    return connect(namespace=namespace, patience_s=patience_s, on_retry=on_retry)


def _check_home() -> None:
    """Raises Invalid. Without this, a home that is a file would look like one without a cluster."""
    home = os.environ.get("SHUNTER_HOME")
    if home and not os.environ.get("SHUNTER_URL") and not os.environ.get("SHUNTER_CONTEXT") and Path(home).is_file():
        raise Invalid([Problem("SHUNTER_HOME", "is a file", home, "name a directory in SHUNTER_HOME")])


def check_home_is_meant() -> None:
    """Whoever names another cluster by SHUNTER_URL or a context must not change the home of this machine by mistake.
    Raises Invalid; with SHUNTER_HOME, which says which one is meant, a warning is enough."""
    named, here = _address(finder(None, None)), _address(lambda: local_endpoint(home_folder()))
    if named in (None, here):
        return
    fault = f"names the cluster at {named}, but this changes the cluster in {home_folder()}"
    if os.environ.get("SHUNTER_HOME"):
        print_warning(f"SHUNTER_URL or the context {fault}")
        return
    source = "SHUNTER_URL" if os.environ.get("SHUNTER_URL") else "context"
    fix = "run it on the machine of a manager of that cluster; to change the cluster here, set SHUNTER_HOME"
    raise Invalid([Problem(source, fault, None, fix)])


def cluster_name() -> str:
    """The name under which sign-ins to the cluster are stored."""
    return finder(None, None).cluster


def _address(find: Callable[[], Endpoint]) -> str | None:
    """None if no cluster runs here."""
    try:
        return find().url
    except NotReachable:
        return None


def describe_refused_token(error: ShunterError) -> str:
    """What is wrong if the cluster answers that the token is missing or wrong. Of an issuer's token, it says why."""
    endpoint = finder(None, None)()
    if not error.detail.startswith(GENERAL_REFUSAL):
        return f"the cluster at {endpoint.url} refused your token: {error.detail}"
    if not endpoint.token:
        fix = "set SHUNTER_TOKEN to the text of `token` in the manager's SHUNTER_HOME"
        return f"the cluster at {endpoint.url} needs a token, and none is given; {fix}"
    fix = ASK_FOR_KEY if parse_key(endpoint.token) is not None else COPY_TOKEN
    return f"the cluster at {endpoint.url} refused the token from {_token_source()}; {fix}"


def describe_unreachable(error: ShunterError) -> str:
    """The client takes the address for that of SHUNTER_URL; a context may have given it."""
    source = None if os.environ.get("SHUNTER_URL") else _context_name()
    return error.detail if source is None else error.detail.replace("SHUNTER_URL", f"the context {source}")


def _token_source() -> str | Path:
    """Where the token comes from, looked for in the order of `sdk.endpoint`."""
    if os.environ.get("SHUNTER_TOKEN"):
        return "SHUNTER_TOKEN"
    name = None if os.environ.get("SHUNTER_URL") else _context_name()
    return home_folder() / "token" if name is None else f"the context {name}"


def _context_name() -> str | None:
    """The context that counts, or None for the cluster of this machine."""
    name = os.environ.get("SHUNTER_CONTEXT")
    if not name and os.environ.get("SHUNTER_HOME"):
        return None
    name = name or load_contexts().current
    return None if name == LOCAL else name
