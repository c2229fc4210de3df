"""Resources and quantities: `500m` of cpu, `256Mi` of memory, durations like `1h30m`.

Internally, a resource is an integer: cpu in thousandths of a core, memory and disk in bytes, anything else (gpu,
licences) a count. `Needs` is what one task requests from a node."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

Needs = Mapping[str, int]

CPU, MEMORY, DISK = "cpu", "memory", "disk"
STANDARD = (CPU, MEMORY, DISK)
AMOUNT_MAX = 2**53  # exact in float64 as well as int64

_SUFFIXES: dict[str, Decimal] = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1),
    "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30),
    "Ti": Decimal(2**40), "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip
_QUANTITY = re.compile(r"^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,3}))?([A-Za-z]{0,2})$")
_DURATION = re.compile("^" + "".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in ("d", "h", "m", "s", "ms")) + "$")
_SECONDS = re.compile(r"^[0-9]+(?:\.[0-9]+)?$")
_BYTES_WORD = re.compile(r"^([0-9]+(?:\.[0-9]+)?) ?([kmgtpe])(?:i?b)?$", re.IGNORECASE)  # 1GB, 20mib, 2K
_DURATION_UNITS_S = (86400.0, 3600.0, 60.0, 1.0, 0.001)


class NotAQuantity(ValueError):
    """The text is not a number of zero or more with a suffix that Kubernetes knows."""


def parse_quantity(text: str | int | float) -> Decimal:
    """A Kubernetes quantity as a number: `parse_quantity("256Mi") == 268435456`. Raises NotAQuantity."""
    if isinstance(text, bool):
        raise NotAQuantity("not a quantity")
    try:
        if isinstance(text, int | float):
            value = Decimal(str(text))
        else:
            match = _QUANTITY.match(text.strip()) if len(text) <= 40 else None
            if match is None or match[3] not in _SUFFIXES:
                raise NotAQuantity("not a quantity")
            value = Decimal(match[1]).scaleb(int(match[2] or 0)) * _SUFFIXES[match[3]]
    except InvalidOperation:
        raise NotAQuantity("not a quantity") from None
    if not value.is_finite() or value < 0:
        raise NotAQuantity("not a quantity of zero or more")
    return value


def parse_amount(resource: str, text: str | int | float) -> int:
    """A quantity of one resource in its inner unit (cpu: thousandths of a core). Raises NotAQuantity, or
    ValueError if the resource cannot have this amount."""
    value = parse_quantity(text)
    if resource == CPU:
        value *= 1000
    amount = math.ceil(value)
    if resource not in STANDARD and value != amount:
        raise ValueError("must be a whole number")
    if amount > AMOUNT_MAX:
        raise ValueError(f"is more than {AMOUNT_MAX}")
    return amount


def quantity_hint(resource: str, value: object) -> str:
    """How to write a quantity of this resource correctly, instead of `value`."""
    if resource == CPU:
        return "write it like 2 or 500m"
    match = _BYTES_WORD.match(value.strip()) if resource in STANDARD and isinstance(value, str) else None
    if match is None:
        return "write it like 256Mi or 4Gi" if resource in STANDARD else "write it like 2"
    power = "KMGTPE".index(match[2].upper()) + 1
    decimal, binary = "kMGTPE"[power - 1], "KMGTPE"[power - 1] + "i"
    return f"did you mean {match[1]}{decimal} (10^{3 * power} bytes) or {match[1]}{binary} (2^{10 * power} bytes)?"


def format_amount(resource: str, amount: int) -> str:
    """The shortest exact text of an amount in the inner unit: `format_amount("cpu", 1500) == "1500m"`."""
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in (MEMORY, DISK):
        for suffix in ("Ti", "Gi", "Mi", "Ki"):
            unit = int(_SUFFIXES[suffix])
            if amount >= unit and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def parse_duration_s(text: str | int | float) -> float:
    """`90s`, `10m`, `1h30m`, `250ms`, or a bare number of seconds, also as text. Raises ValueError."""
    if isinstance(text, bool):
        raise ValueError("not a duration")
    if isinstance(text, int | float) or (len(text) <= 40 and _SECONDS.match(text.strip())):
        seconds = float(text)
    else:
        match = _DURATION.match(text.strip()) if 0 < len(text.strip()) <= 40 else None
        if match is None:
            raise ValueError("not a duration")
        seconds = sum(float(part) * unit for part, unit in zip(match.groups(), _DURATION_UNITS_S, strict=True) if part)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError("not a duration of zero or more")
    return seconds


def format_duration(seconds: float) -> str:
    """For people: `0.31s`, `4m05s`, `2h03m`, `3d04h`."""
    if seconds < 1:
        return f"{seconds:.2f}s"
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"
