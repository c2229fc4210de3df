"""What each verb of the client sends: method, path, body. A name or a filter cannot change the path."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn

import msgspec
import pytest

from shunter.model.rest.job_views import JobView
from shunter.model.rest.plan_views import SuggestionView
from shunter.sdk.calls.objects import BASE
from shunter.sdk.client import Client, Job
from shunter.sdk.endpoint import Endpoint, Finder
from shunter.sdk.errors import Invalid
from shunter.sdk.transport.blocking import Transport
from shunter.sdk.transport.steps import Conversation, ConversationDriver, Request, Send
from tests.unit.sdk.manual_transport import core
from tests.unit.sdk.scripted_server import job_document

MANIFEST = {"kind": "Job"}
RUN = {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["a"]}}
NOON = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
NOON_UTC = "2026-01-02T10%3A00%3A00%2B00%3A00"
OBJECTS = f"{BASE}/namespaces/default"

Call = Callable[[], Any]


class Sent(Exception):
    """The first request of a call, instead of its answer."""

    def __init__(self, request: Request) -> None:
        self.request = request


class StoppingTransport(Transport):
    """Raises the first request that a conversation wants to send."""

    def __init__(self) -> None:
        super().__init__(Finder(lambda _: Endpoint("127.0.0.1", 1, "t")))

    def perform(self, conversation: Conversation[Any]) -> NoReturn:
        step = ConversationDriver(conversation).step
        assert isinstance(step, Send)
        raise Sent(step.request)

    def stream(self, conversation: Conversation[Any]) -> Generator[Any, None, Any]:
        yield self.perform(conversation)


client = Client(StoppingTransport(), core())
job = Job(client, msgspec.convert(job_document(namespace="film"), JobView))

# (a call, its method and path, its body)
VERBS: list[tuple[Call, str, object]] = [
    # jobs
    (lambda: client.run(["a"]), "POST /jobs?namespace=default", {**RUN, "metadata": {}}),
    (
        lambda: client.run_to_end(["a"], name="x"),
        "POST /jobs?namespace=default&follow=end",
        {**RUN, "metadata": {"name": "x"}},
    ),
    (lambda: client.submit(MANIFEST), "POST /jobs?namespace=default", MANIFEST),
    (lambda: client.submit_many([MANIFEST, MANIFEST]), "POST /bulk/jobs?namespace=default", {"items": [MANIFEST] * 2}),
    (lambda: client.submit_many(MANIFEST), "POST /bulk/jobs?namespace=default", {"items": [MANIFEST]}),
    (lambda: client.submit_and_follow(MANIFEST, "logs"), "POST /jobs?namespace=default&follow=logs", MANIFEST),
    (lambda: client.jobs(), "GET /jobs?namespace=default&limit=1000", None),
    (
        lambda: client.jobs(states=["running", "pending"], labels={"team": "film"}, namespace="*", limit=5),
        "GET /jobs?namespace=%2A&state=running&state=pending&label=team%3Dfilm&limit=5",
        None,
    ),
    (lambda: client.job("render@3"), "GET /jobs/render@3?namespace=default", None),
    (lambda: client.job("id:7", "film"), "GET /jobs/id:7?namespace=film", None),
    (lambda: client.job("..?x=1 &y", "a&b"), "GET /jobs/..%3Fx%3D1%20%26y?namespace=a%26b", None),
    (lambda: client.job("a\r\nX: y"), "GET /jobs/a%0D%0AX:%20y?namespace=default", None),
    (lambda: client.runs("a", 5), "GET /jobs/a/runs?namespace=default&limit=5", None),
    (lambda: client.why("a"), "GET /jobs/a/why?namespace=default", None),
    (lambda: client.why("a", "g/3"), "GET /jobs/a/tasks/3/why?namespace=default&group=g", None),
    (
        lambda: client.why_object("testbed", "bed", "film"),
        "GET /apis/batchjob.gcr.io/v1alpha1/namespaces/film/testbeds/bed/why",
        None,
    ),
    (lambda: client.plan([MANIFEST]), "POST /plan?namespace=default", {"items": [MANIFEST]}),
    # one job
    (lambda: job.refresh(), "GET /jobs/id:7?namespace=film", None),
    (lambda: job.wait(), "GET /jobs/id:7/follow?namespace=film&mode=end", None),
    (lambda: job.follow("logs"), "GET /jobs/id:7/follow?namespace=film&mode=logs", None),
    (lambda: job.stop(), "DELETE /jobs/id:7?namespace=film", None),
    (
        lambda: job.stop(index=3, now=True, signal="INT"),
        "DELETE /jobs/id:7/tasks/3?namespace=film&now=true&signal=INT",
        None,
    ),
    (lambda: job.hold(), "POST /jobs/id:7/hold?namespace=film", None),
    (lambda: job.release(), "POST /jobs/id:7/release?namespace=film", None),
    (lambda: job.retry(), "POST /jobs/id:7/retry?namespace=film", None),
    (lambda: job.retry(failed=True), "POST /jobs/id:7/retry?namespace=film&failed=true", None),
    (lambda: job.update(MANIFEST, "n/m"), "PUT /jobs/id:7?namespace=film&node=n%2Fm", MANIFEST),
    (lambda: job.scale(3), "POST /jobs/id:7/scale?namespace=film", {"counts": {"": 3}}),
    (lambda: job.scale({"web": 0}), "POST /jobs/id:7/scale?namespace=film", {"counts": {"web": 0}}),
    (lambda: job.roll_back(), "POST /jobs/id:7/rollback?namespace=film", None),
    (lambda: job.restart(), "POST /jobs/id:7/restart?namespace=film", {}),
    (lambda: job.restart("g/3"), "POST /jobs/id:7/restart?namespace=film", {"index": 3, "group": "g"}),
    (lambda: job.move("g/3", "vm"), "POST /jobs/id:7/tasks/3/move?namespace=film&group=g", {"node": "vm"}),
    (
        lambda: job.tasks(states=["failed"], limit=9),
        "GET /jobs/id:7/tasks?namespace=film&state=failed&limit=9",
        None,
    ),
    (lambda: job.tasks(all=True), "GET /jobs/id:7/tasks?namespace=film&all=true&limit=10000", None),
    (lambda: job.task("g/3~7"), "GET /jobs/id:7/tasks/3?namespace=film&group=g&piece=7", None),
    (lambda: job.attempts(), "GET /jobs/id:7/tasks/0/attempts?namespace=film", None),
    (
        lambda: job.metrics(2, NOON, "2026-01-02T11:00:00Z", step="10s"),
        f"GET /jobs/id:7/tasks/2/metrics?namespace=film&start={NOON_UTC}&stop=2026-01-02T11%3A00%3A00Z&step=10s",
        None,
    ),
    (lambda: job.why(0), "GET /jobs/id:7/tasks/0/why?namespace=film", None),
    (lambda: job.logs(), "GET /jobs/id:7/tasks?namespace=film&limit=10000", None),
    (lambda: job.result(), "GET /jobs/id:7/follow?namespace=film&mode=end", None),
    (lambda: client.wait([job]), "GET /cluster", None),
    (lambda: client.gather([job]), "GET /cluster", None),
    (lambda: client.as_completed([job]), "GET /cluster", None),
    (lambda: job.logs(0), "GET /jobs/id:7/tasks/0/logs?namespace=film&stream=stdout&offset=0&limit=1048576", None),
    (
        lambda: job.logs("g/1", "stderr", follow=True, attempt=2),
        "GET /jobs/id:7/tasks/1/logs?namespace=film&group=g&stream=stderr&offset=0&attempt=2&follow=true",
        None,
    ),
    # policies and their decisions
    (lambda: client.policies(), "GET /policies", None),
    (lambda: client.use_policy("e-pvm"), "PUT /policies/active", {"name": "e-pvm"}),
    (lambda: client.flight(), "GET /flight", None),
    (lambda: client.flight_records(), "GET /flight/records", None),
    # managers
    (lambda: client.managers(), "GET /managers", None),
    (lambda: client.step_down(), "POST /managers/step-down", None),
    (lambda: client.debug(2), "GET /managers/self/debug?profile=2", None),
    # nodes
    (lambda: client.nodes(), "GET /nodes?limit=1000", None),
    (lambda: client.node_map("zone"), "GET /node-map?group_by=zone", None),
    (lambda: client.node_tasks("a/b", 5), "GET /nodes/a%2Fb/tasks?limit=5", None),
    (lambda: client.search("a b", 3), "GET /search?q=a+b&limit=3", None),
    (lambda: client.job_counts("queue", "*"), "GET /job-counts?namespace=%2A&group_by=queue", None),
    (lambda: job.task_map(cells=9), "GET /jobs/id:7/task-map?namespace=film&cells=9", None),
    (
        lambda: job.apply_suggestion(SuggestionView(field="spec.priority", before=1, after=None, text="")),
        "POST /jobs/id:7/suggestions?namespace=film",
        {"field": "spec.priority", "before": 1, "after": None},
    ),
    (lambda: client.analytics(NOON, steps=9), f"GET /analytics?namespace=%2A&start={NOON_UTC}&steps=9", None),
    (lambda: client.decisions(all=True, limit=9), "GET /flight/decisions?all=true&limit=9", None),
    (lambda: client.flight_timeline(limit=9), "GET /flight/timeline?limit=9", None),
    (lambda: client.decision("1.2"), "GET /flight/decisions/1.2", None),
    (
        lambda: client.replay_decision("1.2", "spread"),
        "POST /flight/decisions/1.2/replay",
        {"policy": "spread"},
    ),
    (lambda: job.manifest(2), "GET /jobs/id:7/manifest?namespace=film&version=2", None),
    (lambda: job.usage(), "GET /jobs/id:7/usage?namespace=film", None),
    (lambda: client.usage("queue", NOON), f"GET /usage?namespace=%2A&by=queue&since={NOON_UTC}", None),
    (lambda: job.timeline(limit=9), "GET /jobs/id:7/timeline?namespace=film&limit=9", None),
    (
        lambda: client.jobs(text="ren", queue="night", user="ana", type="batch", since=NOON, sort="name", limit=1),
        f"GET /jobs?namespace=default&q=ren&queue=night&user=ana&type=batch&since={NOON_UTC}&sort=name&limit=1",
        None,
    ),
    (lambda: client.node("a/b"), "GET /nodes/a%2Fb", None),
    (lambda: client.node_stats("a"), "GET /nodes/a/stats", None),
    (lambda: client.node_metrics("a", NOON), f"GET /nodes/a/metrics?start={NOON_UTC}", None),
    (lambda: client.drain_node("a/b", "10m"), "POST /nodes/a%2Fb/drain", {"deadline": "10m"}),
    (lambda: client.drain_node("a"), "POST /nodes/a/drain", {}),
    (lambda: client.undrain_node("a"), "DELETE /nodes/a/drain", None),
    (lambda: client.cordon_node("a", "disk"), "POST /nodes/a/cordon", {"reason": "disk"}),
    (lambda: client.uncordon_node("a"), "DELETE /nodes/a/cordon", None),
    (lambda: client.release_node("a"), "DELETE /nodes/a/quarantine", None),
    (lambda: client.forget_node("a"), "POST /nodes/a/forget", None),
    (lambda: client.attribute_node("a", {"b": None}), "PATCH /nodes/a", {"attributes": {"b": None}}),
    (
        lambda: client.label_node("a", {"disk": "ssd", "rack": None}),
        "PATCH /nodes/a",
        {"labels": {"disk": "ssd", "rack": None}},
    ),
    # templates, queues and dead letters
    (lambda: client.templates(), "GET /templates?namespace=default&limit=1000", None),
    (lambda: client.template("a/b"), "GET /templates/a%2Fb?namespace=default", None),
    (lambda: client.pause_template("a"), "PATCH /templates/a?namespace=default", {"paused": True}),
    (lambda: client.resume_template("a"), "PATCH /templates/a?namespace=default", {"paused": False}),
    (lambda: client.delete_template("a"), "DELETE /templates/a?namespace=default", None),
    (lambda: client.dispatch("a"), "POST /templates/a/runs?namespace=default", {"parameters": {}}),
    (
        lambda: client.dispatch("a", {"b": "c"}, b"\x00\xff"),
        "POST /templates/a/runs?namespace=default",
        {"parameters": {"b": "c"}, "payload": "AP8="},
    ),
    (lambda: client.queues(), "GET /queues", None),
    (lambda: client.queue("a/b"), "GET /queues/a%2Fb", None),
    (lambda: client.update_queue("a", {"running_max": 0, "strict": None}), "PATCH /queues/a", {"running_max": 0}),
    (lambda: client.delete_queue("a"), "DELETE /queues/a", None),
    (lambda: client.purge_queue("a"), "POST /queues/a/purge", None),
    (lambda: client.whoami(), "GET /me", None),
    (lambda: client.session_code(), "POST /sessions/codes", {}),
    (lambda: client.sign_in_options(), "GET /sessions/options", None),
    (lambda: client.users(), "GET /users?limit=1000", None),
    (lambda: client.put_user("a", roles=("viewer",)), "PUT /users/a", {"roles": ["viewer"]}),
    (lambda: client.keys(), "GET /keys?limit=1000", None),
    (
        lambda: client.create_key(["viewer"], user="a", note="b", expires_in="1h"),
        "POST /keys",
        {"roles": ["viewer"], "user": "a", "note": "b", "expires_in": "1h"},
    ),
    (lambda: client.create_tenant("a", quotas={"cpu": 2}), "POST /tenants", {"name": "a", "quotas": {"cpu": 2}}),
    (lambda: client.update_tenant("a", queues=["b"]), "PATCH /tenants/a", {"queues": ["b"]}),
    (lambda: client.tenant("a"), "GET /tenants/a", None),
    (lambda: client.tenants(), "GET /tenants?limit=1000", None),
    (lambda: client.delete_tenant("a"), "DELETE /tenants/a", None),
    (lambda: client.audit(user="ben", operation="stopJob"), "GET /audit?user=ben&operation=stopJob&limit=1000", None),
    (lambda: client.audit_lines(after=7), "GET /audit/lines?after=7&limit=1000", None),
    (lambda: client.rotate_key("a", "1h"), "POST /keys/a/rotate", {"overlap": "1h"}),
    (lambda: client.revoke_key("a"), "DELETE /keys/a", None),
    (lambda: client.join_tokens(), "GET /join-tokens?limit=1000", None),
    (lambda: client.create_join_token("n", "1h"), "POST /join-tokens", {"node": "n", "expires_in": "1h"}),
    (lambda: client.revoke_join_token("a/b"), "DELETE /join-tokens/a%2Fb", None),
    (
        lambda: client.enrol_worker("a", "s", b"x"),
        "POST /enrolments",
        {"id": "a", "secret": "s", "request": "eA=="},
    ),
    (lambda: client.secrets(namespace="n"), "GET /secrets?namespace=n&limit=1000", None),
    (lambda: client.set_secret("a", "x", namespace="n"), "PUT /secrets/a?namespace=n", {"value": "eA=="}),
    (lambda: client.delete_secret("a", namespace="n"), "DELETE /secrets/a?namespace=n", None),
    (lambda: client.rotate_secrets_key(), "POST /secrets-key/rotate", None),
    (lambda: client.dead_letters(job="a", limit=5), "GET /dead?namespace=default&job=a&limit=5", None),
    (lambda: client.replay_dead([7]), "POST /dead/replay?namespace=default", {"numbers": [7]}),
    (lambda: client.purge_dead(job="a"), "POST /dead/purge?namespace=default", {"numbers": [], "job": "a"}),
    # objects
    (lambda: client.apply({"items": [MANIFEST]}), "POST /apply?namespace=default", {"items": [MANIFEST]}),
    (lambda: client.get("tb", "a/b"), f"GET {OBJECTS}/testbeds/a%2Fb", None),
    (lambda: client.objects("bj"), f"GET {OBJECTS}/batchjobs", None),
    (lambda: client.objects(namespace="*"), f"GET {BASE}/objects", None),
    (lambda: client.delete("sched", "a", version=3), f"DELETE {OBJECTS}/schedulings/a?resourceVersion=3", None),
    (lambda: client.patch("tb", "a", {"spec": None}), f"PATCH {OBJECTS}/testbeds/a", {"spec": None}),
    (lambda: client.watch("tb", "a"), f"GET {OBJECTS}/testbeds?name=a", None),
    (lambda: client.watch(after=4), f"GET {OBJECTS}/objects?watch=true&resourceVersion=4", None),
    (
        lambda: client.write_external("a", {"p": iter([{"b": "1"}])}),
        f"PATCH {OBJECTS}/batchjobs/a/external",
        {"p": [{"b": "1"}]},
    ),
    (lambda: client.reset("a"), f"POST {OBJECTS}/batchjobs/a/reset", None),
    (lambda: client.batch_job_metrics("a", 2, step="1m"), f"GET {OBJECTS}/batchjobs/a/metrics?run=2&step=1m", None),
    (lambda: client.past_schedulings("a", "*"), "GET /schedulings/past?namespace=%2A&name=a&limit=1000", None),
    (lambda: client.past_scheduling("a/b"), "GET /schedulings/past/a%2Fb", None),
    # the cluster
    (lambda: client.job_logs("a"), "GET /jobs/a/logs?namespace=default", None),
    (
        lambda: client.job_logs("a", "n", follow=True, tail=5, grep="x", groups=["g"], index="1-3", states=["failed"]),
        "GET /jobs/a/logs?namespace=n&follow=true&index=1-3&group=g&state=failed&tail=5&grep=x",
        None,
    ),
    (lambda: client.events(), "GET /events?namespace=%2A&limit=1000", None),
    (
        lambda: client.events(namespace="n", job="a", limit=5, after="42-3"),
        "GET /events?namespace=n&job=a&limit=5&after=42-3",
        None,
    ),
    (lambda: client.events(follow=True, after="4"), "GET /events?namespace=%2A&after=4&follow=true", None),
    (lambda: client.cluster(), "GET /cluster", None),
    (lambda: client.update_cluster({"heartbeat": "2s"}), "PATCH /cluster", {"heartbeat": "2s"}),
    (lambda: client.down(leave_running=True), "POST /cluster/down", {"leave_running": True}),
]


def first_request(call: Call) -> Request:
    with pytest.raises(Sent) as caught:
        result = call()
        if isinstance(result, Iterator):
            next(result)
    return caught.value.request


@pytest.mark.parametrize(("call", "line", "body"), VERBS, ids=[line for _, line, _ in VERBS])
def test_a_verb_sends_its_method_path_and_body(call: Call, line: str, body: object) -> None:
    request = first_request(call)
    assert f"{request.method} {request.path}" == line
    assert (None if request.body is None else msgspec.json.decode(request.body)) == body


def test_the_table_has_every_verb() -> None:
    verbs = {name for kind in (Client, Job) for name, member in vars(kind).items() if callable(member)}
    verbs = {name for name in verbs if not name.startswith("_")} - {"close"}
    assert verbs == {name for call, _, _ in VERBS for name in call.__code__.co_names} & verbs


def test_only_calls_that_a_second_time_would_do_more_are_not_repeated() -> None:
    once = {line.partition("?")[0] for call, line, _ in VERBS if not first_request(call).repeatable}
    assert once == {
        "POST /cluster/down",
        "POST /dead/purge",
        "POST /dead/replay",
        "POST /jobs/id:7/restart",
        "POST /jobs/id:7/rollback",
        "POST /jobs/id:7/tasks/3/move",
        "POST /managers/step-down",
    }


def test_calls_that_create_something_have_an_idempotency_key() -> None:
    keyed = {
        line.partition("?")[0] for call, line, _ in VERBS if "Idempotency-Key" in dict(first_request(call).headers)
    }
    assert keyed == {
        "POST /apply",
        "POST /bulk/jobs",
        "POST /jobs",
        "POST /jobs/id:7/retry",
        "POST /templates/a/runs",
    }


def test_a_task_is_not_taken_for_a_job() -> None:
    with pytest.raises(Invalid, match=r"job: must be a job, not a task .*; write web"):
        client.job("web/1")
