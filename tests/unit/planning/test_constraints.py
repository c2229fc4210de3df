"""Constraint expressions: what holds, and what is refused with which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.planning.constraints import LENGTH_MAX, parse_constraint
from shunter.planning.kinds import Kinds
from shunter.planning.view import NodeKind

KIND = NodeKind("berlin", {"disk": "ssd", "gpu-model": "a100", "q": "it's"}, {"os": "linux"})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("node.labels.disk == 'ssd'", True),
        ("node.labels.disk == 'hdd'", False),
        ('node.labels.disk == "ssd"', True),
        ("'ssd' == node.labels.disk", True),
        ("node.labels.disk != 'hdd'", True),
        ("node.labels.disk != 'ssd'", False),
        ("node.labels['gpu-model'] == 'a100'", True),
        ("node.labels['gpu-model'] in ['h100', 'a100']", True),
        ("node.labels['gpu-model'] in ['h100']", False),
        ("node.labels.missing == 'x'", False),
        ("node.labels.missing != 'x'", True),
        ("node.labels.missing in ['x', '']", False),
        ("node.labels.missing == node.labels.absent", False),
        ("node.labels.missing != node.labels.absent", True),
        ("node.datacenter == 'berlin'", True),
        ("node.datacenter in ['paris','rome']", False),
        ("node.attributes.os == 'linux'", True),
        ("'disk' in node.labels", True),
        ("'rack' in node.labels", False),
        ("'os' in node.attributes", True),
        ("node.labels.disk == 'ssd' && node.datacenter == 'berlin'", True),
        ("node.labels.disk == 'ssd'&&node.datacenter=='paris'", False),
        (r"node.labels.q == 'it\'s'", True),
        ("node.labels.disk == '&&'", False),
        ("  node.labels.disk\n==\t'ssd'  ", True),
    ],
)
def test_an_expression_holds_or_not(text: str, holds: bool) -> None:
    assert parse_constraint(text).holds(KIND) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a field such as node.labels.disk, or a quoted text at character 1, found the end"),
        ("node.labels.disk", "expected ==, != or in at character 17, found the end"),
        ("node.labels.disk = 'ssd'", "found '='; equality is spelt =="),
        ("node.labels.disk == ssd", "or a quoted text at character 21, found 'ssd'"),
        ("node.labels.disk == 'ssd", "the text is not closed"),
        ("node.labels.disk == 'a' || node.labels.disk == 'b'", r"found '\|\|'; use `in \[...\]` for alternatives"),
        ("node.labels.disk == 'a' and node.labels.rack == 'b'", "and is spelt &&"),
        ("node.labels.disk == 'a' &&", "at character 27, found the end"),
        ("node.labels.gpu-model == 'a'", r"found '-'; write a key .* as node.labels\['the-key'\]"),
        ("node.labels.a.b == 'a'", r"expected ==, != or in at character 14, found '.'; write a key"),
        ("node.labels.2nd == 'a'", r"expected a key, as in node.labels.disk or node.labels\['disk'\]"),
        ("node.label.disk == 'ssd'", "expected node.labels at character 6, found 'label'"),
        ("node.zone == 'a'", "expected one of node.datacenter, node.labels, node.attributes"),
        ("node.labels == 'a'", r"expected '.' at character 13"),
        ("job.name == 'a'", "expected a field such as node.labels.disk"),
        ("node.labels.disk in 'ssd'", r"expected a list such as \['a', 'b'\]"),
        ("node.labels.disk in []", "expected a text in quotes"),
        ("node.labels.disk in ['a'", "expected ']'"),
        ("'disk' in node.datacenter", "expected one of node.labels, node.attributes"),
        ("node.labels.disk > 'a'", "expected ==, != or in at character 18, found '>'"),
        ("x" * (LENGTH_MAX + 1), f"is longer than {LENGTH_MAX} characters"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_constraint(text)


@given(st.text(alphabet="node.labsdtr[]'\"=!&|<> in\\,-1", max_size=40))
def test_any_text_parses_or_is_refused_and_never_fails_otherwise(text: str) -> None:
    try:
        constraint = parse_constraint(text)
    except ValueError:
        return
    assert constraint.holds(KIND) in (True, False)


def test_a_kind_is_asked_once_and_new_kinds_are_asked_when_they_come() -> None:
    asked: list[str] = []

    class Labels(dict[str, str]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            asked.append(self["name"])
            return super().get(key, default)

    listed = [NodeKind("", Labels(name="first", disk="ssd"), {})]
    kinds = Kinds(listed)
    for _ in range(3):
        assert kinds.meet("node.labels.disk == 'ssd'").tolist() == [True]
    listed.append(NodeKind("", Labels(name="second"), {}))
    assert kinds.meet("node.labels.disk == 'ssd'").tolist() == [True, False]
    assert asked == ["first", "second"]
