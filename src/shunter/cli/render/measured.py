"""Measured values as people read them."""

from __future__ import annotations

UNITS = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def format_value(metric: str, value: float) -> str:
    """A readable number: cores with two decimals, bytes with a unit."""
    if "bytes" not in metric:
        return f"{value:.2f}"
    for suffix, unit in UNITS:
        if value >= unit:
            return f"{value / unit:.1f}{suffix}"
    return f"{value:.0f}"
