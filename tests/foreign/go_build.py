"""Builds the Go programs that drive a cluster, with stubs that protoc generates from proto/. Used by `tests.foreign`.

Everything but the sources is in the user's cache: the program is built again only when they or proto/ have changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "go"
PROTO = ROOT / "proto"
MODULE = "shunter.dev/tests/foreign"
STUBS = {"shunter/v1/jobs.proto": "jobs", "shunter/worker/v1/worker.proto": "workers"}
TOOLS = ("google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shunter" / "foreign"
PROGRAM = "foreign.test"
BUILD_MAX_S = 500.0


def find_go() -> str | None:
    """The Go of this machine, or the one that scripts/setup_go.sh has installed; None if neither is there."""
    installed = CACHE / "go" / "bin" / "go"
    for found in (shutil.which("go"), str(installed) if installed.is_file() else None):
        if found is not None and _is_new_enough(found):
            return found
    return None


def _is_new_enough(go: str) -> bool:
    """Whether it can build the module: `go` fails on a go.mod that asks for a newer one that it cannot get."""
    done = subprocess.run([go, "list", "-m"], cwd=SOURCES, env=_environment(), capture_output=True, timeout=BUILD_MAX_S)
    return done.returncode == 0


def build(go: str) -> Path:
    """The compiled tests."""
    folder = CACHE / _digest(go)
    if not (folder / PROGRAM).is_file():
        draft = CACHE / f"draft-{os.getpid()}"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(SOURCES, draft)
        _build_in(draft, go)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    return folder / PROGRAM


def _build_in(folder: Path, go: str) -> None:
    _run(go, "build", "-o", f"{folder}/tools/", *TOOLS, cwd=folder)
    options = [f"M{source}={MODULE}/gen/{name}" for source, name in STUBS.items()]
    _run(
        sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}",
        *(f"--plugin=protoc-gen-{kind}={folder}/tools/protoc-gen-{kind}" for kind in ("go", "go-grpc")),
        f"--go_out={folder}", f"--go_opt={','.join((f'module={MODULE}', *options))}",
        f"--go-grpc_out={folder}", f"--go-grpc_opt={','.join((f'module={MODULE}', *options))}",
        *STUBS,
        cwd=folder,
    )  # fmt: skip
    _run(go, "vet", ".", cwd=folder)
    _run(go, "test", "-c", "-o", PROGRAM, ".", cwd=folder)


def _digest(go: str) -> str:
    found = hashlib.sha256(subprocess.check_output([go, "version"], timeout=BUILD_MAX_S))
    for path in sorted((*SOURCES.iterdir(), *(PROTO / source for source in STUBS), Path(__file__))):
        found.update(json.dumps([path.name, path.read_text()]).encode())
    return found.hexdigest()[:16]


def _environment() -> dict[str, str]:
    return {**os.environ, "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, env=_environment(), capture_output=True, text=True, timeout=BUILD_MAX_S)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
