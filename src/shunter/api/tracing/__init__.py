"""The trace of a request."""
