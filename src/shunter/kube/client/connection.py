"""Where the API server is and who we are: from a kubeconfig, or from the pod that this process runs in."""

from __future__ import annotations

import os
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shunter.model.errors import Invalid, Problem

ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
FILE_BYTES_MAX = 2**20


@dataclass(frozen=True, slots=True)
class Connection:
    url: str
    tls: ssl.SSLContext
    namespace: str = "default"
    token: str = ""
    token_path: Path | None = None  # read again for each request: Kubernetes replaces the token of a pod

    def read_token(self) -> str:
        return self.token_path.read_text().strip() if self.token_path is not None else self.token


def find_connection(
    path: str | None = None, context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Connection:
    """From this kubeconfig, that of KUBECONFIG, the pod's account, or ~/.kube/config, in this order. Raises Invalid."""
    if path is None and not environ.get("KUBECONFIG") and "KUBERNETES_SERVICE_HOST" in environ:
        return _pod_connection(environ)
    named = path or environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return read_kubeconfig(Path(named), context)


def _pod_connection(environ: Mapping[str, str]) -> Connection:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    return Connection(
        url=f"https://{host}:{port}",
        tls=ssl.create_default_context(cafile=str(ACCOUNT_FOLDER / "ca.crt")),
        namespace=(ACCOUNT_FOLDER / "namespace").read_text().strip(),
        token_path=ACCOUNT_FOLDER / "token",
    )


def read_kubeconfig(path: Path, context_name: str | None = None) -> Connection:
    import yaml

    try:
        text = path.read_bytes()
        document = yaml.safe_load(text) if len(text) <= FILE_BYTES_MAX else None
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}", "name a kubeconfig with --kubeconfig") from None
    except yaml.YAMLError as error:
        raise _invalid(path, f"is not YAML: {error}") from None
    if not isinstance(document, dict):
        raise _invalid(path, "is no kubeconfig")
    context = _named(path, document, "contexts", "context", context_name or document.get("current-context", ""))
    cluster = _named(path, document, "clusters", "cluster", context.get("cluster", ""))
    user = _named(path, document, "users", "user", context.get("user", ""))
    if "exec" in user or "auth-provider" in user:
        raise _invalid(
            path, "has a user with exec or auth-provider, which is not supported", "use a token or certificate"
        )
    return Connection(
        url=str(cluster.get("server", "")).rstrip("/"),
        tls=_tls(path, cluster, user),
        namespace=context.get("namespace") or "default",
        token=user.get("token", ""),
        token_path=_next_to(path, user["tokenFile"]) if "tokenFile" in user else None,
    )


def _named(path: Path, document: dict[str, Any], plural: str, singular: str, name: str) -> dict[str, Any]:
    for each in document.get(plural) or ():
        if each.get("name") == name:
            found: dict[str, Any] = each.get(singular) or {}
            return found
    raise _invalid(path, f"has no {singular} {name!r}")


def _tls(path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    authority = _content(path, cluster, "certificate-authority")
    try:
        tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify"):
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        certificate, key = _content(path, user, "client-certificate"), _content(path, user, "client-key")
        if certificate and key:
            with tempfile.NamedTemporaryFile() as file:  # the ssl module reads certificates from files only
                file.write(certificate + b"\n" + key)
                file.flush()
                tls.load_cert_chain(file.name)
    except (ssl.SSLError, ValueError) as error:
        raise _invalid(path, f"has a certificate or key that cannot be used: {error}") from None
    return tls


def _content(path: Path, section: dict[str, Any], field: str) -> bytes:
    """A certificate or key, which a kubeconfig has either as data or as the path of a file."""
    try:
        if data := section.get(f"{field}-data"):
            return b64decode(data, validate=True)
        return _next_to(path, section[field]).read_bytes() if section.get(field) else b""
    except (OSError, ValueError) as error:
        raise _invalid(path, f"{field}: {error}") from None


def _next_to(path: Path, other: str) -> Path:
    return path.parent / other


def _invalid(path: Path, fault: str, fix: str | None = None) -> Invalid:
    return Invalid([Problem(str(path), fault, fix=fix)])
