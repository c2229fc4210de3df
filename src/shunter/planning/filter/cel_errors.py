"""Explains what is wrong with an expression: CEL's message in plain words, the position, and a fix if one is known.
Called by `planning.filter.cel` when an expression is rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_ERROR = re.compile(r"<input>:(\d+):(\d+): (.*)")
_UNKNOWN = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '(.*)'")
_RETURNS = re.compile(r"returns (.*)")
_OPERATOR = re.compile(r"^_(.*)_$")
_TYPES = {"string": "text", "int": "whole number", "double": "number", "bool": "true or false"}
_QUOTE_KEY = "write keys that contain other characters than letters, digits and _ as node.labels['the-key']"
_QUOTES = "put texts in quotes, like 'ssd'"
_OPERATOR_WORDS = {"and": "&&", "or": "||", "not": "!"}
_NUMBERS = {"whole number", "number"}
_SIMILARITY_MIN = 0.8


def explain_cel_error(text: str, message: str, names: Iterable[str]) -> str:
    """`names` are those that the expression may use."""
    if returned := _RETURNS.fullmatch(message):
        return f"must be true or false, but is a {returned[1].lower()}; compare it with a value"
    found = _ERROR.search(message)
    if found is None:
        return f"cannot be read: {message.partition(' [')[0].removeprefix('CANCELLED: ')}"
    line, column, error_text = int(found[1]), int(found[2]), found[3]
    offset = sum(len(before) + 1 for before in text.split("\n")[: line - 1]) + column - 1
    if unknown := _UNKNOWN.search(error_text):
        return _explain_name(text, unknown[1], offset, list(names))
    if overload := _OVERLOAD.search(error_text):
        return _explain_types(overload[1], overload[2], offset)
    if "operand of a select" in error_text:
        return f"a text has no fields, at character {offset + 1}; {_QUOTE_KEY}"
    return _explain_syntax(text, error_text, offset)


def _explain_name(text: str, name: str, offset: int, names: list[str]) -> str:
    start = text.rfind(name, 0, offset + len(name))
    where = f"at character {(offset if start < 0 else start) + 1}"
    before = text[: max(start, 0)].rstrip()
    if name.isidentifier() and text[max(start, 0) + len(name) :].lstrip().startswith("("):
        return f"unknown function {name} {where}"
    if before.endswith("-") and re.search(r"\w\.\w+(-\w+)*\s*-$", before):
        return f"unknown name {name} {where}; {_QUOTE_KEY}"
    known = f"known names: {', '.join(names)}"
    if "." in name:
        near = get_close_matches(".".join(name.split(".")[:2]), names, n=1, cutoff=_SIMILARITY_MIN)
        return f"unknown name {name} {where}; {f'did you mean {near[0]}?' if near else known}"
    return f"unknown name {name} {where}; {_QUOTES}; {known}"


def _explain_types(operator: str, types: str, offset: int) -> str:
    sign = _OPERATOR.sub(r"\1", operator).removeprefix("@")
    simplified = (
        types.strip("()").replace("map(string, string", "a map of texts").replace("map(string, dyn", "a map of numbers")
    )
    words = [_TYPES.get(each.strip(" )"), each.strip(" )")) for each in simplified.split(",")]
    fix = "labels and attributes are texts: put the value in quotes, or write int(...) or double(...) around the text"
    hint = f"; {fix}" if "text" in words and _NUMBERS.intersection(words) else ""
    return f"{sign} cannot be applied to {' and '.join(words)}, at character {offset + 1}{hint}"


def _explain_syntax(text: str, error_text: str, offset: int) -> str:
    rest = text[offset:]
    if not rest.strip():
        return f"ends unexpectedly at character {offset + 1}"
    word = re.match(r"\w+|.", rest.lstrip())
    found = word[0] if word else rest[0]
    fix = _syntax_fix(text[:offset], rest, found, error_text)
    return f"has a syntax error at character {offset + 1}, found {found!r}{f'; {fix}' if fix else ''}"


def _syntax_fix(before: str, rest: str, found: str, error_text: str) -> str:
    """What to write instead, if known."""
    if rest.startswith("=") and not rest.startswith("=="):
        return "write == for equality"
    if rest[0] in "'\"":
        return "the text is not closed" if "token recognition" in error_text else ""
    if rest[0] in "&|" and rest[:2] not in ("&&", "||"):
        return f"write {rest[0] * 2}"
    for word in (*before.split()[-1:], found):
        if word in _OPERATOR_WORDS:
            return f"write {_OPERATOR_WORDS[word]} for {word}"
    return _QUOTE_KEY if re.search(r"\.$", before) or re.match(r"\.\d", rest) else ""
