"""The published schema: it takes what the reader takes, and refuses what it can see is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shunter.model.errors import Invalid
from shunter.model.files.yaml_reader import parse_documents
from shunter.model.job.job_fields import FIELDS_BY_TYPE, SPEC, TYPES
from shunter.model.job.manifests import job_schema
from shunter.model.schema.fields import Section
from tests.unit.model.job.manifest_samples import manifest, parse_job, problems

ROOT = Path(__file__).parents[4]
SCHEMA = jsonschema.Draft202012Validator(job_schema())


def document_examples() -> list[tuple[str, object]]:
    """Every manifest of the examples and of the page on manifests."""
    found = [
        (path.name, document)
        for path in sorted((ROOT / "examples").rglob("*.yaml"))
        for document in parse_documents(path.read_bytes())
    ]
    page = (ROOT / "docs" / "reference" / "manifests.md").read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)):
        found += [(f"manifests.md-{number}", document) for document in parse_documents(block)]
    return [(name, each) for name, each in found if isinstance(each, dict) and each.get("kind") == "Job"]


def test_the_schema_is_one_of_2020_12() -> None:
    assert job_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(job_schema())


@pytest.mark.parametrize(("name", "document"), document_examples())
def test_what_is_printed_anywhere_passes_the_schema(name: str, document: object) -> None:
    assert [error.message for error in SCHEMA.iter_errors(document)] == [], name


@pytest.mark.parametrize(
    "spec",
    [
        {"comand": ["x"]},
        {"type": "servce"},
        {"count": 0},
        {"command": "echo hello"},
        {"command": []},
        {"env": {"A": 5}},
        {"resources": {"port/80": 1}},
        {"resources": {"memory": "1Zi"}},
        {"restart": {"policy": "sometimes"}},
        {"restart": {"policy": "never", "on_exit": [{"codes": [256], "action": "fail"}]}},
        {"timeout": {"runn": "1s"}},
        {"timeout": "soon"},
        {"groups": []},
        {"groups": [{"count": 1}]},
        {"groups": [{"name": "a", "priority": 1}]},
        {"groups": [{"name": "a", "after": [{"job": "b"}]}]},
        {"after": [{"job": "a", "when": "never"}]},
        {"after": ["a@0"]},
        {"schedule": {"timezone": "UTC"}},
        {"schedule": {"cron": "@daily", "overlap": "allow"}},
        {"start_at": "2030-01-31T08:00:00"},
        {"deadline": "tomorrow"},
        {"array": "1-5%2"},
        {"array": "a-b"},
        {"array": [-1]},
        {"entries": []},
        {"distinct": "-"},
        {"spread": [{"weight": 1}]},
        {"affinity": [{"to": "rack", "match": "x"}]},
        {"ports": [{"port": 80}]},
        {"ports": [{"name": "web", "host_port": 65536}]},
        {"health": [{"htp": "/"}]},
        {"health": [{"http": "health"}]},
        {"parameters": {"payload": "maybe"}},
        {"parameters": {"required": ["1a"]}},
        {"pull": "sometimes", "image": "x"},
        {"image": "two words"},
        {"user": "a b"},
        {"stdout": "/tmp/%x"},
        {"hold": "yes"},
        {"gang": 1},
        {"queue": "Night Shift"},
    ],
)
def test_what_a_schema_can_see_is_refused_by_it_too(spec: dict[str, Any]) -> None:
    assert problems(manifest(**spec))
    assert list(SCHEMA.iter_errors(manifest(**spec)))


@pytest.mark.parametrize(
    "spec",
    [
        *(
            {"resources": {"disk": text}}
            for text in ("1e3", "129E6", "12E-1", "5.", ".5Ki", "1P", "2Ti", " 256Mi", "0")
        ),
        *({"resources": {"memory": text}} for text in ("1 Mi", "1KiB", "1e", "e3", ".", "", "1mi", "-1")),
        *({"timeout": text} for text in ("90s", " 90s", "1h30m", "0000000001.5s", "250ms", "1d", "90", "1.5")),
        *({"timeout": text} for text in ("", " ", "1.", "1m1h", "1h 30m", "s", ".5s", "-1s")),
        *({"log_max": amount} for amount in (1, 4095, 4096, 2**34, 2**34 + 1)),
        *({"resources": {"cpu": amount}} for amount in (2**53 // 1000, 2**53)),
        {"health": [{"interval": "1s"}]},
        {"health": [{"tcp": 80, "command": ["x"]}]},
        {"health": [{"tcp": 80}, {"command": ["x"]}]},
    ],
)
def test_spellings_that_the_reader_takes_and_no_others_pass_the_schema(spec: dict[str, Any]) -> None:
    try:
        is_taken = bool(parse_job(manifest(**spec)))
    except Invalid:
        is_taken = False
    assert SCHEMA.is_valid(manifest(**spec)) is is_taken


@pytest.mark.parametrize("job_type", TYPES)
def test_the_schema_knows_what_each_type_has(job_type: str) -> None:
    for name, types in FIELDS_BY_TYPE.items():
        document = manifest(type=job_type)
        document["spec"][name] = None  # wrong in any case; the question is whether it may be there at all
        messages = [error.message for error in SCHEMA.iter_errors(document)]
        assert any("False schema" in message for message in messages) is (job_type not in types), name


def test_the_schema_asks_for_something_to_run() -> None:
    empty = manifest()
    del empty["spec"]["command"]
    assert list(SCHEMA.iter_errors(empty))
    for name, value in (("image", "busybox"), ("groups", [{"name": "a", "command": ["x"]}])):
        assert not list(SCHEMA.iter_errors({**empty, "spec": {name: value}}))


def test_every_field_of_a_job_is_explained_to_editors() -> None:
    def unexplained(section: Section) -> list[str]:
        return [name for name, field in section.fields.items() if not field.schema.get("description")]

    assert unexplained(SPEC) == []


def test_only_the_program_of_a_command_must_not_be_empty() -> None:
    allowed = manifest(command=["echo", ""])
    parse_job(allowed)
    assert SCHEMA.is_valid(allowed)
    for command in ([""], ["", "a"]):
        refused = manifest(command=command)
        assert not SCHEMA.is_valid(refused)
        assert [(each.field, each.message) for each in problems(refused)] == [
            ("spec.command[0]", "must name a program")
        ]
