"""Reads manifest files (YAML with one or several documents, or JSON) into decoded documents. Used by the API and the
CLI.

It builds YAML from the parser's events, because the library's own tree builder overflows the stack (and ends the
process) on deep nesting, lets a few hundred bytes of aliases expand to gigabytes, and silently accepts duplicate keys.
Plain words follow YAML 1.2: `yes`, `on` and `1:30` are text, not booleans or base-60 numbers."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import msgspec

from shunter.model.errors import Invalid, Problem
from shunter.model.files.repeated_keys import find_repeated_key

TEXT_SIZE_MAX = 32 * 2**20
DOCUMENTS_MAX = 20_000
VALUES_MAX = 4_000_000  # of all documents, aliases counted as often as they are used
DEPTH_MAX = 64
DIGITS_MAX = 400

_STRING_TAGS = ("!", "tag:yaml.org,2002:str")
_PLAIN_CONSTANTS = dict.fromkeys(("", "~", "null", "Null", "NULL")) | {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER = re.compile(r"[-+]?[0-9]+")
_PREFIXED_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def parse_documents(text: str | bytes) -> list[object]:
    """The documents of a text, empty ones left out. Raises Invalid, with line and column."""
    if len(text) > TEXT_SIZE_MAX:
        _refuse("document", f"is larger than {TEXT_SIZE_MAX:,} bytes", fix="split it")
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        _refuse(f"byte {error.start}", "is not UTF-8", fix="save it as UTF-8")
    documents = _parse_json(text)
    if documents is None:
        documents = _parse_yaml(text)
    if not documents:
        _refuse("document", "is empty", fix="give at least one manifest")
    return documents


def _parse_json(text: str) -> list[object] | None:
    """None if it is not JSON: `{kind: Job}` is YAML."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = msgspec.json.decode(text)
        repeated = find_repeated_key(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    if repeated is not None:
        _refuse("document", f"has the key '{repeated}' twice in one object", fix="leave one of them out")
    return [document]


def _parse_yaml(text: str) -> list[object]:
    import yaml  # 30 ms that only those pay who use YAML

    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.handle(event)
    except yaml.MarkedYAMLError as error:
        _refuse_syntax(text, error.problem_mark or error.context_mark, error.problem or "is not YAML")
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        _refuse("document", f"is not YAML: {error}")
    return builder.documents


def _refuse_syntax(text: str, mark: Any, problem: str) -> NoReturn:
    """Explain the usual mistakes; report others in the words of the library."""
    if mark is not None and text.splitlines()[mark.line : mark.line + 1]:
        line = text.splitlines()[mark.line]
        if "\t" in line[: len(line) - len(line.lstrip())]:
            _refuse(_location(mark), "starts with a tab", fix="YAML needs spaces for the indentation")
    if problem.startswith(("did not find expected", "expected <block end>")):
        _refuse(_location(mark), "does not belong to what is above it", fix="check the indentation")
    if "invalid Unicode character escape" in problem and (found := _SURROGATE.search(text)) is not None:
        _refuse(
            _location(mark),
            f"has an unpaired surrogate ({found[0]}), which is no character",
            fix="write the character itself",
        )
    _refuse(_location(mark), problem)


class _OpenContainer:
    """A list or mapping whose end has not come yet."""

    __slots__ = ("anchor", "container", "defaults", "key", "values")

    def __init__(self, container: list[Any] | dict[Any, Any], anchor: str | None) -> None:
        self.container = container
        self.anchor = anchor
        self.key: Any = _NO_KEY
        self.defaults: list[dict[Any, Any]] = []  # what the merge key `<<` brings
        self.values = 1


_NO_KEY = object()
_MERGE = "<<"
_MERGE_KEY = object()  # the word when it is plain; in quotes it is text like any other


class _Builder:
    """Builds documents from the events of a YAML parser, without recursion."""

    def __init__(self) -> None:
        self.documents: list[object] = []
        self._open_containers: list[_OpenContainer] = []
        self._anchors: dict[str, tuple[Any, int]] = {}  # name -> value, and how many values it stands for
        self._values = 0

    def handle(self, event: Any) -> None:
        match type(event).__name__:
            case "ScalarEvent":
                self._add(_scalar(event), 1, event.anchor, event)
            case "AliasEvent":
                if event.anchor not in self._anchors:
                    _refuse(
                        _location(event.start_mark),
                        "an alias must name an anchor that is complete before the alias",
                        event.anchor,
                    )
                value, values = self._anchors[event.anchor]
                self._add(value, values, None, event)
            case "SequenceStartEvent":
                self._open_container([], event)
            case "MappingStartEvent":
                self._open_container({}, event)
            case "SequenceEndEvent" | "MappingEndEvent":
                closed = self._open_containers.pop()
                for source in closed.defaults:
                    closed.container |= source | closed.container  # type: ignore[operator]
                self._add(closed.container, closed.values, closed.anchor, event)
            case "DocumentEndEvent":
                self._anchors.clear()

    def _open_container(self, container: list[Any] | dict[Any, Any], event: Any) -> None:
        _refuse_tag(event)
        if len(self._open_containers) >= DEPTH_MAX:
            _refuse(_location(event.start_mark), f"is nested deeper than {DEPTH_MAX} levels")
        self._open_containers.append(_OpenContainer(container, event.anchor))

    def _add(self, value: Any, values: int, anchor: str | None, event: Any) -> None:
        """Add a complete value to the open mapping or list, or to the documents."""
        self._values += values
        if self._values > VALUES_MAX:
            _refuse(_location(event.start_mark), f"has more than {VALUES_MAX:,} values, aliases included")
        if anchor is not None:
            self._anchors[anchor] = (value, values)
        if not self._open_containers:
            self._add_document(value, event)
            return
        parent = self._open_containers[-1]
        parent.values += values
        if isinstance(parent.container, list):
            parent.container.append(value)
        elif parent.key is _NO_KEY:
            parent.key = self._checked_key(value, parent.container, event)
        else:
            if parent.key is _MERGE_KEY:
                parent.defaults += _merge_sources(value, event)
            else:
                parent.container[parent.key] = value
            parent.key = _NO_KEY

    def _add_document(self, value: Any, event: Any) -> None:
        if len(self.documents) >= DOCUMENTS_MAX:
            _refuse(_location(event.start_mark), f"has more than {DOCUMENTS_MAX:,} documents")
        if value is not None:
            self.documents.append(value)

    def _checked_key(self, key: Any, mapping: dict[Any, Any], event: Any) -> Any:
        if isinstance(key, list | dict):
            _refuse(_location(event.start_mark), "keys must be text")
        if key in mapping:
            _refuse(_location(event.start_mark), "the key appears twice", key, fix="remove one of them")
        is_plain = type(event).__name__ == "ScalarEvent" and event.implicit[0]
        return _MERGE_KEY if key == _MERGE and is_plain else key


def _merge_sources(value: Any, event: Any) -> list[dict[Any, Any]]:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        _refuse(_location(event.start_mark), f"{_MERGE} must have a mapping or a list of mappings as its value")
    return sources


def _scalar(event: Any) -> Any:
    """The value of a scalar. A quoted scalar is always text."""
    _refuse_tag(event)
    word: str = event.value
    return word if not event.implicit[0] or event.tag in _STRING_TAGS else parse_plain_scalar(word)


def parse_plain_scalar(word: str) -> Any:
    """The value of a scalar without quotes."""
    if word in _PLAIN_CONSTANTS:
        return _PLAIN_CONSTANTS[word]
    if word[0] not in "+-.0123456789" or len(word) > DIGITS_MAX:
        return word
    if _INTEGER.fullmatch(word):
        return int(word)
    if _PREFIXED_INTEGER.fullmatch(word):
        return int(word, 0)
    return float(re.sub(r"\.(?=[inIN])", "", word)) if _FLOAT.fullmatch(word) else word


def _refuse_tag(event: Any) -> None:
    if event.tag is not None and event.tag not in _STRING_TAGS:
        _refuse(_location(event.start_mark), "tags are not supported", event.tag, fix="leave it out")


def _location(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else "document"


def _refuse(location: str, message: str, value: object = None, *, fix: str | None = None) -> NoReturn:
    raise Invalid([Problem(location, message, value, fix)]) from None
