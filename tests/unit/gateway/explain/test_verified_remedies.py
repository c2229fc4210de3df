"""The suggestions of `why` start the job: every suggestion is applied to the manifest and submitted in its place."""

from __future__ import annotations

import copy
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shunter.engine import changes as c
from shunter.engine.policy.dry_run import DryRun, take_dry_run_source
from shunter.model.rest.plan_views import SuggestionView
from shunter.ports.admin import QueueChange
from tests.unit.engine.harness import spec
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def with_suggestion(spec: dict[str, Any], suggestion: SuggestionView) -> dict[str, Any]:
    """The manifest's spec with one suggestion carried out, as a person would with an editor."""
    changed: Any = copy.deepcopy(spec)
    container: Any = {"spec": changed}
    steps = re.findall(r"[^.\[\]]+", suggestion.field)
    for step in steps[:-1]:
        container = container[int(step)] if step.isdigit() else container.setdefault(step, {})
    last = int(steps[-1]) if steps[-1].isdigit() else steps[-1]
    if suggestion.after is None:
        del container[last]
    else:
        container[last] = suggestion.after
    return dict(changed)


async def run_suggested_command(harness: GatewayHarness, suggestion: SuggestionView) -> None:
    """Carry out one that is not about the manifest, by the command that it names."""
    kind, _, rest = suggestion.field.partition(".")
    name = rest.rpartition(".")[0]
    if suggestion.field == "spec.hold":
        await harness.gateway.jobs.hold(reference("job"), False)
    elif kind == "cluster":
        await harness.gateway.cluster.update({"licences": {rest.removeprefix("licence/"): suggestion.after}})
    elif kind == "queue":
        await harness.gateway.queues.patch(name, QueueChange(running_max=suggestion.after))
    else:
        await harness.gateway.nodes.uncordon(name)
    await harness.settle()
    await harness.complete_stops()


async def suggestions(harness: GatewayHarness, name: str = "job") -> dict[str, SuggestionView]:
    return {each.field: each for each in (await harness.gateway.explain.why(reference(name))).suggestions}


def test_less_memory_is_suggested_where_less_would_do() -> None:
    """U-03: from what, to what, and how many nodes would fit then."""

    async def scenario(harness: GatewayHarness) -> None:
        for number, gigabytes in enumerate((48, 48, 16)):
            await harness.join(f"n{number}", memory=gigabytes * 2**30)
        await harness.run("job", resources={"memory": "64Gi"})
        found = await harness.gateway.explain.why(reference("job"))
        [suggestion] = found.suggestions
        assert suggestion.text == "memory 64Gi → 48Gi fits 2 nodes"
        assert (suggestion.field, suggestion.before, suggestion.after) == ("spec.resources.memory", "64Gi", "48Gi")
        assert (suggestion.nodes, suggestion.starts) == (2, 1)

    run_scenario(scenario)


def test_a_constraint_or_a_datacenter_in_the_way_is_named() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1")
        await harness.gateway.nodes.set_labels("n1", {"disk": "hdd"})
        wanted = "node.labels.disk == 'ssd'"
        await harness.run("job", constraints=["node.labels.disk != ''", wanted])
        await harness.run("far", datacenters=["berlin"])
        found = await suggestions(harness)
        assert set(found) == {"spec.constraints[1]"}
        assert (found["spec.constraints[1]"].before, found["spec.constraints[1]"].after) == (wanted, None)

    run_scenario(scenario)


def test_nothing_is_suggested_where_no_single_change_helps() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("job")
        found = await harness.gateway.explain.why(reference("job"))
        assert found.suggestions == []
        await harness.join("n1", cpu=1)
        await harness.run("large", resources={"cpu": 90, "memory": "900Gi"})
        assert await suggestions(harness, "large") == {}

    run_scenario(scenario)


def test_the_smallest_change_comes_first() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=4, memory=8 * 2**30, gpu=1)
        await harness.join("n2", cpu=8, memory=8 * 2**30)
        await harness.run("job", resources={"cpu": 5, "memory": "1Gi", "gpu": 1})
        found = (await harness.gateway.explain.why(reference("job"))).suggestions
        assert [(each.field, each.after) for each in found] == [
            ("spec.resources.cpu", "4"),
            ("spec.resources.gpu", None),
        ]

    run_scenario(scenario)


def test_only_what_waits_is_suggested_for_a_job_that_runs_in_part() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=3, memory=2**30)
        await harness.run("job", count=2, resources={"cpu": 2})
        found = await suggestions(harness)
        assert (found["spec.resources.cpu"].after, found["spec.resources.cpu"].starts) == ("1", 1)

    run_scenario(scenario)


NODES = st.lists(
    st.tuples(st.integers(1, 8), st.integers(1, 8), st.sampled_from(["ssd", "hdd"]), st.sampled_from(["a", "b"])),
    min_size=1, max_size=4,
)  # fmt: skip
SPECS = st.fixed_dictionaries(
    {
        "count": st.integers(1, 4),
        "priority": st.sampled_from([10, 50, 90]),
        "resources": st.fixed_dictionaries(
            {"cpu": st.sampled_from(["500m", "1", "2", "7"])},
            optional={
                "memory": st.sampled_from(["512Mi", "3Gi", "9Gi"]),
                "gpu": st.just(1),
                "licence/solver": st.sampled_from([1, 2]),
            },
        ),
    },
    optional={
        "constraints": st.sampled_from([["node.labels.disk == 'ssd'"], ["node.labels.rack == '1'"]]),
        "datacenters": st.sampled_from([["a"], ["c"], ["a", "b"]]),
        "gang": st.just(True),
        "distinct": st.just("host"),
        "exclusive": st.just(True),
        "queue": st.just("night"),
        "hold": st.just(True),
    },
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(nodes=NODES, others=st.lists(SPECS, max_size=4), spec=SPECS, limit=st.integers(1, 4), cordoned=st.booleans())
def test_every_suggestion_starts_the_job(
    nodes: list[Any], others: list[Any], spec: dict[str, Any], limit: int, cordoned: bool
) -> None:
    """U-03: whatever the cluster looks like, and whatever else waits."""

    async def build_cluster(harness: GatewayHarness) -> None:
        for number, (cpu, memory, disk, datacenter) in enumerate(nodes):
            await harness.join(f"n{number}", cpu=cpu, memory=memory * 2**30, datacenter=datacenter)
            await harness.gateway.nodes.set_labels(f"n{number}", {"disk": disk})
        await harness.gateway.queues.patch("night", QueueChange(running_max=limit))
        await harness.gateway.cluster.update({"licences": {"solver": limit}})
        if cordoned:
            await harness.gateway.nodes.cordon("n0", "repair")
        for number, other in enumerate(others):
            await harness.run(f"other-{number}", **other)
            await harness.complete_stops()
        await harness.run("job", **spec)
        await harness.complete_stops()

    found: list[SuggestionView] = []

    async def collect_suggestions(harness: GatewayHarness) -> None:
        await build_cluster(harness)
        found.extend((await harness.gateway.explain.why(reference("job"))).suggestions)

    run_scenario(collect_suggestions)
    for suggestion in found:

        async def apply_suggestion(harness: GatewayHarness, suggestion: SuggestionView = suggestion) -> None:
            await build_cluster(harness)
            before = {order.job for _, order in harness.orders()}
            if not suggestion.field.startswith("spec.") or suggestion.field == "spec.hold":
                job = await harness.gateway.jobs.get(reference("job"))
                await run_suggested_command(harness, suggestion)
                assert sum(order.job == job.id for _, order in harness.orders()), suggestion
                return
            await harness.gateway.jobs.stop(reference("job"), None, now=True)
            await harness.settle()
            submitted = await harness.run("changed", **with_suggestion(spec, suggestion))
            await harness.complete_stops()
            assert submitted.id not in before
            assert submitted.id in {order.job for _, order in harness.orders()}, suggestion

        run_scenario(apply_suggestion)


def test_a_held_job_is_to_be_released() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1")
        await harness.run("job", hold=True)
        why = await harness.gateway.explain.why(reference("job"))
        assert "Held. Start it with `shunter release job`." in why.sentence
        assert [(each.field, each.after) for each in why.suggestions] == [("spec.hold", False)]

    run_scenario(scenario)


def test_a_job_that_comes_after_another_says_so_and_when() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("fetch", estimate="10m")
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, segment=1)
        await harness.join("n2", cpu=1)
        await harness.run("render", after=[{"job": "fetch"}])
        why = await harness.gateway.explain.why(reference("render"))
        assert "fetch@1 to have succeeded" in why.sentence
        assert why.start is not None
        assert (why.start.at, why.start.basis[:17]) == ("2023-11-14T22:23:20.000Z", "when fetch@1 ends")
        assert [(each.field, each.before) for each in why.suggestions] == [("spec.after[0]", "fetch")]

    run_scenario(scenario)


def test_a_paused_queue_a_full_one_and_a_cordoned_node_can_be_opened() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        def set_queue(is_paused: bool, running_max: int) -> Any:
            return lambda round: round.record(c.QueueSet("night", is_paused, False, running_max, 0, round.now_ms))

        await harness.join("n1", cpu=4)
        harness.engine.tell(set_queue(True, 0))
        await harness.run("job", queue="night")
        found = await suggestions(harness)
        assert set(found) == {"queue.night.paused", "spec.queue"}
        harness.engine.tell(set_queue(False, 1))
        await harness.run("second", queue="night", priority=40)
        raised = (await suggestions(harness, "second"))["queue.night.running_max"]
        assert (raised.after, raised.text) == (2, "running_max 1 → 2: shunter queue set night --running-max 2")
        harness.engine.tell(lambda round: round.record(c.NodeCordonSet(1, "cordon", "repair", round.now_ms, "n1")))
        await harness.run("third")
        assert [each.text for each in (await suggestions(harness, "third")).values()] == [
            "uncordon node n1: shunter node uncordon n1"
        ]

    run_scenario(scenario)


def test_what_would_open_a_queue_is_tried_beside_what_runs_of_the_job() -> None:
    """By itself, the rest of it would find a host; but its own tasks are on all of them."""

    async def scenario(harness: GatewayHarness) -> None:
        for number in range(2):
            await harness.join(f"n{number}", cpu=4)
        await harness.gateway.queues.patch("night", QueueChange(running_max=2))
        await harness.run("job", count=3, distinct="host", queue="night")
        assert "queue.night.running_max" not in await suggestions(harness)

    run_scenario(scenario)


def test_a_gang_that_its_queue_or_licences_never_let_through_is_told_so() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        await harness.gateway.queues.patch("night", QueueChange(running_max=3, strict=True))
        await harness.run("gang", count=5, gang=True, queue="night")
        why = await harness.gateway.explain.why(reference("gang"))
        assert "running_max of 3 leaves no room for the 5 tasks of the gang" in why.sentence
        assert (await suggestions(harness, "gang"))["queue.night.running_max"].after == 5
        await harness.run("behind", queue="night", resources={"cpu": 2})
        behind = await harness.gateway.explain.why(reference("behind"))
        assert behind.sentence == "Pending: queue night is strict, and job gang was submitted first."
        await harness.gateway.cluster.update({"licences": {"solver": 3}})
        await harness.run("licensed", count=4, gang=True, resources={"cpu": 1, "licence/solver": 1})
        why = await harness.gateway.explain.why(reference("licensed"))
        assert "licence/solver: the gang needs 4, 3 of 3 are free" in why.sentence

    run_scenario(scenario)


def test_what_rules_refuse_can_be_loosened() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=4)
        await harness.run("apart", count=2, distinct="host")
        assert set(await suggestions(harness, "apart")) == {"spec.distinct"}
        await harness.run("alone", exclusive=True)
        assert "spec.exclusive" in await suggestions(harness, "alone")
        await harness.run("gang", count=9, gang=True)
        found = await suggestions(harness, "gang")
        assert (found["spec.count"].after, found["spec.gang"].after) == (3, False)

    run_scenario(scenario)


def test_a_higher_priority_that_would_preempt_says_whom_it_costs() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.run("low", count=2, priority=50)
        await harness.run("job", priority=50, resources={"cpu": 2})
        raised = (await suggestions(harness))["spec.priority"]
        assert (raised.before, raised.after, raised.preempts) == (50, 60, 2)
        assert raised.text == "priority 50 → 60, preempting 2 tasks"

    run_scenario(scenario)


def test_no_job_is_to_preempt_its_own_tasks() -> None:
    """A higher priority is one of the whole job: what of it runs would have it too."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.run("job", count=3000, priority=50)
        assert "spec.priority" not in await suggestions(harness)
        sentence = (await harness.gateway.explain.why(reference("job"))).sentence
        assert sentence == "2,998 of 3,000 tasks are pending: cpu: needs 1, at most 0 free (1 node)."

    run_scenario(scenario)


def test_a_trial_is_over_as_soon_as_the_job_that_asks_would_have_to_end_tasks() -> None:
    """Otherwise a large array, most of which runs, is tried out node by node."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.run("job", count=3, priority=50)
        engine = harness.engine
        [job] = engine.state.jobs.values()
        dry_run_source = take_dry_run_source(engine.state, engine.policy, engine.settings, 0)
        for stop_if_preempted, started in ((0, 2), (job.id, 0)):
            dry_run = DryRun(dry_run_source)
            [submitted] = dry_run.submit([spec("urgent", 2, priority=90)], "anna")
            dry_run.place(stop_if_preempted)
            assert dry_run.started(submitted.job_id) == started
            assert {job_id for job_id, _ in dry_run.preempted} == {job.id}

    run_scenario(scenario)


def test_of_two_rises_of_the_priority_that_come_to_the_same_the_smaller_is_suggested() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.run("early", priority=50, resources={"cpu": 2}, estimate="10m")
        [(node, order)] = harness.orders()
        await harness.started(node, order)
        await harness.run("gang", 2, gang=True, resources={"cpu": 2})
        await harness.run("job", resources={"cpu": 1})
        found = (await harness.gateway.explain.why(reference("job"))).suggestions
        assert [each.after for each in found if each.field == "spec.priority"] == [51]

    run_scenario(scenario)


def test_a_port_that_is_taken_is_named_as_the_manifest_has_it() -> None:
    """Any other port will do, or the next node."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=4)
        ports = [{"name": "web", "host_port": 8080}]
        await harness.run("first", ports=ports)
        await harness.run("job", ports=ports)
        found = await harness.gateway.explain.why(reference("job"))
        assert found.sentence == "Pending: port 8080 is taken (1 node)."
        found_by_field = {each.field: each for each in found.suggestions}
        free = found_by_field["spec.ports[0].host_port"]
        assert (free.before, free.after, free.text) == (8080, None, "any free port instead of 8080: fits 1 node")
        changed = with_suggestion({"command": ["/bin/true"], "ports": ports}, free)
        await harness.run("freed", **changed)
        assert (await harness.gateway.jobs.get(reference("freed"))).counts == {"assigned": 1}

    run_scenario(scenario)
