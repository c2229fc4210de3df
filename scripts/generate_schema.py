"""Writes docs/reference/schema/*.schema.json, by which editors check and complete manifests. Run by `make docs`."""

from __future__ import annotations

import json
from pathlib import Path

from shunter.model.job.manifests import job_schema
from shunter.model.objects.object_manifests import object_schema
from shunter.model.objects.objects import KINDS

FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "schema"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in schema_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def schema_files() -> dict[str, str]:
    """File -> its text."""
    schemas = {"job": job_schema()} | {kind.lower(): object_schema(kind) for kind in KINDS}
    return {f"{name}.schema.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}


if __name__ == "__main__":
    main()
