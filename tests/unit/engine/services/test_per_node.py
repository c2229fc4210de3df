"""System jobs have one task on each matching node, also on nodes that join later; sysbatch jobs run once on each."""

from __future__ import annotations

from shunter.model.job.spec import Restart, Update
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Hello, Inventory, Welcome
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import service, system


def test_each_node_gets_one_also_a_node_that_joins_later() -> None:
    """C-04: system."""

    async def scene(stage: Stage) -> None:
        nodes = [await stage.join(f"n{number}") for number in (1, 2)]
        players = Players(stage)
        [job] = await stage.submit(system())
        await players.act(1)
        assert [players.on(node) for node in nodes] == [[0], [1]]
        third = await stage.join("n3")
        await players.act(1)
        assert players.on(third) == [2]
        assert stage.counts(job.job_id) == {"running": 3}

    play(scene)


def test_what_belongs_on_a_node_is_not_ended_for_others() -> None:
    """It would be back before whoever it was ended for, and be ended again."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        players = Players(stage)
        [agent] = await stage.submit(system())
        await players.act(1)
        [urgent] = await stage.submit(spec("urgent", needs={"cpu": 2000}, priority=90))
        await players.act(1)
        assert stage.counts(agent.job_id) == {"running": 1}
        assert stage.stops() == []
        await stage.engine.stop_tasks(agent.job_id, None, False)
        await players.act(1)
        assert stage.counts(urgent.job_id) == {"running": 1}

    play(scene)


def test_a_system_job_waits_for_its_first_node_and_ends_only_when_stopped() -> None:
    async def scene(stage: Stage) -> None:
        players = Players(stage)
        [job] = await stage.submit(system())
        await players.act(1)
        assert stage.engine.state.jobs[job.job_id].state.word == "pending"
        await stage.join("n1")
        await players.act(1)
        assert stage.counts(job.job_id) == {"running": 1}
        await stage.engine.stop_tasks(job.job_id, None, False)
        await players.act(1)
        assert job.job_id not in stage.engine.state.jobs

    play(scene)


def test_only_matching_nodes_have_it_and_labels_are_followed() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        [job] = await stage.submit(system(constraints=("node.labels.disk == 'ssd'",)))
        await players.act(1)
        assert players.playing == {}
        await stage.engine.label_node("n2", {"disk": "ssd"})
        await players.act(1)
        assert (players.on(first), players.on(second)) == ([], [1])
        await stage.engine.label_node("n1", {"disk": "ssd"})
        await stage.engine.label_node("n2", {"disk": None})
        await players.act(1)
        assert (players.on(first), players.on(second)) == ([0], [])
        assert stage.counts(job.job_id) == {"running": 1}

    play(scene)


def test_attributes_set_by_hand_are_followed_too() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1")
        players = Players(stage)
        await stage.submit(system(constraints=("node.attributes.role == 'edge'",)))
        await players.act(1)
        assert players.playing == {}
        await stage.engine.attribute_node("n1", {"role": "edge"})
        await players.act(1)
        assert players.on(1) == [0]
        await stage.engine.attribute_node("n1", {"role": None})
        await players.act(1)
        assert players.playing == {}
        said = [event.reason for event in await stage.events() if event.type == "node.attributed"]
        assert said == ["role=edge", "role-"]

    play(scene)


def test_where_it_does_not_fit_yet_it_waits_for_room() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=1)
        players = Players(stage)
        [other] = await stage.submit(service(1, name="web"))
        await players.act(1)
        [job] = await stage.submit(system())
        await players.act(1)
        assert stage.counts(job.job_id) == {"queued": 1}
        await stage.engine.stop_tasks(other.job_id, None, False)
        await players.act(1)
        assert players.on(node) == [0]
        assert stage.counts(job.job_id) == {"running": 1}

    play(scene)


def test_a_node_that_goes_down_takes_its_task_along_and_gets_one_when_it_is_back() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        [job] = await stage.submit(system())
        await players.act(1)
        players.playing = {task: each for task, each in players.playing.items() if each.node != first}
        await stage.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await players.act(1)
        assert stage.counts(job.job_id) == {"running": 1}
        await stage.join("n1", boot="b2")
        await players.act(1)
        assert (players.on(first), players.on(second)) == ([0], [1])

    play(scene)


def test_a_cordoned_node_keeps_what_it_has_and_gets_nothing_new() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        await stage.submit(system())
        await players.act(1)
        await stage.engine.cordon_node("n1", "")
        await players.act(1)
        assert players.on(first) == [0]
        await stage.submit(system(name="other"))
        await players.act(1)
        assert (len(players.on(first)), len(players.on(second))) == (1, 2)
        await stage.engine.release_node("n1", "cordon")
        await players.act(1)
        assert len(players.on(first)) == 2

    play(scene)


def test_a_system_job_is_updated_node_by_node() -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join(f"n{number}", cpu=2) for number in range(1, 5)]
        players = Players(stage)
        update = Update(parallel=2, unavailable_max=1, healthy_for_s=1.0)
        [job] = await stage.submit(system(update=update))
        await players.act(1)
        await stage.submit(system("v2", update=update))
        for _ in range(40):
            await players.act(0.25)
            assert len(players.playing) >= 3
        assert players.commands() == ["v2"] * 4
        assert [players.on(node) for node in nodes] == [[0], [1], [2], [3]]
        assert stage.engine.state.lasting.jobs[job.job_id].status == "steady"

    play(scene)


def test_nodes_that_take_no_work_do_not_hold_up_an_update_of_the_others() -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join(f"n{number}", cpu=2) for number in range(1, 6)]
        for name in ("n4", "n5"):
            await stage.engine.cordon_node(name, "")
        players = Players(stage)
        update = Update(unavailable_max=1, healthy_for_s=1.0)
        [job] = await stage.submit(system(update=update))
        await players.act(1)
        await stage.submit(system("v2", update=update))
        await players.pass_time(10)
        assert players.commands() == ["v2"] * 3
        assert [players.on(node) for node in nodes] == [[0], [1], [2], [], []]
        assert stage.engine.state.lasting.jobs[job.job_id].status == "steady"

    play(scene)


def test_one_node_of_a_system_job_can_be_updated_alone() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        second = await stage.join("n2", cpu=2)
        players = Players(stage)
        [job] = await stage.submit(system())
        await players.act(3)
        await stage.engine.update(job.job_id, system("v2"), "ada", "n2")
        await players.pass_time(10)
        assert players.commands() == ["v1", "v2"]
        assert [each.spec.command[-1] for each in players.playing.values() if each.node == second] == ["v2"]

    play(scene)


def test_a_sysbatch_runs_once_on_each_matching_node_and_ends() -> None:
    """C-04: sysbatch."""

    async def scene(stage: Stage) -> None:
        for number in range(1, 4):
            await stage.join(f"n{number}")
        players = Players(stage)
        [job] = await stage.submit(system(type="sysbatch", restart=Restart()))
        await players.act()
        assert sorted(players.starts) == [(1, 0), (2, 1), (3, 2)]
        for task in list(players.playing):
            assert job.job_id in stage.engine.state.jobs
            await players.end(task, 0)
        await players.act(1)
        finished = await stage.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "succeeded"
        assert len(players.starts) == 3

    play(scene)


def test_a_sysbatch_does_not_wait_for_a_node_that_is_down() -> None:
    async def scene(stage: Stage) -> None:
        first, _ = await stage.join("n1"), await stage.join("n2")
        players = Players(stage)
        [job] = await stage.submit(system(type="sysbatch", restart=Restart()))
        await players.act()
        del players.playing[players.find(0)]
        await stage.engine.node_event(first, NodeEvent.TIMED_OUT, "gone")
        await players.act()
        await players.end(players.find(1), 0)
        await players.act(1)
        finished = await stage.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "succeeded"

    play(scene)


def test_five_thousand_nodes_get_one_each_and_a_change_of_one_looks_at_one() -> None:
    async def scene(stage: Stage) -> None:
        hellos = [Hello(1, f"n{number:04}", "b", {"cpu": 2000}) for number in range(5_000)]
        welcomes = await stage.engine.hello_many(hellos)
        for welcome in welcomes:
            assert isinstance(welcome, Welcome)
            await stage.engine.inventory(welcome.node, Inventory(1, [], []))
        await stage.settle()
        [job] = await stage.submit(system())
        assert stage.counts(job.job_id) == {"assigned": 5_000}
        version = stage.engine.state.version
        await stage.engine.label_node("n0007", {"disk": "ssd"})
        await stage.settle()
        assert stage.engine.state.version == version + 1
        live = stage.engine.state.jobs[job.job_id]
        assert live.group(4_999) is live.groups[4_999]

    play(scene)


def test_a_node_that_another_job_has_for_itself_gets_its_task_when_it_is_free() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1")
        await stage.submit(spec("alone", exclusive=True))
        [(_, order)] = stage.orders()
        [job] = await stage.submit(system())
        players = Players(stage)
        await players.act(1)
        assert stage.counts(job.job_id) == {"queued": 1}
        await stage.end(node, order)
        await players.act(1)
        assert stage.counts(job.job_id) == {"running": 1}

    play(scene)
