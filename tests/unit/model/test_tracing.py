"""W3C trace contexts: what is read, and what is ignored."""

from __future__ import annotations

import pytest

from shunter.model.tracing import is_sampled, parse_traceparent, span_id_of, trace_id_of, with_span

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTEXT = f"00-{TRACE}-{SPAN}-01"


def test_a_context_is_read_as_it_is() -> None:
    assert parse_traceparent(CONTEXT) == CONTEXT
    assert (trace_id_of(CONTEXT), span_id_of(CONTEXT), is_sampled(CONTEXT)) == (TRACE, SPAN, True)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
        (f"00-{TRACE}-{SPAN}-03", CONTEXT),  # flags that we do not know are cleared
        (f"01-{TRACE}-{SPAN}-01", CONTEXT),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", CONTEXT),
    ],
)
def test_unknown_flags_and_later_versions_are_read_as_far_as_known(text: str, read: str) -> None:
    assert parse_traceparent(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "", "x", CONTEXT[:-1], CONTEXT + "1", CONTEXT + "-more", CONTEXT.upper(), f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE[:-1]}g-{SPAN}-01", f" {CONTEXT}",
        f"cc-{TRACE}-{SPAN}-01.", f"01-{TRACE}-{SPAN}-01-" + "x" * 400, CONTEXT + "\n", CONTEXT.replace("-", "_"),
    ],
)  # fmt: skip
def test_what_is_no_context_is_ignored(text: str) -> None:
    assert parse_traceparent(text) == ""


def test_a_child_stays_in_the_trace() -> None:
    assert with_span(CONTEXT, "1" * 16) == f"00-{TRACE}-{'1' * 16}-01"


def test_no_context_is_not_sampled() -> None:
    assert not is_sampled("")
    assert not is_sampled(f"00-{TRACE}-{SPAN}-00")
