"""Parses short spellings of run options into manifest fields: `1-100:2%4`, `on-failure:5`, `/data:/in:ro`.

Called by `sdk.manifests`, so that `client.run(...)` and `shunter run` accept the same. A wrong value in the right form
is left to the cluster, which refuses it together with all other problems."""

from __future__ import annotations

import os
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from shunter.model.job.arrays import parse_array
from shunter.sdk.errors import Invalid, Problem

UNLIMITED = "unlimited"
READ_ONLY = "ro"
HOST_NETWORK = "host"


def expand(options: dict[str, Any]) -> dict[str, Any]:
    """Options with all short spellings written out. Raises Invalid."""
    fields = dict(options)
    if "retries" in fields:
        fields["restart"] = _retries(fields.pop("retries"), fields.get("restart"))
    if isinstance(fields.get("array"), str):
        fields |= _array(fields["array"], fields.get("parallel_max"))
    for name in ("start_at", "deadline"):
        if name in fields:
            fields[name] = _timestamp(fields[name])
    if isinstance(fields.get("stdin"), str | bytes):
        fields["stdin"] = _base64(fields["stdin"])
    has_image = "image" in fields
    for name, read in (
        ("mounts", _mount),
        ("ports", _port(has_image and fields.get("network") != HOST_NETWORK)),
        ("after", _after),
    ):
        if name in fields:
            fields[name] = _each(fields[name], read)
    if isinstance(fields.get("restart"), str):
        fields["restart"] = _restart(fields["restart"])
    return fields | _paths(fields, has_image)


def _array(text: str, parallel_max: int | None) -> dict[str, Any]:
    """`1-100:2%4`: what to count through, and how many at once."""
    try:
        limit = parse_array(text).parallel_max
    except ValueError as error:
        raise Invalid([Problem("array", str(error), fix="write it as 1-100, 1-100:2 or 1-3,7%4")]) from None
    if limit and parallel_max not in (None, limit):
        fix = f"remove %{limit} or parallel_max"
        raise Invalid([Problem("array", f"has a limit of {limit}, but parallel_max is {parallel_max}", text, fix)])
    return {"array": text.partition("%")[0].strip()} | ({"parallel_max": limit} if limit else {})


def _base64(data: str | bytes) -> str:
    return b2a_base64(data.encode() if isinstance(data, str) else data, newline=False).decode()


def _retries(count: int, restart: object) -> dict[str, Any]:
    if restart is not None:
        fix = f"remove it, and write restart as on-failure:{count}"
        raise Invalid([Problem("retries", "is not allowed together with restart", count, fix)])
    return {"policy": "on-failure", "max": count} if count else {"policy": "never"}


def _restart(text: str) -> dict[str, Any]:
    policy, colon, limit_text = text.partition(":")
    if not colon:
        return {"policy": policy}
    if limit_text != UNLIMITED and not (limit_text.isascii() and limit_text.isdigit()):
        raise Invalid([Problem("restart", "must end in a number", text, "write it as on-failure:5")])
    return {"policy": policy, "max": limit_text if limit_text == UNLIMITED else int(limit_text)}


def _each(values: object, read: Callable[[str], Any]) -> Any:
    """A list of which the texts are read; a text alone is a list of one."""
    if isinstance(values, str):
        values = [values]
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        return values
    return [read(value) if isinstance(value, str) else value for value in values]


def _mount(text: str) -> dict[str, Any]:
    """SOURCE:TARGET[:ro]. A source with a slash in it is a folder, else the name of a volume."""
    source, *rest = text.split(":")
    if not source or not rest or not rest[0] or rest[1:] not in ([], [READ_ONLY]):
        fix = "write it as SOURCE:TARGET, or SOURCE:TARGET:ro to read only"
        raise Invalid([Problem("mounts", "is not a valid mount", text, fix)])
    if "/" in source or source in (".", ".."):
        source = os.path.abspath(source)  # noqa: PTH100
    return {"source": source, "target": rest[0]} | ({"read_only": True} if rest[1:] else {})


def _port(has_own_network: bool) -> Callable[[str], dict[str, Any]]:
    """NAME, NAME=PORT, NAME=HOST:PORT. What has no network of its own has no ports but those of its node."""

    def read(text: str) -> dict[str, Any]:
        name, equals, numbers = text.partition("=")
        host, colon, port = numbers.rpartition(":")
        words = [port] if equals else []
        words += [host] if colon else []
        has_name = bool(name) and not name.replace(":", "").isdigit()  # 8080 is a port without a name
        are_numbers = all(word.isascii() and word.isdigit() for word in words)
        if not has_name or not are_numbers or (colon and not has_own_network):
            fix = "write it as NAME=PORT, or NAME=HOST:PORT" if has_own_network else "write it as NAME, or NAME=PORT"
            raise Invalid([Problem("ports", "is not a valid port", text, fix)])
        if not has_own_network:
            return {"name": name} | ({"host_port": int(port)} if equals else {})
        return {"name": name} | dict(zip(("port", "host_port"), map(int, words), strict=False))

    return read


def _after(text: str) -> dict[str, str]:
    """JOB or JOB:WHEN."""
    job, colon, when = text.partition(":")
    return {"job": job, "when": when} if colon else {"job": job}


def _timestamp(value: object) -> object:
    """A time as the cluster reads it. What has no zone is meant in the caller's."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value  # a duration, or refused by the cluster
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.astimezone()).isoformat()
    return value


def _paths(fields: Mapping[str, Any], has_image: bool) -> dict[str, str]:
    """Files of streams are on the node, and relative to the folder; a container's folder is inside it, though."""
    found = {}
    if "dir" in fields:
        found["dir"] = str(fields["dir"]) if has_image else os.path.abspath(fields["dir"])  # noqa: PTH100
    base = "" if has_image else found.get("dir")
    for name in ("stdout", "stderr"):
        if name in fields:
            path = str(fields[name])
            if base is not None and not os.path.isabs(path):  # noqa: PTH117
                folder = os.path.abspath(base).replace("%", "%%")  # noqa: PTH100
                path = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118
            found[name] = path
    return found
