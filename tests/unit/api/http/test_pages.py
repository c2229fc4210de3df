"""The pages on REST and manifests match the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shunter.api.routes.objects import GROUP_VERSION
from shunter.api.routes.table import ROUTES
from shunter.model.files.yaml_reader import parse_documents
from shunter.model.job.job_fields import METADATA, SPEC
from shunter.model.job.placement_fields import RESTART, UPDATE
from shunter.model.job.task_fields import MOUNT, PORT
from shunter.model.job.timing_fields import AFTER, PARAMETERS, SCHEDULE
from shunter.model.objects.objects import PLURALS
from shunter.model.schema.fields import Section
from tests.unit.model.job.manifest_samples import parse_job

DOCS = Path(__file__).parents[4] / "docs" / "reference"


def test_the_page_on_rest_lists_every_path_with_its_parameters() -> None:
    text = (DOCS / "rest.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z]+ (?:/|APIS)[^`]*)`[^|]*\| (.*) \|$", text, flags=re.MULTILINE))
    assert set(rows) == {f"{route.method} {printed(route.path)}" for route in ROUTES}
    for route in ROUTES:
        row = rows[f"{route.method} {printed(route.path)}"]
        missing = [name.name for name in route.query.parameters if f"`{name.name}" not in row]
        assert not missing, f"{route.name}: {missing}"


def printed(path: str) -> str:
    """As the page has it: what all kinds of objects have stands there once."""
    if not path.startswith(GROUP_VERSION):
        return path
    kinds = "|".join(PLURALS)
    path = re.sub(rf"/({kinds})(?=$|/{{object}}(/why)?$)", "/KINDS", path.replace(GROUP_VERSION, "APIS"))
    return path.replace("{object}", "{name}")


def printed_manifests() -> list[object]:
    text = (DOCS / "manifests.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    return [document for block in blocks for document in parse_documents(block)]


def test_the_manifests_that_are_printed_are_valid() -> None:
    assert len(printed_manifests()) == 6
    for document in printed_manifests():
        parse_job(document, name_default="x")


def test_the_page_on_manifests_has_every_field_in_its_tables() -> None:
    text = (DOCS / "manifests.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]*) \|", text, flags=re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}
    assert named == set(SPEC.fields)


@pytest.mark.parametrize("section", [METADATA, RESTART, UPDATE, SCHEDULE, PARAMETERS, AFTER, PORT, MOUNT])
def test_the_page_on_manifests_shows_every_field_of_a_section(section: Section) -> None:
    text = (DOCS / "manifests.md").read_text(encoding="utf-8")
    missing = [name for name in section.fields if f"`{name}`" not in text and f"{name}:" not in text]
    assert not missing
