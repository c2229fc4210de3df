"""Generated files in docs/ match their generators."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_events_page_is_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_events_page.py"))
    written = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    assert written == generator["events_page"](), "run `make docs` and commit docs/reference/events.md"


def test_the_lifecycles_page_is_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_docs.py"))
    written = (ROOT / "docs" / "reference" / "lifecycles.md").read_text(encoding="utf-8")
    assert written == generator["lifecycles_page"](), "run `make docs` and commit docs/reference/lifecycles.md"


def test_the_schemas_of_manifests_are_what_make_docs_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_schema.py"))
    folder = ROOT / "docs" / "reference" / "schema"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    assert written == generator["schema_files"](), "run `make docs` and commit docs/reference/schema/"
