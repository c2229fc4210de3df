"""Chooses how managers agree on a leader: alone, or by etcd. Called by `app.manager`."""

from __future__ import annotations

import os
from dataclasses import replace

from shunter.adapters.etcd.settings import parse_etcd_url
from shunter.model.errors import Invalid
from shunter.ports.coordination import Coordination

OPTION = "--coordination"


def check_coordination(text: str, option: str = OPTION) -> str:
    """The same text. Raises Invalid, without a password in its message."""
    try:
        parse_etcd_url(text, os.environ)
    except Invalid as error:
        raise Invalid([replace(problem, field=option) for problem in error.problems]) from None
    return text


def build_coordination(url: str | None, name: str) -> Coordination:
    """gRPC is loaded only for etcd."""
    if url is None:
        from shunter.adapters.memory.coordination import Alone

        return Alone()
    from shunter.adapters.etcd.coordination import EtcdCoordination

    return EtcdCoordination(parse_etcd_url(url, os.environ), name)
