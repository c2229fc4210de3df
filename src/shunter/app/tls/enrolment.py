"""Enrols a worker: exchanges its join token for a certificate that names its node. Called by `app.worker`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from shunter.adapters.certificates.files import read_limited, write_whole
from shunter.adapters.certificates.inspection import inspect
from shunter.adapters.certificates.issuing import key_pem, load_key, make_key, make_request
from shunter.log import Log
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.certified_names import Bearer, CertifiedName
from shunter.model.identity.join_tokens import SIZE_BYTES_MAX, JoinToken, parse_join_token
from shunter.sdk.client import Client
from shunter.sdk.core import Core
from shunter.sdk.endpoint import Finder, parse_url
from shunter.sdk.transport.blocking import Transport

PATIENCE_S = 60.0  # how long it waits for a manager that does not answer

log = Log(__name__)


def read_join_token(file: str) -> JoinToken:
    """Raises Invalid."""
    try:
        with Path(file).open(encoding="ascii") as opened:
            text = opened.read(SIZE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "not a text file"
        fix = "name the file that has the output of `shunter join-token create NODE`"
        raise Invalid([Problem("--join-token-file", f"cannot be read: {reason}", file, fix)]) from error
    return parse_join_token(text, "--join-token-file")


def check_node_name(token: JoinToken, name: str | None) -> None:
    """Before the token is used up: the managers refuse a worker under another name. Raises Invalid."""
    if name not in (None, token.node):
        fix = f"leave it out, or make another token: `shunter join-token create {name}`"
        raise Invalid([Problem("--name", f"is not the node of the join token, which is for '{token.node}'", name, fix)])


def enrol_if_needed(token: JoinToken, folder: Path) -> None:
    """Once a worker has a certificate, it needs no other one until that expires. Raises Invalid, Unauthorized and
    NotReachable."""
    certificate = folder / "worker.crt"
    if certificate.exists():
        try:
            found = inspect(read_limited(certificate))
        except (OSError, ValueError) as error:
            raise Invalid([Problem(str(certificate), f"cannot be read: {error}", None, "remove it")]) from error
        if found.name != CertifiedName(Bearer.WORKER, token.node):
            fix = "give each worker a SHUNTER_HOME of its own, or remove the file"
            fault = (
                f"is the certificate of {found.name or 'no worker'}, and the join token is for the node {token.node}"
            )
            raise Invalid([Problem(str(certificate), fault, None, fix)])
        if time.time() < found.ends_s:
            return
    _enrol(token, folder)


def _enrol(token: JoinToken, folder: Path) -> None:
    """Write ca.crt, worker.key and worker.crt into the folder, in this order: a worker has enrolled when the last one
    is there. The key is kept from the first attempt on, because only its holder may repeat a request whose answer was
    lost."""
    authorities, draft = folder / "ca.crt", folder / "worker.key"
    write_whole(authorities, token.authorities.encode(), 0o644)
    try:
        key = load_key(read_limited(draft))
    except (OSError, ValueError):
        key = make_key()
        write_whole(draft, key_pem(key))
    endpoints = [replace(parse_url(each, ""), ca_file=str(authorities)) for each in token.urls]
    find = Finder(endpoints.__getitem__, len(endpoints))
    with Client(Transport(find), Core(namespace="", managers=find.managers, patience_s=PATIENCE_S)) as client:
        found = client.enrol_worker(token.id, token.secret, make_request(key))
    write_whole(authorities, found.authorities.encode(), 0o644)
    write_whole(folder / "worker.crt", found.certificate.encode(), 0o644)
    log.info("worker.enrolled", node=found.node, folder=folder)
