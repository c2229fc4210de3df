"""Finds the cluster's addresses and token: from arguments, the environment, a context, or the local cluster's home.

Transports ask again for every new connection, because a restarted local cluster may listen on another port."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from shunter.sdk.contexts import LOCAL, Context, load_contexts
from shunter.sdk.errors import Invalid, NotReachable, Problem
from shunter.sdk.login.login_tokens import LoginToken
from shunter.sdk.login.logins import load_logins, logins_path

MANAGERS_MAX = 32
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
NO_CLUSTER = "no cluster is running here; start one with: shunter up --detach"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of a cluster's API. `prefix` is a path in front of `/api/v1`, for clusters behind a proxy."""

    host: str
    port: int
    token: str = field(repr=False)
    tls: bool = False
    prefix: str = ""
    local: bool = False
    ca_file: str = ""  # whom to trust; empty: the authorities of the system
    login: LoginToken | None = field(default=None, repr=False, compare=False)  # counts instead of the token

    def credential(self) -> str:
        """For the next request. Raises Unauthorized, NotReachable if it must be renewed and cannot."""
        return self.token if self.login is None else self.login.current()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.prefix}"


class Finder:
    """Finds the manager to ask: of several, the same one until it fails, then the next. Threads may share it."""

    def __init__(self, find: Callable[[int], Endpoint], managers: int = 1, cluster: str = "") -> None:
        """`cluster` is the name under which sign-ins to it are stored."""
        self._find, self.managers, self.cluster = find, managers, cluster
        self._lock = threading.Lock()
        self.position = 0  # grows with each manager that is skipped

    def __call__(self) -> Endpoint:
        """The manager to ask now. Raises NotReachable if it is a local one that does not run."""
        return self._find(self.position % self.managers)

    def is_current(self, endpoint: Endpoint) -> bool:
        return self.managers == 1 or self() is endpoint

    def skip(self, position: int) -> None:
        """Go on to the next manager, unless another call has done so since `position` was read."""
        with self._lock:
            if self.position == position:
                self.position += 1


def finder(
    url: str | Sequence[str] | None,
    token: str | None,
    environment: Mapping[str, str] = os.environ,
    ca_file: str | os.PathLike[str] | None = None,
) -> Finder:
    """How to find the endpoints. The first of these counts: an address given here, SHUNTER_URL, SHUNTER_CONTEXT,
    SHUNTER_HOME, the current context, the default home. A home is read again for each connection. Of tokens, the first
    of these counts: one given here, SHUNTER_TOKEN, that of `shunter login`, of the context, of the home. Raises
    Invalid."""
    trusted = os.fspath(ca_file) if ca_file else environment.get("SHUNTER_CA_FILE") or ""
    home = home_folder(environment)
    url = url or environment.get("SHUNTER_URL")
    token = token or environment.get("SHUNTER_TOKEN")
    has_token, context = bool(token), None if url else _find_context(environment)
    if context is not None:
        url, token, trusted = context.url, token or context.token, trusted or context.ca_file
    if not url:
        cluster = str(home.absolute())
        login = None if has_token else _find_login(cluster, environment)
        return Finder(lambda _: replace(local_endpoint(home, token, trusted), login=login), cluster=cluster)
    fixed = [replace(parse_url(each, token or ""), ca_file=trusted) for each in split_urls(url)]
    cluster = ",".join(each.url for each in fixed)
    login = None if has_token else _find_login(cluster, environment)
    fixed = [_complete(replace(each, login=login), home, needs_token=token is None) for each in fixed]
    return Finder(fixed.__getitem__, len(fixed), cluster)


def _complete(endpoint: Endpoint, home: Path, *, needs_token: bool) -> Endpoint:
    """A manager of this machine is known by the files of the home. No other manager gets the token of this machine."""
    if endpoint.host not in LOOPBACK:
        return endpoint
    token = _local_token(home) if needs_token else endpoint.token
    return replace(endpoint, ca_file=endpoint.ca_file or _local_ca(home), token=token)


def _find_login(cluster: str, environment: Mapping[str, str]) -> LoginToken | None:
    """What `shunter login` has stored. Raises Invalid."""
    path = logins_path(environment)
    if not path.exists():
        return None
    found = load_logins(path).get(cluster)
    return None if found is None else LoginToken(path, cluster, found)


def split_urls(urls: str | Sequence[str]) -> list[str]:
    """The URLs of a cluster's managers, each once, from a list or from text with commas. Raises Invalid."""
    found = list(dict.fromkeys(each.strip() for each in (urls.split(",") if isinstance(urls, str) else urls)))
    if len(found) > MANAGERS_MAX:
        raise Invalid([Problem("url", f"has more than {MANAGERS_MAX} addresses", len(found))])
    return found


def _find_context(environment: Mapping[str, str]) -> Context | None:
    """The context to use, or None for the cluster of this machine. Raises Invalid and NotFound."""
    name = environment.get("SHUNTER_CONTEXT")
    if not name and environment.get("SHUNTER_HOME"):
        return None
    contexts = load_contexts(environment)
    name = name or contexts.current
    return None if name == LOCAL else contexts.get(name)


def home_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the local cluster: SHUNTER_HOME, or `shunter` in the XDG state folder."""
    if home := environment.get("SHUNTER_HOME"):
        return Path(home)
    state = environment.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "shunter"


def local_endpoint(home: Path, token: str | None = None, ca_file: str = "") -> Endpoint:
    """The cluster that runs in this home. Raises NotReachable when none does."""
    try:
        description = json.loads((home / "cluster.json").read_text())
        url, own_ca = description["url"], description.get("ca")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotReachable(NO_CLUSTER) from error
    if not isinstance(url, str):
        raise NotReachable(NO_CLUSTER)
    endpoint = parse_url(url, token if token is not None else _local_token(home))
    return replace(endpoint, local=True, ca_file=ca_file or (own_ca if isinstance(own_ca, str) else ""))


def parse_url(url: str, token: str) -> Endpoint:
    """An endpoint from `http://HOST:PORT[/prefix]`. Raises Invalid."""
    problem = Problem("url", "is not the address of a cluster", url, "write it as http://HOST:PORT")
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise Invalid([problem]) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise Invalid([problem])
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Invalid([Problem("token", "contains characters that a token cannot have", fix="check SHUNTER_TOKEN")])
    tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/api/v1")
    return Endpoint(parts.hostname, port or (443 if tls else 80), token, tls, prefix)


def _local_ca(home: Path) -> str:
    """The authorities of this machine's own cluster, if it has any."""
    path = home / "ca" / "ca.crt"
    return str(path) if path.is_file() else ""


def _local_token(home: Path) -> str:
    try:
        return (home / "token").read_text().strip()
    except OSError:
        return ""
