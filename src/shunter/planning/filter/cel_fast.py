"""Evaluates the simplest constraints without CEL: equality and membership, joined by `&&`.

    node.labels.disk == 'ssd' && node.labels['gpu-model'] in ['a100', 'h100'] && 'rack' in node.labels

Most constraints have this form, and CEL's library costs 18 MB. `planning.filter.cel` asks this module first and leaves
all other expressions to CEL. Both give the same result (a property test compares them)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shunter.planning.view import NodeKind

MAPS = ("labels", "attributes")
FIELDS = ("datacenter", *MAPS)

Predicate = Callable[["NodeKind"], bool]
Value = Callable[["NodeKind"], str | None]

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'[^'\\\r\n]*'|"[^"\\\r\n]*")|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<sign>==|!=|&&|[^\sA-Za-z_])|(?P<end>$))""",
    re.ASCII,
)
_TRIPLE = re.compile(r"'''|\"\"\"")  # multi-line strings, which only CEL reads
_RESERVED_WORDS = frozenset({"in", "true", "false", "null"})  # words that CEL does not accept as a field's name


class _NotSimpleError(Exception):
    """The text is not a simple constraint: perhaps CEL, perhaps invalid."""


def parse_simple(text: str) -> Predicate | None:
    """A test of node kinds, or None if the text is not simple. A missing value makes the test fail."""
    if _TRIPLE.search(text):
        return None
    try:
        parser = _Parser(text)
        predicates = [parser.predicate()]
        while parser.accept("&&"):
            predicates.append(parser.predicate())
        parser.require_end()
    except _NotSimpleError:
        return None
    return lambda kind: all(predicate(kind) for predicate in predicates)


class _Parser:
    """Recursive descent with one token of look-ahead: `kind` and `token` are the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._advance()

    def predicate(self) -> Predicate:
        """`VALUE == VALUE`, `VALUE != VALUE`, `VALUE in ['a', 'b']` or `'key' in node.labels`."""
        left = self._value()
        if self.accept("in"):
            return self._membership(left)
        wanted = self.accept("==")
        if not wanted and not self.accept("!="):
            raise _NotSimpleError
        right = self._value()

        def compare(kind: NodeKind) -> bool:
            one, other = left(kind), right(kind)
            return one is not None and other is not None and (one == other) is wanted

        return compare

    def accept(self, token: str) -> bool:
        """Skip the token if it is the next one."""
        if self.kind == "string" or self.token != token:
            return False
        self._advance()
        return True

    def require_end(self) -> None:
        if self.kind != "end":
            raise _NotSimpleError

    def _membership(self, left: Value) -> Predicate:
        if not self.accept("["):
            map_of = self._map()
            return lambda kind: left(kind) in map_of(kind)
        values = {self._string()}
        while self.accept(","):
            values.add(self._string())
        self._require("]")
        return lambda kind: left(kind) in values

    def _value(self) -> Value:
        """A quoted text, `node.datacenter`, `node.labels.KEY` or `node.labels['KEY']`."""
        if self.kind == "string":
            constant = self._string()
            return lambda _: constant
        if (field := self._field()) == "datacenter":
            return lambda kind: kind.datacenter
        if self.accept("["):
            key = self._string()
            self._require("]")
        else:
            self._require(".")
            key = self._word()
            if key in _RESERVED_WORDS:
                raise _NotSimpleError
        return lambda kind: getattr(kind, field).get(key)

    def _map(self) -> Callable[[NodeKind], Mapping[str, str]]:
        field = self._field()
        if field not in MAPS:
            raise _NotSimpleError
        return lambda kind: getattr(kind, field)

    def _field(self) -> str:
        self._require("node")
        self._require(".")
        field = self._word()
        if field not in FIELDS:
            raise _NotSimpleError
        return field

    def _word(self) -> str:
        if self.kind != "word":
            raise _NotSimpleError
        word = self.token
        self._advance()
        return word

    def _string(self) -> str:
        if self.kind != "string":
            raise _NotSimpleError
        text = self.token[1:-1]
        self._advance()
        return text

    def _require(self, token: str) -> None:
        if not self.accept(token):
            raise _NotSimpleError

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._end)
        if match is None or match.lastgroup is None:
            raise _NotSimpleError
        self.kind = match.lastgroup
        self.token = match[self.kind]
        self._end = match.end()
