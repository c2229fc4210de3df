"""Log lines: levels for each package, text or JSON, and never a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest

from shunter.app.diagnosis.log_setup import LogSetup, parse_levels, set_up_logging
from shunter.log import Log
from shunter.model.errors import Invalid

PLANTED = "Zq3-planted_0123456789abcdefghijklmnopqrstuv"
Begin = Callable[..., tuple[LogSetup, io.StringIO]]


@pytest.fixture
def begin() -> Iterator[Begin]:
    opened: list[LogSetup] = []
    levels = {name: logging.getLogger(name).level for name in ("", "shunter.quiet", "shunter.loud")}

    def start(**environment: str) -> tuple[LogSetup, io.StringIO]:
        stream = io.StringIO()
        opened.append(set_up_logging(environment=environment, stream=stream))
        return opened[-1], stream

    yield start
    for each in opened:
        each.close()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_a_line_is_an_action_with_fields(begin: Begin) -> None:
    _, stream = begin()
    Log("shunter.loud").info("task.placed", task="default/a@1", reason="two words", count=3)
    assert stream.getvalue().endswith("INFO shunter.loud task.placed task=default/a@1 reason='two words' count=3\n")


def test_json_has_one_object_a_line_with_the_fields_as_they_are(begin: Begin) -> None:
    _, stream = begin(SHUNTER_LOG_FORMAT="json")
    log = Log("shunter.loud")
    log.warning("disk.full", path="/a b", free=0, error=OSError("no space"), ok=None)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        log.exception("round.failed", epoch=3)
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "warning", "logger": "shunter.loud", "action": "disk.full",
        "path": "/a b", "free": 0, "error": "no space", "ok": None,
    }  # fmt: skip
    assert (second["action"], second["epoch"]) == ("round.failed", 3)
    assert "ValueError: two\nlines" in second["exception"]


def test_packages_have_levels_of_their_own(begin: Begin) -> None:
    _, stream = begin(SHUNTER_LOG="warning,loud=debug,shunter.quiet=error")
    for name in ("shunter.loud.part", "shunter.quiet", "shunter.other"):
        Log(name).debug("a.debug")
        Log(name).warning("a.warning")
    lines = [line.split(" ", 2)[2].strip() for line in stream.getvalue().splitlines()]
    assert lines == [
        "DEBUG shunter.loud.part a.debug", "WARNING shunter.loud.part a.warning", "WARNING shunter.other a.warning"
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["loud", "engine=verbose", "=debug", "info,,engine=x"])
def test_a_level_that_does_not_exist_is_refused_with_the_variable(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_levels(text, logging.INFO)
    assert refused.value.problems[0].field == "SHUNTER_LOG"


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_line_has_a_secret(begin: Begin, form: str) -> None:
    setup, stream = begin(SHUNTER_LOG_FORMAT=form)
    log = Log("shunter.loud")
    log.info("by.name", token=PLANTED, db_password=PLANTED, api_key=PLANTED)
    log.info("in.text", error=f"401 for Authorization: Bearer {PLANTED}", url=f"postgresql://me:{PLANTED}@db/x")
    log.info("a.key", key=f"shk_abcdefghij_{PLANTED[:43]}")
    try:
        raise RuntimeError(f"password={PLANTED}")
    except RuntimeError as error:
        log.exception("it.failed", error=error)
    setup.hide(PLANTED)
    log.info("known", note=f"somewhere {PLANTED} in a text")
    logging.getLogger("another.library").warning("it says %s", PLANTED)
    assert PLANTED[:20] not in stream.getvalue()
    assert stream.getvalue().count("REDACTED") >= 8
