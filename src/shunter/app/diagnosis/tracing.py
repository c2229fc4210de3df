"""Builds the tracer of a process, if tracing is on. OpenTelemetry is imported only then. Called by
`app.manager` and `app.worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shunter import __version__
from shunter.model.errors import Invalid, Problem

if TYPE_CHECKING:
    from shunter.adapters.otel.tracer import OtelTracer

OPTION = "--otlp-endpoint"
URL_SIZE_MAX = 2_000


def check_otlp_endpoint(url: str, field: str = OPTION) -> str:
    """The base URL of a receiver. Raises Invalid."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or len(url) > URL_SIZE_MAX or parts.query or parts.fragment:
        fix = "write it like http://127.0.0.1:4318, without /v1/traces"
        raise Invalid([Problem(field, "is not the URL of an OTLP receiver over HTTP", _without_secret(url), fix)])
    if parts.username is not None or parts.password is not None:
        fix = "put credentials into the variable OTEL_EXPORTER_OTLP_HEADERS"
        raise Invalid([Problem(field, "has credentials, which others could read", fix=fix)])
    return url


def _without_secret(url: str) -> str | None:
    return None if "@" in url else url[:80]


def build_tracer(endpoint: str | None, service: str, instance: str) -> OtelTracer | None:
    """None if tracing is off. Raises Invalid."""
    if not endpoint:
        return None
    check_otlp_endpoint(endpoint)
    try:
        from shunter.adapters.otel.tracer import OtelTracer
    except ImportError as error:
        fix = "install shunter[otel], or remove the option"
        raise Invalid([Problem(OPTION, f"needs OpenTelemetry, which is not installed ({error})", fix=fix)]) from None
    return OtelTracer(endpoint, service, instance, __version__)
