"""Traces: where spans go, and the trace of the present request."""
