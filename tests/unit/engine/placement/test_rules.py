"""A job's rules in the engine: exclusive, limited, held, paused, licensed, distinct."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.model.job.spec import Affinity, JobOptions
from shunter.planning.view import Decision
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.scripted_policy import ScriptedPolicy, on_nodes, tell


def test_an_exclusive_job_has_its_node_alone_until_it_ends() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=1)])
        )
        await harness.submit(spec("alone", exclusive=True))
        [(_, order)] = harness.orders()
        assert harness.engine.state.nodes.view.owner[node] == order.job
        harness.engine.policy = ScriptedPolicy(
            lambda view: Decision(view.version, [on_nodes(view.queued[0].task_class.id, n1=1)])
        )
        await harness.submit(spec("other"))
        assert harness.orders() == []
        await harness.end(node, order)
        assert harness.engine.state.nodes.view.owner[node] == 0

    run_scenario(scenario)


def test_no_more_than_parallel_max_run_at_once() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=8)
        [job] = await harness.submit(spec("array", 10, parallel_max=3))
        assert harness.reserved_cpu(node) == 3000
        for _ in range(12):
            for _, order in harness.orders():
                assert order.width <= 3
                await harness.end(node, order)
        assert job.job_id not in harness.engine.state.jobs

    run_scenario(scenario)


def test_a_queue_that_is_paused_starts_nothing_and_loses_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        await tell(harness, lambda round: round.record(c.QueueSet("night", True, False, 0, 0, round.now_ms)))
        [job] = await harness.submit(spec("late", 3, options=JobOptions(queue="night")))
        assert harness.orders() == []
        await tell(harness, lambda round: round.record(c.QueueSet("night", False, False, 2, 0, round.now_ms)))
        assert harness.counts(job.job_id) == {"assigned": 2, "queued": 1}

    run_scenario(scenario)


def test_a_fixed_host_port_is_used_once_on_each_node() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        await harness.join("n2", cpu=8)
        [job] = await harness.submit(spec("web", 3, needs={"cpu": 1000, "port/8080": 1}))
        assert sorted(node for node, _ in harness.orders()) == [1, 2]
        assert harness.counts(job.job_id) == {"assigned": 2, "queued": 1}

    run_scenario(scenario)


def test_a_held_job_keeps_what_it_has_and_goes_on_when_released() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [job] = await harness.submit(spec("held", 3))
        await tell(harness, lambda round: round.record(c.JobHeld(job.job_id, True, round.now_ms, "default/held@1")))
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert harness.orders() == []
        assert harness.counts(job.job_id) == {"queued": 2, "succeeded": 1}
        await tell(harness, lambda round: round.record(c.JobHeld(job.job_id, False, round.now_ms, "default/held@1")))
        assert len(harness.orders()) == 1

    run_scenario(scenario)


def test_licences_are_counted_over_the_whole_cluster() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join("n1", cpu=8), await harness.join("n2", cpu=8)]
        await tell(harness, lambda round: round.record(c.ClusterSet("licence/tool", "3", round.now_ms)))
        [job] = await harness.submit(spec("array", 6, needs={"cpu": 1000, "licence/tool": 1}))
        assert harness.counts(job.job_id) == {"assigned": 3, "queued": 3}
        assert harness.engine.state.licences_used["licence/tool"] == 3
        assert "licence/tool" not in harness.engine.state.nodes.view.resources
        assert sum(harness.reserved_cpu(node) for node in nodes) == 3000

    run_scenario(scenario)


def test_licences_that_were_taken_away_while_in_use_are_not_used_again() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=8)
        await tell(harness, lambda round: round.record(c.ClusterSet("licence/tool", "3", round.now_ms)))
        [job] = await harness.submit(spec("array", 6, needs={"cpu": 1000, "licence/tool": 1}))
        [(_, order)] = harness.orders()
        await tell(harness, lambda round: round.record(c.ClusterSet("licence/tool", "1", round.now_ms)))
        await harness.end(node, order)
        assert harness.counts(job.job_id) == {"assigned": 1, "queued": 2, "succeeded": 3}

    run_scenario(scenario)


def test_two_namespaces_share_the_lanes_evenly_though_one_came_first() -> None:
    """A long array that came first does not keep all lanes by refilling them."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        [first] = await harness.submit(spec("first", 100, namespace="ada"))
        [second] = await harness.submit(spec("second", 100, namespace="bob"))
        for _ in range(6):
            for _, order in harness.orders():
                await harness.end(node, order)
            await harness.settle(0.5)
        lanes = harness.engine.state.nodes.records[node].lanes.values()
        widths = {each.task_class.key.namespace: each.width for each in lanes}
        assert widths == {"ada": 2, "bob": 2}
        assert harness.counts(second.job_id)["succeeded"] > 0 < harness.counts(first.job_id)["succeeded"]

    run_scenario(scenario)


def test_a_strict_queue_starts_its_jobs_in_the_order_in_which_they_came() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        await tell(harness, lambda round: round.record(c.QueueSet("fifo", False, True, 0, 0, round.now_ms)))
        fifo = JobOptions(queue="fifo")
        [running] = await harness.submit(spec("running", needs={"cpu": 1000}, options=fifo))
        [large] = await harness.submit(spec("large", needs={"cpu": 2000}, options=fifo))
        [small] = await harness.submit(spec("small", needs={"cpu": 1000}, options=fifo))
        assert harness.counts(small.job_id) == {"queued": 1}
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        assert (harness.counts(large.job_id), harness.counts(small.job_id)) == ({"assigned": 1}, {"queued": 1})
        assert running.job_id not in harness.engine.state.jobs

    run_scenario(scenario)


def test_a_job_keeps_others_away_that_it_does_not_want_beside_it() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        await harness.join("n2", cpu=8)
        rule = Affinity("job", "job.labels.noisy == 'yes'", require=True, anti=True)
        [quiet] = await harness.submit(spec("quiet", affinity=(rule,)))
        [noisy] = await harness.submit(spec("noisy", 3, labels={"noisy": "yes"}))
        table = harness.engine.state.table
        where = [
            set(table.node[group.base : group.base + group.count].tolist())
            for job in (quiet, noisy)
            for group in harness.engine.state.jobs[job.job_id].task_sets
        ]
        assert not where[0] & where[1]

    run_scenario(scenario)


def test_groups_that_are_alike_do_not_keep_one_another_apart() -> None:
    """`distinct` is about the tasks of one group; a gang of two such groups fits on one node."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        whole = spec("pair", distinct="host", options=JobOptions(gang=True))
        left = whole.groups[0]
        await harness.submit(replace(whole, groups=(replace(left, name="left"), replace(left, name="right"))))
        assert len(harness.orders()) == 2

    run_scenario(scenario)
