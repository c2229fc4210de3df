"""Amounts of resources between Kubernetes, which spells them as quantities, and Shunter, which counts inner units."""

from __future__ import annotations

import math
from collections.abc import Mapping

from shunter.model.objects.object_meta import Document
from shunter.model.resources import CPU, DISK, parse_quantity

STORAGE = "ephemeral-storage"  # the only resource with another name


def container_requests(container: Document) -> dict[str, int]:
    return read_amounts((container.get("resources") or {}).get("requests") or {})


def read_amounts(quantities: Mapping[str, str | int | float]) -> dict[str, int]:
    """Rounded up, as Kubernetes does."""
    return {_own_name(name): _read(name, text) for name, text in quantities.items()}


def kube_quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {
        _kube_name(name): f"{amount}m" if name == CPU else str(amount) for name, amount in amounts.items() if amount
    }


def add_amounts(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def subtract_amounts(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    add_amounts(total, {name: -amount for name, amount in amounts.items()})


def _read(name: str, text: str | int | float) -> int:
    return math.ceil(parse_quantity(text) * (1000 if name == CPU else 1))


def _own_name(name: str) -> str:
    return DISK if name == STORAGE else name


def _kube_name(name: str) -> str:
    return STORAGE if name == DISK else name
