"""Raises the limit of open files of this process. Called by processes that have many connections or keepers."""

from __future__ import annotations

import resource


def raise_descriptor_limit() -> int:
    """Raise the soft limit to the hard one; returns the soft limit from before, which tasks should still have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft
