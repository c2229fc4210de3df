"""The commands about the audit log: audit list, export, verify."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.connection import open_client
from shunter.cli.options import Format, Output
from shunter.cli.private_files import open_private
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, plural, print_document, print_items, print_table
from shunter.cli.text import print_text
from shunter.model.audit.records import LINE_SIZE_MAX
from shunter.model.audit.verification import ChainVerifier
from shunter.model.audit.views import AuditHeadView, AuditRecordView
from shunter.model.errors import Conflict, Invalid, NotFound, Problem, Rejected
from shunter.sdk.client import Client

LIMIT_DEFAULT = 50
_HASH = re.compile(r"[0-9a-f]{64}")

audit = plain_typer(
    no_args_is_help=True,
    help="List, export or verify the audit log: who changed what, when, and from where. Each record has a hash that"
    " covers all records before it.\n\n\b\n"
    "shunter audit list --user anna\n"
    "shunter audit verify --head HASH",
)


@audit.command("list")
def list_audit(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of records.")] = LIMIT_DEFAULT,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Only what this user did.")] = None,
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Only what was done in this tenant.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Only what was done with this API key.")] = None,
    operation: Annotated[str | None, typer.Option(metavar="NAME", help="Only this operation: submitJob, ...")] = None,
    source: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Only what came from this address.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """List the latest records, newest first.

    \b
    shunter audit list
    shunter audit list --operation revokeKey --limit 10
    """
    with open_client() as client:
        pages = client.audit(limit=limit, user=user, tenant=tenant, key=key, operation=operation, source=source)
        found = list(islice(pages, limit))
    if output is not Format.TABLE:
        print_items(found, output)
        return
    columns = [
        Column("NUMBER", right=True), Column("TIME"), Column("USER"), Column("FROM", drop=1),
        Column("OPERATION"), Column("WHAT"), Column("RESULT", drop=2),
    ]  # fmt: skip
    print_table(columns, (_row(each) for each in found))


@audit.command("export")
def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, which must not exist; - writes to stdout.")
    ],
    after: Annotated[int, typer.Option(metavar="NUMBER", help="Only records after this one.", min=0)] = 0,
) -> None:
    """Write the records to a file, one JSON object per line. `shunter audit verify --file FILE` checks it anywhere.

    \b
    shunter audit export audit.jsonl
    shunter audit export - --after 1000
    """
    with open_client() as client:
        if str(file) == "-":
            for line in _read_lines(client, after):
                sys.stdout.write(line + "\n")
            return
        try:
            with open(file, "x", encoding="utf-8", opener=open_private) as target:
                count = sum(1 for line in _read_lines(client, after) if target.write(line + "\n"))
        except FileExistsError:
            raise Conflict(f"{file} already exists; choose another name, or remove it") from None
        except OSError as error:
            raise Rejected(f"{file} cannot be written: {error.strerror}") from error
    print_text(f"{count:,} records written to {file}")


@audit.command("verify")
def verify(
    head: Annotated[
        str, typer.Option(metavar="HASH", help="Hash that an earlier check printed; the log must contain its record.")
    ] = "",
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="Check an exported file instead.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check that no record was changed, removed or moved. The exit code is 1 if one was.

    Anyone who can write to the store can also recompute all hashes. So keep the hash that this command prints in
    another place, and pass it as --head next time: this detects changes up to that record.

    \b
    shunter audit verify
    shunter audit verify --head 5e75fabd375ccd3210926d5313a0a839b25bdd276a6893eca16634c318051203
    """
    verifier = ChainVerifier(_checked_head(head))
    if file is not None:
        _verify_file(verifier, file)
    else:
        with open_client() as client:
            committed = client.audit_lines(limit=1).head
            for line in _read_lines(client, 0, committed):
                verifier.add(line.encode())
        verifier.finish(committed.number, committed.hash)
    if output is not Format.TABLE:
        print_document(_findings(verifier), output)
    elif verifier.problems:
        for problem in verifier.problems:
            print_text(problem)
    else:
        dropped = f"; records before {verifier.first} were dropped by retention" if verifier.first > 1 else ""
        print_text(f"{verifier.records:,} records are intact{dropped}")
        print_text(f"head: {verifier.head or 'none'}")
    if verifier.problems:
        raise typer.Exit(1)


def _checked_head(text: str) -> str:
    """A hash that was copied in part must not look like a log that was changed. Raises Invalid."""
    head = text.strip().lower()
    if head and not _HASH.fullmatch(head):
        fix = "give all 64 digits that `shunter audit verify` printed"
        raise Invalid([Problem("--head", "is not a hash", text, fix)])
    return head


def _verify_file(verifier: ChainVerifier, file: Path) -> None:
    try:
        with file.open("rb") as lines:
            while line := lines.readline(LINE_SIZE_MAX + 1):
                verifier.add(line)
    except FileNotFoundError:
        raise NotFound(f"file {file} does not exist") from None
    except OSError as error:
        raise Rejected(f"{file} cannot be read: {error.strerror}") from error
    verifier.finish()


def _read_lines(client: Client, after: int, head: AuditHeadView | None = None) -> Iterator[str]:
    """The lines up to the head; without one, up to the last record at the time of the first page."""
    while True:
        page = client.audit_lines(after=after)
        head = head or page.head
        for number, line in enumerate(page.lines, page.last - len(page.lines) + 1):
            if number <= head.number:
                yield line
        after = page.last
        if not page.lines or after >= head.number:
            return


def _findings(verifier: ChainVerifier) -> dict[str, object]:
    return {
        "records": verifier.records,
        "first": verifier.first,
        "last": verifier.last,
        "head": verifier.head,
        "problems": verifier.problems,
    }


def _row(record: AuditRecordView) -> list[str]:
    user = f"{record.tenant}/{record.user}" if record.tenant else record.user
    return [
        str(record.number), f"{record.at[:10]} {record.at[11:19]}Z", user or "-", record.source or "-",
        record.operation or "-", _what(record), record.result,
    ]  # fmt: skip


def _what(record: AuditRecordView) -> str:
    if record.refused:
        count = sum(each.count for each in record.refused)
        parts = (f"{each.count}x {each.status} from {each.source or 'others'}" for each in record.refused)
        return f"{plural(count, 'request')}: {', '.join(parts)}"
    if record.checkpoint is not None:
        return f"records up to {record.checkpoint.through} dropped"
    return ", ".join(record.names) or "-"
