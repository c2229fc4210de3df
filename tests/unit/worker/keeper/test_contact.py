"""When a keeper stops tasks with `stop_after_s` by itself."""

from __future__ import annotations

from shunter.worker.keeper.contact import MARGIN_S, Contact


def test_a_task_must_stop_that_long_after_the_last_contact() -> None:
    now_s = 100.0
    contact = Contact(lambda: now_s)
    contact.note(90.0)
    assert contact.left_s(30.0) == 20.0 + MARGIN_S
    contact.note(80.0)  # late
    assert contact.left_s(30.0) == 20.0 + MARGIN_S
    assert contact.left_s(8.0) == 0.0
    assert contact.left_s(0.0) == float("inf")


def test_what_waits_starts_only_before_the_limit() -> None:
    contact = Contact(lambda: 100.0)
    assert contact.may_start(10.0), "a worker of an older version says nothing"
    contact.note(90.0)
    assert contact.may_start(11.0)
    assert not contact.may_start(10.0)
    assert contact.may_start(0.0)
