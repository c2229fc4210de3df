"""Sends spans with OpenTelemetry. Needs the extra `shunter[otel]`; loaded only if tracing is on."""
