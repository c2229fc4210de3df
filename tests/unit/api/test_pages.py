"""What the pages on REST and manifests say is so."""

from __future__ import annotations

import re
from pathlib import Path

from shunter.api.routes import ROUTES
from shunter.model.documents import parse_documents
from shunter.model.job_fields import METADATA, RESTART, SPEC
from shunter.model.manifests import parse_job

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_on_rest_lists_every_path_with_its_parameters() -> None:
    text = (DOCS / "rest.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z]+ /[^`]*)`[^|]*\| (.*) \|$", text, flags=re.MULTILINE))
    assert set(rows) == {f"{route.method} {route.path}" for route in ROUTES}
    for route in ROUTES:
        row = rows[f"{route.method} {route.path}"]
        missing = [name.name for name in route.query.parameters if f"`{name.name}" not in row]
        assert not missing, f"{route.name}: {missing}"


def test_the_manifests_that_are_printed_are_valid() -> None:
    text = (DOCS / "manifests.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        (document,) = parse_documents(block)
        parse_job(document, name_default="x")


def test_the_first_manifest_shows_every_field() -> None:
    text = (DOCS / "manifests.md").read_text(encoding="utf-8")
    (document,) = parse_documents(re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)[0])
    assert isinstance(document, dict)
    for section, shown in (
        (METADATA, document["metadata"]),
        (SPEC, document["spec"]),
        (RESTART, document["spec"]["restart"]),
    ):
        assert set(shown) == set(section.schema["properties"])
