"""Constraint expressions: what holds, and what is refused with which words."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shunter.model.job.placement_fields import CONSTRAINT_SIZE_MAX
from shunter.planning.filter.cel import LOOPS_MAX, JobAttributes, Scope, parse_constraint, parse_job_match
from shunter.planning.filter.cel_fast import parse_simple
from shunter.planning.filter.node_kinds import NodeKindIndex
from shunter.planning.view import NodeKind
from tests.unit.planning.cluster_builder import GI, Cluster

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
        ("node.labels.missing != 'x'", False),
        ("node.labels.missing in ['x', '']", False),
        ("node.labels.missing == node.labels.absent", False),
        ("node.labels.missing != node.labels.absent", False),
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
        ("node.labels.disk == 'hdd' || node.datacenter == 'berlin'", True),
        ("!(node.labels.disk == 'ssd')", False),
        ("!has(node.labels.missing) || node.labels.missing != 'x'", True),
        ("node.labels.missing == 'x' || node.labels.disk == 'ssd'", True),
        ("node.labels.exists(key, key.startsWith('gpu-'))", True),
        ("node.labels['gpu-model'].matches('^[ah]100$')", True),
        ("int(node.labels.cores) > 2", False),
        ("int(node.labels.disk) > 2", False),
        ("node.labels.`gpu-model` == 'a100'", True),
        ("node.labels.all == 'x' || node.labels.map == 'x' || 'map' != 'filter('", True),
        ("true", True),
    ],
)
def test_an_expression_holds_or_not(text: str, holds: bool) -> None:
    assert parse_constraint(text).holds(KIND) is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("node.capacity.cpu >= 4", True),
        ("node.capacity.cpu > 4.5", False),
        ("node.capacity.cpu * 2.0 == 9.0", True),
        ("node.capacity.memory >= 64 * 1024 * 1024 * 1024", False),
        ("node.capacity.gpu >= 2 && node.labels.disk == 'ssd'", True),
        ("node.capacity.tpu >= 1", False),
        ("has(node.capacity.tpu)", False),
        ("node.name == 'n-7'", True),
        ("node.name.startsWith('n-') && node.capacity.gpu > 2", False),
    ],
)
def test_an_expression_may_ask_about_the_size_and_the_name_of_a_node(text: str, holds: bool) -> None:
    capacity = {"cpu": 4500, "memory": 2**35, "gpu": 2}
    assert parse_constraint(text).holds(KIND, "n-7", capacity) is holds


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("node.labels.disk == 'ssd'", Scope.KIND),
        ("node.labels.disk == 'ssd' || node.attributes.os == 'linux'", Scope.KIND),
        ("node.labels.disk == 'node.name' || true", Scope.KIND),
        ("node.capacity.cpu > 1", Scope.SIZE),
        ("node.capacity.cpu > 1 || node.name == 'a'", Scope.NAME),
    ],
)
def test_the_scope_is_no_wider_than_what_is_asked(text: str, scope: Scope) -> None:
    assert parse_constraint(text).scope == scope


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends unexpectedly at character 1"),
        ("node.labels.disk", "must be true or false, but is a string"),
        ("node.capacity.cpu", "must be true or false, but is a dyn"),
        ("node.labels.disk = 'ssd'", "at character 18, found '='; write == for equality"),
        ("node.labels.disk == ssd", "unknown name ssd at character 21; put texts in quotes"),
        ("node.labels.disk == 'ssd", "character 21, .*; the text is not closed"),
        ("node.labels.disk == 'a' and node.labels.rack == 'b'", "write && for and"),
        ("not node.labels.disk == 'a'", "write ! for not"),
        ("node.labels.disk == 'a' & true", "write &&"),
        ("node.labels.disk == 'a' &&", "ends unexpectedly at character 27"),
        (
            "node.labels.gpu-model == 'a'",
            r"unknown name model at character 17; write keys .* node.labels\['the-key'\]",
        ),
        (
            "node.labels.a.b == 'a'",
            r"a text has no fields, at character 14; write keys .* as node.labels\['the-key'\]",
        ),
        ("node.labels.2nd == 'a'", r"write keys .* as node.labels\['the-key'\]"),
        ("node.label.disk == 'ssd'", r"unknown name node.label.disk at character 1; did you mean node.labels\?"),
        ("true &&\nnode.lables.x == 'a'", r"unknown name node.lables.x at character 9; did you mean node.labels\?"),
        ("node.zone == 'a'", "unknown name node.zone at character 1; known names: node.labels, node.attributes"),
        ("job.name == 'a'", "unknown name job.name at character 1; known names: node.labels"),
        ("node.labels == 'a'", "== cannot be applied to a map of texts and text, at character 13"),
        ("node.labels.disk in 'ssd'", "in cannot be applied to text and text, at character 18"),
        ("node.labels.disk in ['a'", "ends unexpectedly at character 25"),
        ("node.capacity.memory > '4Gi'", "node.capacity has numbers, not text as at character 24; write it without"),
        (
            "node.capacity['gpu'] == \"2\"",
            "node.capacity has numbers, not text as at character 25; write it without",
        ),
        ("node.labels.cores > 4", r"> cannot be applied to text and whole number, .* write int\(...\)"),
        ("room(node.name)", "unknown function room at character 1"),
        ("(" * 300, "recursion limit"),
        ("x" * (CONSTRAINT_SIZE_MAX + 1), "is longer than 2,000 characters"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_constraint(text)


@pytest.mark.parametrize(
    "text",
    [
        "node.labels.all(k, node.labels.all(j, true))",
        "node.labels.all(k, (node.labels . exists (j, j == ')')))",
        "node.labels.all(k, ')' == '' || node.labels.all(j, true))",
        r"r'\' == 'x' || node.labels.all(k, node.labels.all(j, true)) || '' == ''",
        "node.labels.all(k, // ' )\n node.labels.//\nall(j, true))",
        "'''a' == '''  || node.labels.all(k, node.labels.all(j, true))",
        "[1, 2, 3].map(n, n * 2).all(n, n > 2)",
        "(node.labels).exists(k, true)",
        "node.labels.map(k, k).exists(k, true)",
    ],
)
def test_loops_that_could_take_long_are_refused_however_they_are_written(text: str) -> None:
    with pytest.raises(ValueError, match=r"must (not )?(combine a )?loop"):
        parse_constraint(text)


def test_loops_beside_one_another_are_allowed_up_to_a_limit() -> None:
    loop = "node.labels.exists(k, k == 'map(') && "
    assert parse_constraint(loop * LOOPS_MAX + "true").holds(KIND) is False
    with pytest.raises(ValueError, match="at most 4 loops"):
        parse_constraint(loop * (LOOPS_MAX + 1) + "true")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("job.name == 'db'", True),
        ("job.namespace == 'shop' && job.labels.tier in ['back']", True),
        ("job.labels.missing == 'x'", False),
        ("job.user == 'ann' && job.type == 'service'", True),
        ("job.name.startsWith('web')", False),
    ],
)
def test_affinities_ask_about_jobs(text: str, holds: bool) -> None:
    assert parse_job_match(text).holds(JobAttributes("db", "shop", {"tier": "back"}, "ann", "service")) is holds


def test_a_match_over_jobs_knows_no_nodes() -> None:
    with pytest.raises(ValueError, match=r"unknown name node.name at character 1; known names: job.name"):
        parse_job_match("node.name == 'a'")


@given(st.text(alphabet="node.labsdtr[]'\"=!&|<> in\\,-1", max_size=40))
def test_any_text_parses_or_is_refused_and_never_fails_otherwise(text: str) -> None:
    for parse in (parse_constraint, parse_job_match):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)


KEYS = st.sampled_from(["disk", "rack", "q", "in", "true", "for", "a_b", "_"])
VALUES = st.sampled_from(["ssd", "", "it's", "x y", "&&", "é", "node"])
MADE_UP_KINDS = st.builds(
    NodeKind, VALUES, st.dictionaries(KEYS, VALUES, max_size=3), st.dictionaries(KEYS, VALUES, max_size=3)
)
QUOTED = VALUES.map(lambda value: f'"{value}"') | VALUES.filter(lambda value: "'" not in value).map(repr)
MAPS = st.sampled_from(["node.labels", "node.attributes"])
FIELDS = (
    st.just("node.datacenter")
    | st.builds("{}.{}".format, MAPS, KEYS)
    | st.builds("{}[{}]".format, MAPS, KEYS.map(repr))
    | QUOTED
)
TESTS = (
    st.builds("{}{}{}".format, FIELDS, st.sampled_from(["==", " == ", "!=", "\n!= "]), FIELDS)
    | st.builds("{} in [{}]".format, FIELDS, st.lists(QUOTED, min_size=1, max_size=3).map(", ".join))
    | st.builds("{} in {}".format, FIELDS, MAPS)
)


@given(st.lists(TESTS, min_size=1, max_size=3).map(" && ".join), MADE_UP_KINDS)
def test_what_is_read_plainly_means_the_same_in_cel(text: str, kind: NodeKind) -> None:
    simple = parse_simple(text)
    assume(simple is not None)
    assert simple is not None
    bracketed = parse_constraint(f"({text})")  # which the plain reader leaves to CEL
    assert bracketed.simple is None
    assert bracketed.holds(kind) is simple(kind)


@given(st.text(alphabet="node.labsdtr[]'\"=!&|<> in\\,-1\n", max_size=40))
def test_what_is_read_plainly_is_cel(text: str) -> None:
    if parse_simple(text) is not None:
        parse_constraint(f"({text})")


def test_a_kind_is_asked_once_and_new_kinds_are_asked_when_they_come() -> None:
    asked: list[str] = []

    class Labels(dict[str, str]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            asked.append(self["name"])
            return super().get(key, default)

    listed = [NodeKind("", Labels(name="first", disk="ssd"), {})]
    kinds = NodeKindIndex(listed)
    for _ in range(3):
        assert kinds.meet("node.labels.disk == 'ssd'").tolist() == [True]
    listed.append(NodeKind("", Labels(name="second"), {}))
    assert kinds.meet("node.labels.disk == 'ssd'").tolist() == [True, False]
    assert asked == ["first", "second"]


def test_rows_are_asked_again_when_their_size_or_kind_changes() -> None:
    cluster = Cluster()
    rows = [cluster.add({"cpu": 4000, "memory": memory}) for memory in (GI, 16 * GI, 16 * GI)]
    kinds = NodeKindIndex(cluster.nodes.kinds, cluster.nodes)
    large = "node.capacity.memory > 8 * 1024 * 1024 * 1024 && node.labels.disk != 'hdd' || node.labels.disk == 'ssd'"
    named = "node.name == 'n2'"
    every = slice(1, 4)
    assert kinds.hold_on(large, every).tolist() == [False, False, False]
    assert kinds.hold_on(named, every).tolist() == [False, True, False]
    for row in rows:
        cluster.label(row, "dc1", {"disk": "tape"})
    assert kinds.hold_on(large, every).tolist() == [False, True, True]
    memory = cluster.nodes.resources.index("memory")
    cluster.nodes.capacity[[1, 2], memory] = 16 * GI, GI
    assert kinds.hold_on(large, every).tolist() == [True, False, True]
    assert kinds.hold_on(large, np.array([2, 3])).tolist() == [False, True]
    cluster.add({"cpu": 1000, "memory": 32 * GI, "gpu": 1}, labels={"disk": "tape"})
    assert kinds.hold_on(large, slice(1, 5)).tolist() == [True, False, True, True]
    assert kinds.hold_on("node.capacity.gpu == 1", slice(0, 5)).tolist() == [False, False, False, False, True]


def test_a_constraint_that_cannot_be_read_holds_nowhere() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 4000})
    kinds = NodeKindIndex(cluster.nodes.kinds, cluster.nodes)
    assert kinds.hold_on("what is this", slice(0, 2)).tolist() == [False, False]


def test_plain_constraints_do_not_load_the_language() -> None:
    program = """
import sys
from shunter.planning.filter.cel import parse_constraint
parse_constraint("node.labels.disk == 'ssd' && 'rack' in node.labels")
assert "cel_expr_python" not in sys.modules
parse_constraint("node.capacity.cpu > 1")
assert "cel_expr_python" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
