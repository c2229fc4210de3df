"""Evaluates constraint expressions in CEL: which nodes a task accepts, and which running jobs an affinity selects.

    node.labels.disk == 'ssd' || node.capacity.memory >= 64 * 1024 * 1024 * 1024

Manifest validation calls `parse_constraint` and `parse_job_match`; `planning.filter.node_kinds` and the engine
evaluate. A missing value, or a value of the wrong type, makes the expression false. The CEL library is loaded at the
first expression that `planning.filter.cel_fast` cannot read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from shunter.model.job.placement_fields import CONSTRAINT_SIZE_MAX
from shunter.model.resources import CPU
from shunter.planning.filter.cel_errors import explain_cel_error
from shunter.planning.filter.cel_fast import Predicate, parse_simple

if TYPE_CHECKING:
    from shunter.planning.view import NodeKind

LOOPS_MAX = 4  # of all, exists, map, filter, ...: together with the length, this bounds the time of an evaluation
# CEL takes about 90 bytes for each character of an expression, so few of the long ones are cached.
SHORT_MAX = 200
CACHED_SHORT_MAX = 4096
CACHED_LONG_MAX = 256

_TEXT = "text"
_TEXTS = "texts"
_NUMBERS = "numbers"


class Scope(IntEnum):
    """What an expression depends on, and so the key by which its result can be cached."""

    KIND = 0  # labels, attributes, datacenter
    SIZE = 1  # the capacity as well
    NAME = 2  # the individual node


KIND_NAMES = {"node.labels": _TEXTS, "node.attributes": _TEXTS, "node.datacenter": _TEXT}
NODE_NAMES = {
    Scope.KIND: KIND_NAMES,
    Scope.SIZE: KIND_NAMES | {"node.capacity": _NUMBERS},
    Scope.NAME: KIND_NAMES | {"node.capacity": _NUMBERS, "node.name": _TEXT},
}
JOB_NAMES = {"job.name": _TEXT, "job.namespace": _TEXT, "job.labels": _TEXTS, "job.user": _TEXT, "job.type": _TEXT}


@dataclass(frozen=True, slots=True)
class Constraint:
    """One expression over nodes."""

    text: str
    scope: Scope
    simple: Predicate | None
    compiled: Any  # CEL's expression, if it is not a simple one

    def holds(self, kind: NodeKind, name: str = "", capacity: Mapping[str, int] | None = None) -> bool:
        """`capacity` has internal amounts; expressions see cpu in cores. Values outside of the scope may be omitted."""
        if self.simple is not None:
            return self.simple(kind)
        variables = {
            "node.labels": dict(kind.labels),
            "node.attributes": dict(kind.attributes),
            "node.datacenter": kind.datacenter,
        }
        if self.scope >= Scope.SIZE:
            sizes = capacity or {}
            variables["node.capacity"] = {key: size / 1000 if key == CPU else size for key, size in sizes.items()}
        if self.scope >= Scope.NAME:
            variables["node.name"] = name
        return _evaluate(self.compiled, variables)


@dataclass(frozen=True, slots=True)
class JobAttributes:
    """What an affinity can ask about a job."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    user: str
    type: str


@dataclass(frozen=True, slots=True)
class JobMatch:
    """One expression over jobs."""

    text: str
    compiled: Any

    def holds(self, job: JobAttributes) -> bool:
        variables = {
            "job.name": job.name,
            "job.namespace": job.namespace,
            "job.labels": dict(job.labels),
            "job.user": job.user,
            "job.type": job.type,
        }
        return _evaluate(self.compiled, variables)


def parse_constraint(text: str) -> Constraint:
    """Raises ValueError that says what is wrong, where, and how to fix it."""
    return _parse_short(text) if len(text) <= SHORT_MAX else _parse_long(text)


@lru_cache(maxsize=CACHED_LONG_MAX)
def parse_job_match(text: str) -> JobMatch:
    """Raises ValueError that says what is wrong, where, and how to fix it."""
    _check_limits(text)
    try:
        return JobMatch(text, _compile(text, None))
    except RuntimeError as error:
        raise ValueError(explain_cel_error(text, str(error), JOB_NAMES)) from None


def _parse(text: str) -> Constraint:
    _check_limits(text)
    if simple := parse_simple(text):
        return Constraint(text, Scope.KIND, simple, None)
    if found := _QUOTED_CAPACITY.search(text):  # CEL has no map of integers and fractions, so it would not report it
        raise ValueError(
            f"node.capacity has numbers, not text as at character {found.start(1) + 1}; write it without quotes: cpu "
            "in cores, memory and disk in bytes (4 * 1024 * 1024 * 1024), others as counts"
        )
    for scope in (Scope.KIND, Scope.SIZE):
        try:
            return Constraint(text, scope, None, _compile(text, scope))
        except RuntimeError:
            continue  # it depends on more, or is wrong
    try:
        return Constraint(text, Scope.NAME, None, _compile(text, Scope.NAME))
    except RuntimeError as error:
        raise ValueError(explain_cel_error(text, str(error), NODE_NAMES[Scope.NAME])) from None


_parse_short = lru_cache(maxsize=CACHED_SHORT_MAX)(_parse)
_parse_long = lru_cache(maxsize=CACHED_LONG_MAX)(_parse)


_LOOP = re.compile(r"\b(?:all|exists|exists_one|map|filter)\b(?=\s*\()|[()]")
_AMBIGUOUS_LOOP = re.compile(r"\b(?:all|exists|exists_one|map|filter)\b")
_QUOTED_CAPACITY = re.compile(r"\bnode\.capacity(?:\.\w+|\[[^]]*\])\s*(?:[=!<>]=|[<>])\s*(['\"])")
_OVER_A_NAME = re.compile(r"\w\s*\.\s*$")
_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_AMBIGUOUS_QUOTING = re.compile(r"\\|//|'''|\"\"\"")  # with these, text cannot easily be told from code


def _check_limits(text: str) -> None:
    """A loop over labels is fine; nested loops, or loops over long lists, could keep the planner busy for hours."""
    if len(text) > CONSTRAINT_SIZE_MAX:
        raise ValueError(f"is longer than {CONSTRAINT_SIZE_MAX:,} characters")
    if _AMBIGUOUS_QUOTING.search(text):
        if found := _AMBIGUOUS_LOOP.search(text):
            raise ValueError(f"must not combine a loop with \\, // or triple quotes, at character {found.start() + 1}")
        return
    code = _STRING.sub(lambda found: " " * len(found[0]), text)
    opened: list[bool] = []  # of the surrounding parentheses: whether it is a loop's
    loops, is_loop = 0, False
    for match in _LOOP.finditer(code):
        if match[0] == "(":
            opened.append(is_loop)
            is_loop = False
        elif match[0] == ")":
            del opened[-1:]
        else:
            loops, is_loop = loops + 1, True
            if any(opened):
                raise ValueError(f"must not loop within a loop, at character {match.start() + 1}")
            if not _OVER_A_NAME.search(code, 0, match.start()):
                raise ValueError(f"must loop over a map such as node.labels itself, at character {match.start() + 1}")
    if loops > LOOPS_MAX:
        raise ValueError(f"must have at most {LOOPS_MAX} loops")


def _compile(text: str, scope: Scope | None) -> Any:
    """Raises RuntimeError with CEL's message. A scope of None is that of jobs."""
    from cel_expr_python import cel

    compiled = _environment(scope).compile(text)
    if compiled.return_type() != cel.Type.BOOL:
        raise RuntimeError(f"returns {compiled.return_type().name()}")
    return compiled


@cache
def _environment(scope: Scope | None) -> Any:
    from cel_expr_python import cel

    kinds = {
        _TEXT: cel.Type.STRING,
        _TEXTS: cel.Type.Map(cel.Type.STRING, cel.Type.STRING),
        _NUMBERS: cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    }
    names = JOB_NAMES if scope is None else NODE_NAMES[scope]
    return cel.NewEnv(variables={name: kinds[kind] for name, kind in names.items()})


def _evaluate(compiled: Any, variables: dict[str, Any]) -> bool:
    try:
        value = compiled.eval(data=variables)
    except RuntimeError:
        return False
    return value.value() is True
