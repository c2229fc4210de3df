"""The command `edit`: edits one Testbed, BatchJob or Scheduling in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from shunter.cli.commands.objects.object_options import Kind, Name, kind_of
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import print_notice
from shunter.cli.options import Namespace
from shunter.cli.render.tables import yaml_text
from shunter.model.errors import Conflict, Invalid, Problem, ShunterError
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.object_views import ObjectView
from shunter.sdk.client import Client
from shunter.sdk.manifests import Manifest, read_manifest

WRITES_MAX = 20  # the status may change between reading and writing, repeatedly
HEAD = """\
# Save the file and close the editor to apply your changes. An unchanged or empty file changes nothing.
"""


def edit(kind: Kind, name: Name, namespace: Namespace = NAMESPACE_DEFAULT) -> None:
    """Edit one Testbed, BatchJob or Scheduling in your editor ($VISUAL or $EDITOR), and apply it.

    If somebody else changed the object in the meantime, or the change is rejected, the object stays unchanged and your
    file is saved.

    \b
    shunter edit testbed profiler-testbed
    EDITOR=nano shunter edit bj spark-crawler
    """
    with open_client(namespace) as client:
        original = client.get(kind_of(kind, "edit", name), name)
        path = _write(original)
        try:
            _open_editor(path)
            edited = _read(path, original)
            if edited is None:
                print(original.kind, name, "unchanged")
            else:
                _apply(client, edited, original)
                print(original.kind, name, "configured")
        except ShunterError:
            if path.read_text(encoding="utf-8", errors="replace") == _text(original):
                path.unlink()  # nothing was changed
            else:
                print_notice(f"your changes are in {path}; apply them with: shunter apply -f {path}")
            raise
    path.unlink()


def _write(original: ObjectView) -> Path:
    handle, path = tempfile.mkstemp(prefix=f"shunter-{original.name}-", suffix=".yaml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_text(original))
    return Path(path)


def _text(original: ObjectView) -> str:
    return HEAD + yaml_text(manifest_of(original))


def manifest_of(each: ObjectView) -> dict[str, Any]:
    """The fields that a user may change: no status, claims or versions."""
    from shunter.model.objects.object_fields import CLAIM_LABELS, READ_ONLY_SPEC

    labels = {key: value for key, value in each.metadata.get("labels", {}).items() if key not in CLAIM_LABELS}
    metadata: dict[str, Any] = {"name": each.name, "namespace": each.namespace}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": each.metadata["annotations"]} if "annotations" in each.metadata else {}
    spec = {key: value for key, value in each.spec.items() if key not in READ_ONLY_SPEC}
    return {"apiVersion": each.api_version, "kind": each.kind, "metadata": metadata, "spec": spec}


def _open_editor(path: Path) -> None:
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    try:
        code = subprocess.run([*words, str(path)], check=False).returncode
    except OSError as error:
        fix = "set EDITOR to your editor"
        raise Invalid([Problem("EDITOR", f"cannot be started: {error.strerror}", words[0], fix)]) from error
    if code:
        raise Invalid([Problem("EDITOR", f"editor failed with exit code {code}; nothing was applied")])


def _read(path: Path, original: ObjectView) -> Manifest | None:
    """The edited manifest; None if it did not change."""
    if not "".join(line for line in path.read_text().splitlines() if not line.startswith("#")).strip():
        return None
    edited = read_manifest(path)
    before = manifest_of(original)
    for where in ("kind", "metadata.name", "metadata.namespace"):
        actual, expected = _lookup(edited, where), _lookup(before, where)
        if actual != expected:
            fix = f"restore {expected}; create another object with: shunter apply -f FILE"
            raise Invalid([Problem(where, "cannot be changed", actual, fix)])
    return None if edited == before else edited


def _lookup(document: Manifest, path: str) -> Any:
    for word in path.split("."):
        document = document.get(word) if isinstance(document, dict) else None  # type: ignore[assignment]
    return document


def _apply(client: Client, edited: Manifest, original: ObjectView) -> None:
    """Apply, unless the object changed since it was read. Changes of its status do not matter."""
    for tries_left in reversed(range(WRITES_MAX)):
        current = client.get(original.kind, original.name)
        if manifest_of(current) != manifest_of(original) or current.metadata["uid"] != original.metadata["uid"]:
            raise Conflict(f"{original.kind} {original.name} was changed by somebody else in the meantime")
        version = {"resourceVersion": current.metadata["resourceVersion"]}
        try:
            client.apply([{**edited, "metadata": {**edited["metadata"], **version}}])
        except Conflict:
            if not tries_left:
                raise
        else:
            return
