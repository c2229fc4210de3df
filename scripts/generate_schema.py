"""Writes docs/schema/job.schema.json, by which editors check and complete manifests. Run by `make docs`."""

from __future__ import annotations

import json
from pathlib import Path

from shunter.model.manifests import job_schema

SCHEMA = Path(__file__).parents[1] / "docs" / "schema" / "job.schema.json"


def main() -> None:
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(schema_file(), encoding="utf-8")


def schema_file() -> str:
    return json.dumps(job_schema(), indent=1) + "\n"


if __name__ == "__main__":
    main()
