"""Writes the gRPC stubs in src/shunter/proto/ from proto/. Run by `make proto`; a test runs it into another folder and
compares, so that the committed stubs cannot differ from their sources."""

from __future__ import annotations

import sys
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proto" / "shunter"
PACKAGE = Path("shunter") / "proto"  # sources are compiled under this name, so the stubs' imports name the real package


def generate(destination: Path) -> None:
    """Write the stubs of every source below `destination`/shunter/proto."""
    destination.mkdir(parents=True, exist_ok=True)
    sources = sorted(SOURCES.rglob("*.proto"))
    options = [f"-I{PACKAGE}={SOURCES}", *(f"--{kind}_out={destination}" for kind in ("python", "pyi", "grpc_python"))]
    status = protoc.main(["protoc", *options, *(str(PACKAGE / path.relative_to(SOURCES)) for path in sources)])
    if status != 0:
        raise SystemExit(f"protoc ended with {status}")
    for folder in {destination / PACKAGE / parent for path in sources for parent in path.relative_to(SOURCES).parents}:
        (folder / "__init__.py").touch()


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src")
