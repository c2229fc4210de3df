"""What the core sends and retries, and how it reads the answers; without I/O."""

from __future__ import annotations

import threading
from contextlib import suppress

import msgspec
import pytest

from shunter.model.rest.job_views import JobPage, JobView, SubmittedJob
from shunter.sdk import core as core_module
from shunter.sdk.core import BATCH_MAX_BYTES, BULK_BODY_MAX_BYTES, new_key
from shunter.sdk.errors import (
    AnswerNotUnderstood,
    Busy,
    Conflict,
    ConnectionLost,
    Invalid,
    NotFound,
    NotReachable,
    Rejected,
    ShunterError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from shunter.sdk.transport.steps import Request, Response
from tests.unit.sdk.manual_transport import Reply, Transcript, core, json_response, run_conversation

from .scripted_server import job_document

MANIFEST = {"kind": "Job"}


def problem(status: int, **fields: object) -> dict[str, object]:
    return {"type": "about:blank", "title": "t", "status": status, "detail": "it is so", "problems": [], **fields}


def test_a_submit_comes_to_the_job_and_whether_it_is_new() -> None:
    created = run_conversation(core().submit(MANIFEST), [json_response(201, job_document())])
    found = run_conversation(core().submit(MANIFEST), [json_response(200, job_document())])
    assert isinstance(created.result[0], JobView)
    assert (created.result[1], found.result[1]) == (True, False)


def test_a_submit_is_repeated_with_the_same_key_until_it_is_answered() -> None:
    busy, stepping_down = json_response(429, problem(429), retry_after="3"), json_response(503, problem(503))
    replies: list[Reply] = [ConnectionLost("x"), NotReachable("x"), busy, stepping_down]
    asking = core()
    asking.has_connected = True
    transcript = run_conversation(asking.submit(MANIFEST), [*replies, json_response(201, job_document())])
    assert [dict(request.headers)["Idempotency-Key"] for request in transcript.requests] == ["key-0"] * 5
    assert transcript.pauses == [0.0, 0.1, 3.0, 1.0]


def test_every_submit_has_a_key_of_its_own() -> None:
    asking = core()
    keys = [
        dict(run_conversation(asking.submit(MANIFEST), [json_response(201, job_document())]).requests[0].headers)[
            "Idempotency-Key"
        ]
        for _ in range(2)
    ]
    assert keys == ["key-0", "key-1"]
    assert len({new_key() for _ in range(1000)}) == 1000


def test_a_cluster_that_was_never_there_is_given_up_at_once() -> None:
    with pytest.raises(NotReachable):
        run_conversation(core().submit(MANIFEST), [NotReachable("x")])


def test_an_answer_that_does_not_come_is_asked_for_again() -> None:
    transcript = run_conversation(core().submit(MANIFEST), [TimeoutError(), json_response(201, job_document())])
    assert len(transcript.requests) == 2


def test_what_must_not_be_repeated_is_sent_once() -> None:
    with pytest.raises(ConnectionLost):
        run_conversation(core().send(Request("POST", "/cluster/down", repeatable=False)), [ConnectionLost("x")])


def not_leader() -> Response:
    return json_response(503, problem(503, title="not the leader"), retry_after="1")


def test_a_submit_goes_to_the_next_manager_until_one_accepts_it() -> None:
    replies: list[Reply] = [NotReachable("x"), not_leader(), ConnectionLost("x"), TimeoutError()]
    transcript = run_conversation(core(managers=3).submit(MANIFEST), [*replies, json_response(201, job_document())])
    assert [dict(request.headers)["Idempotency-Key"] for request in transcript.requests] == ["key-0"] * 5
    assert (transcript.switches, transcript.pauses) == (4, [0.0, 0.0, 0.05, 0.0])


def test_a_limit_does_not_send_a_client_to_another_manager() -> None:
    busy = json_response(429, problem(429), retry_after="3")
    transcript = run_conversation(core(managers=3).submit(MANIFEST), [busy, json_response(201, job_document())])
    assert (transcript.switches, transcript.pauses) == (0, [3.0])


def test_what_must_not_be_repeated_goes_on_only_from_a_manager_that_has_not_accepted_it() -> None:
    down = Request("POST", "/cluster/down", repeatable=False)
    replies: list[Reply] = [NotReachable("x"), not_leader(), Response(204)]
    assert len(run_conversation(core(managers=3).send(down), replies).requests) == 3
    for reply in (ConnectionLost("x"), TimeoutError(), json_response(503, problem(503))):
        with pytest.raises(Unavailable):
            run_conversation(core(managers=3).send(down), [reply])
    with pytest.raises(Unavailable):
        run_conversation(core().send(down), [not_leader()])


def test_the_newest_version_that_was_seen_is_asked_for() -> None:
    def page(version: str) -> Response:
        return json_response(200, job_document(), shunter_version=version)

    asking = core(managers=2)
    found: list[int] = []
    for reply in [
        page("7"),
        page("5"),  # a manager that does not know the header of the request
        json_response(404, problem(404), shunter_version="9"),
        page("x"),
        page("9" * 30),
        page("-1"),
        page("12"),
        page("11"),
    ]:
        with suppress(NotFound):
            transcript = Transcript()
            run_conversation(asking.fetch(Request("GET", "/x"), JobView), [reply], transcript)
        found += transcript.min_versions
    assert found == [0, 7, 7, 9, 9, 9, 9, 12]
    assert asking.version == 12


def test_an_error_of_a_manager_says_nothing_about_versions() -> None:
    failed = json_response(503, problem(503), shunter_version="99")
    transcript = run_conversation(core(managers=2).submit(MANIFEST), [failed, json_response(201, job_document())])
    assert transcript.min_versions == [0, 0]


def test_threads_never_lower_the_version() -> None:
    asking = core()

    def note(first: int) -> None:
        for version in range(first, 5000, 3):
            asking.note_version(str(version))

    threads = [threading.Thread(target=note, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asking.version == 4999


def test_whoever_waits_is_told_of_it() -> None:
    heard: list[tuple[str, float]] = []
    asking = core(on_retry=lambda failure, delay_s: heard.append((failure.detail, delay_s)))
    run_conversation(
        asking.submit(MANIFEST), [json_response(429, problem(429), retry_after="2"), json_response(201, job_document())]
    )
    assert heard == [("it is so", 2.0)]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Rejected), (401, Unauthorized), (404, NotFound), (405, Rejected), (409, Conflict), (413, TooLarge),
        (422, Rejected), (302, ShunterError), (500, ShunterError),
    ],
)  # fmt: skip
def test_a_refusal_becomes_the_error_of_its_status(status: int, kind: type[ShunterError]) -> None:
    with pytest.raises(kind, match="it is so") as caught:
        run_conversation(core().submit(MANIFEST), [json_response(status, problem(status))])
    assert type(caught.value) is kind


@pytest.mark.parametrize(("status", "kind"), [(429, Busy), (502, Unavailable), (503, Unavailable)])
def test_what_stays_unavailable_is_an_error_in_the_end(status: int, kind: type[ShunterError]) -> None:
    with pytest.raises(kind):
        run_conversation(core(patience_s=0).submit(MANIFEST), [json_response(status, problem(status), retry_after="1")])


def test_every_problem_of_a_refused_manifest_is_listed() -> None:
    problems = [
        {"field": "spec.cuont", "message": "unknown field", "value": None, "fix": "did you mean count?"},
        {"field": "spec.resources.cpu", "message": "must be a quantity", "value": "lots", "fix": None},
    ]
    with pytest.raises(Invalid) as caught:
        run_conversation(core().submit(MANIFEST), [json_response(400, problem(400, problems=problems))])
    assert [str(each) for each in caught.value.problems] == [
        "spec.cuont: unknown field; did you mean count?",
        "spec.resources.cpu: must be a quantity (got 'lots')",
    ]


def test_a_proxy_that_answers_in_its_own_words_gives_the_status() -> None:
    with pytest.raises(Rejected, match="418"):
        run_conversation(core().submit(MANIFEST), [json_response(418, "short and stout", content_type="text/html")])


@pytest.mark.parametrize("document", [{"name": "x"}, [], "hello"])
def test_an_answer_of_another_shape_is_not_taken(document: object) -> None:
    with pytest.raises(AnswerNotUnderstood, match="same version"):
        run_conversation(core().submit(MANIFEST), [json_response(201, document)])


def test_fields_of_a_newer_cluster_are_passed_over() -> None:
    transcript = run_conversation(core().submit(MANIFEST), [json_response(201, job_document(mood="fine"))])
    assert transcript.result[0].name == "render"


def test_a_list_is_read_page_by_page_and_no_further_than_asked() -> None:
    def page(names: str, cursor: str | None) -> Response:
        return json_response(200, {"items": [job_document(name) for name in names], "next": cursor, "total": 5})

    path = "/jobs?namespace=default"
    everything = run_conversation(
        core().pages(path, JobPage, None, page_max=2), [page("ab", "c2"), page("cd", "c4"), page("e", None)]
    )
    assert [job.name for job in everything.items] == list("abcde")
    assert [request.path for request in everything.requests] == [
        "/jobs?namespace=default&limit=2",
        "/jobs?namespace=default&limit=2&after=c2",
        "/jobs?namespace=default&limit=2&after=c4",
    ]
    three = run_conversation(core().pages(path, JobPage, 3, page_max=2), [page("ab", "c2"), page("c", "c3")])
    assert [job.name for job in three.items] == list("abc")
    assert three.requests[-1].path.endswith("limit=1&after=c2")
    rest = run_conversation(core().pages("/jobs", JobPage, None, after="c4"), [page("e", None)])
    assert [request.path for request in rest.requests] == ["/jobs?limit=1000&after=c4"]


def bulk_answer(count: int) -> Response:
    item = {"name": "n", "namespace": "default", "id": 1, "run": 1, "created": True}
    return json_response(201, {"items": [item] * count})


def test_many_manifests_go_in_as_few_requests_as_the_limits_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "BULK_ITEMS_MAX", 3)
    manifests = [{"number": number} for number in range(7)]
    transcript = run_conversation(core().submit_many(manifests), [bulk_answer(3), bulk_answer(3), bulk_answer(1)])
    sent = [msgspec.json.decode(request.body or b"")["items"] for request in transcript.requests]
    assert [len(items) for items in sent] == [3, 3, 1]
    assert [manifest for items in sent for manifest in items] == manifests
    assert len({dict(request.headers)["Idempotency-Key"] for request in transcript.requests}) == 3
    assert len(transcript.result) == 7 and isinstance(transcript.result[0], SubmittedJob)


def test_a_request_never_exceeds_the_size_that_the_cluster_takes() -> None:
    half = {"text": "x" * (BATCH_MAX_BYTES // 2)}
    transcript = run_conversation(core().submit_many([half, half, half]), [bulk_answer(1)] * 3)
    assert [len(request.body or b"") <= BULK_BODY_MAX_BYTES for request in transcript.requests] == [True] * 3


def test_a_request_never_has_more_values_than_the_cluster_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "BULK_VALUES_MAX", 100)
    manifests = [{"command": ["a"] * 38}] * 4
    transcript = run_conversation(core().submit_many(manifests), [bulk_answer(2)] * 2)
    sent = [msgspec.json.decode(request.body or b"")["items"] for request in transcript.requests]
    assert [len(items) for items in sent] == [2, 2]


def test_a_manifest_that_no_request_can_hold_is_named() -> None:
    with pytest.raises(Invalid, match=r"items\[1\]"):
        run_conversation(core().submit_many([{}, {"text": "x" * BATCH_MAX_BYTES}]), [])


def test_a_failed_call_that_is_repeated_creates_no_job_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_module, "BULK_ITEMS_MAX", 1)
    client_core = core(patience_s=0.0)
    manifests: list[dict[str, object]] = [{}, {}]  # two requests, which only differ in their number
    failed, repeated, again = Transcript(), Transcript(), Transcript()
    lost: list[Reply] = [ConnectionLost("gone"), ConnectionLost("gone")]
    with pytest.raises(ConnectionLost):
        run_conversation(client_core.submit_many(manifests), [bulk_answer(1), *lost], failed)
    run_conversation(client_core.submit_many(manifests), [bulk_answer(1)] * 2, repeated)
    run_conversation(client_core.submit_many(manifests), [bulk_answer(1)] * 2, again)
    keys = [[dict(each.headers)["Idempotency-Key"] for each in calls.requests] for calls in (failed, repeated, again)]
    assert keys == [["key-0", "key-1", "key-1"], ["key-0", "key-1"], ["key-2", "key-3"]]


def test_no_manifests_need_no_request() -> None:
    assert run_conversation(core().submit_many([]), []).result == []
