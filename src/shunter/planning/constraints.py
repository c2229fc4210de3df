"""Constraint expressions: which kinds of nodes a task accepts. A subset of CEL, so that manifests outlive it.

    node.labels.disk == 'ssd' && node.labels['gpu-model'] in ['a100', 'h100'] && 'rack' in node.labels

Manifest validation calls `parse_constraint`; `planning.kinds` evaluates. A label that a node lacks equals nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shunter.planning.view import NodeKind

LENGTH_MAX = 2000
MAPS = ("labels", "attributes")
FIELDS = ("datacenter", *MAPS)

Test = Callable[["NodeKind"], bool]
Value = Callable[["NodeKind"], str | None]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One parsed expression: all of its tests must pass."""

    text: str
    tests: tuple[Test, ...]

    def holds(self, kind: NodeKind) -> bool:
        return all(test(kind) for test in self.tests)


@lru_cache(maxsize=4096)
def parse_constraint(text: str) -> Constraint:
    """Raises ValueError with what was expected, what was found, and where."""
    if len(text) > LENGTH_MAX:
        raise ValueError(f"is longer than {LENGTH_MAX} characters")
    parser = _Parser(text)
    tests = [parser.test()]
    while parser.accept("&&"):
        tests.append(parser.test())
    if parser.kind != "end":
        raise parser.expected("'&&' or the end")
    return Constraint(text, tuple(tests))


_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<sign>==|!=|&&|\|\||<=|>=|[^\sA-Za-z_])|(?P<end>$))"""
)
_QUOTE_KEY = "write a key with other characters than letters, digits and _ as node.labels['the-key']"
_HINTS = {
    "||": "use `in [...]` for alternatives",
    "=": "equality is spelt ==",
    "&": "and is spelt &&",
    "and": "and is spelt &&",
    "-": _QUOTE_KEY,
    ".": _QUOTE_KEY,
    "'": "the text is not closed",
    '"': "the text is not closed",
}


class _Parser:
    """Recursive descent with one token of look-ahead: `kind` and `token` are the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._advance()

    def test(self) -> Test:
        """`VALUE == VALUE`, `VALUE != VALUE`, `VALUE in ['a', 'b']` or `'key' in node.labels`."""
        literal, left = self._value()
        if self.accept("in"):
            return self._membership(literal, left)
        if self.accept("=="):
            right = self._value()[1]
            return lambda kind: (value := left(kind)) is not None and value == right(kind)
        if self.accept("!="):
            right = self._value()[1]
            return lambda kind: (value := left(kind)) is None or value != right(kind)
        raise self.expected("==, != or in")

    def accept(self, token: str) -> bool:
        """Step over the token if it is the next one."""
        if self.kind == "string" or self.token != token:
            return False
        self._advance()
        return True

    def expected(self, what: str) -> ValueError:
        found = repr(self.token) if self.token else "the end"
        hint = "" if self.kind == "string" else _HINTS.get(self.token, "")
        return ValueError(f"expected {what} at character {self.start + 1}, found {found}{hint and '; ' + hint}")

    def _membership(self, literal: bool, left: Value) -> Test:
        if not self.accept("["):
            if not literal:
                raise self.expected("a list such as ['a', 'b']")
            held = self._field(maps_only=True)[1]
            return lambda kind: left(kind) in getattr(kind, held)
        values = {self._string()}
        while self.accept(","):
            values.add(self._string())
        self._require("]")
        return lambda kind: left(kind) in values

    def _value(self) -> tuple[bool, Value]:
        """A quoted text (True) or a field of the node (False)."""
        if self.kind == "string":
            constant = self._string()
            return True, lambda _: constant
        key, field = self._field()
        if field == "datacenter":
            return False, lambda kind: kind.datacenter
        return False, lambda kind: getattr(kind, field).get(key)

    def _field(self, maps_only: bool = False) -> tuple[str, str]:
        """`node.datacenter`, `node.labels.KEY`, `node.labels['KEY']`; only `node.labels` where a whole map is meant."""
        if not self.accept("node"):
            raise self.expected("node.labels" if maps_only else "a field such as node.labels.disk, or a quoted text")
        self._require(".")
        known = MAPS if maps_only else FIELDS
        field = self.token
        if self.kind != "word" or field not in known:
            near = get_close_matches(field, known, n=1)
            raise self.expected(f"node.{near[0]}" if near else f"one of {', '.join('node.' + name for name in known)}")
        self._advance()
        if maps_only or field == "datacenter":
            return "", field
        if self.accept("["):
            key = self._string()
            self._require("]")
            return key, field
        self._require(".")
        if self.kind != "word":
            raise self.expected(f"a key, as in node.{field}.disk or node.{field}['disk']")
        key = self.token
        self._advance()
        return key, field

    def _string(self) -> str:
        if self.kind != "string":
            raise self.expected("a text in quotes")
        text = re.sub(r"\\(.)", r"\1", self.token[1:-1])
        self._advance()
        return text

    def _require(self, token: str) -> None:
        if not self.accept(token):
            raise self.expected(repr(token))

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._end)
        assert match is not None and match.lastgroup is not None, "every character is some token"
        self.kind = match.lastgroup
        self.token = match[self.kind]
        self.start = match.start(self.kind)
        self._end = match.end()
