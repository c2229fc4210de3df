"""A queue of 1,000 one-executor jobs on 4 slots, no-ops as commands, next to as many plain one-task jobs on 4 lanes,
and as many with a limit of 4 at once; and the time from the submit of a Scheduling to its first executor, among 200
testbeds of 50 slots.

Run: python -m benchmarks.slots"""

from __future__ import annotations

import random
import statistics
import time
from datetime import datetime
from itertools import count

import shunter
from benchmarks.cluster import cluster
from benchmarks.jobs import run_jobs
from benchmarks.measure import Bar, Report, Sample, interleave, read_options

API = "batchjob.gcr.io/v1alpha1"
LANES = 4
ENTRIES, ENTRIES_SMALL = 1_000, 40
TESTBEDS, TESTBEDS_SMALL = 200, 5
SLOTS_PER_TESTBED = 50
SUBMITS, SUBMITS_SMALL = 200, 5
OVERHEAD = Bar(at_least=0.33)  # of the rate of plain jobs
P50_MS = Bar(at_most=20.0)
LABEL = "example.org/slots"
POLL_S = 0.02


def main() -> None:
    options = read_options(__doc__)
    report = Report("slots", options)
    entries = ENTRIES_SMALL if options.small else ENTRIES
    with cluster("--cpu", str(2 * LANES)), shunter.connect() as client:
        prepare(client, "queue", testbeds=1, slots=LANES, cpu="1")
        client.apply([batch_job(f"noop-{number}", ["/bin/true"]) for number in range(entries)])
        numbers = count()
        rates = interleave(
            {
                "slots": lambda: run_queue(client, entries),
                "plain": lambda: run_jobs(client, entries, f"plain-{next(numbers)}"),
                "rows": lambda: run_jobs(client, entries, f"row-{next(numbers)}", rows=LANES),
            },
            options.rounds,
        )
    report.figure(f"a queue of {entries:,} executors on {LANES} slots", "executors/s", rates["slots"])
    report.figure(f"{entries:,} plain one-task jobs beside it", "jobs/s", rates["plain"])
    report.figure(f"{entries:,} plain one-task jobs, {LANES} at a time", "jobs/s", rates["rows"])
    report.ratio("rate of executors in slots", rates["slots"], "plain one-task jobs", rates["plain"], OVERHEAD)
    name = f"plain one-task jobs, {LANES} at a time"
    report.ratio("rate of executors in slots", rates["slots"], name, rates["rows"])
    testbeds, submits = (TESTBEDS_SMALL, SUBMITS_SMALL) if options.small else (TESTBEDS, SUBMITS)
    with cluster("--cpu", str(testbeds + LANES)), shunter.connect() as client:
        prepare(client, "many", testbeds, SLOTS_PER_TESTBED, cpu="10m")
        client.apply([batch_job("nap", ["/bin/sleep", "0.2"])])
        chance = random.Random(1)
        for _ in range(3):
            start_ms(client, "many", chance.randrange(testbeds))
        times_ms = [start_ms(client, "many", chance.randrange(testbeds)) for _ in range(submits)]
    slots = testbeds * SLOTS_PER_TESTBED
    report.figure(
        f"from a Scheduling's submit to its executor's start, {slots:,} slots, half within", "ms",
        Sample((statistics.median(times_ms),)), P50_MS,
    )  # fmt: skip


def prepare(client: shunter.Client, prefix: str, testbeds: int, slots: int, cpu: str) -> None:
    """Testbeds on the only node."""
    [node] = client.nodes()
    client.label_node(node.name, {LABEL: "0"})
    client.apply([testbed(f"{prefix}-{number}", slots, cpu) for number in range(testbeds)])


def run_queue(client: shunter.Client, entries: int) -> float:
    """Executors per second, from the submit to the end of the last."""
    queue = [{"name": f"noop-{number}"} for number in range(entries)]
    begun = time.perf_counter()
    client.apply([scheduling("all", "queue-0", queue)])
    _await_state(client, "batchjob", f"noop-{entries - 1}", "CompletedState")
    _await_state(client, "scheduling", "all", "CompletedState")  # others may end after the last of the queue
    rate = entries / (time.perf_counter() - begun)
    client.delete("scheduling", "all")
    _await_state(client, "batchjob", f"noop-{entries - 1}", "ReadyState")
    return rate


def start_ms(client: shunter.Client, prefix: str, number: int) -> float:
    begun = time.time()
    client.apply([scheduling("one", f"{prefix}-{number}", [{"name": "nap"}])])
    _await_state(client, "batchjob", "nap", "CompletedState")
    [event] = client.get("batchjob", "nap").status["scheduledEvents"][-1:]
    client.delete("scheduling", "one")
    _await_state(client, "batchjob", "nap", "ReadyState")
    return (datetime.fromisoformat(event["start"]).timestamp() - begun) * 1000


def _await_state(client: shunter.Client, kind: str, name: str, state: str) -> None:
    """Of one BatchJob first: asking for the whole queue again and again would cost the manager more than running it."""
    while (found := client.get(kind, name).status["state"]) != state:
        assert not found.startswith("Failed"), found
        time.sleep(POLL_S)


def testbed(name: str, slots: int, cpu: str) -> dict[str, object]:
    spec = {"slotsPerNode": slots, "nodeLabel": LABEL, "resourcesPerSlot": {"cpu": cpu}}
    return {"apiVersion": API, "kind": "Testbed", "metadata": {"name": name}, "spec": spec}


def batch_job(name: str, command: list[str]) -> dict[str, object]:
    spec = {"commandSpec": {"command": command}}
    return {"apiVersion": API, "kind": "BatchJob", "metadata": {"name": name}, "spec": spec}


def scheduling(name: str, testbed: str, queue: list[dict[str, str]]) -> dict[str, object]:
    spec = {"queueBased": queue, "testbed": {"name": testbed}}
    return {"apiVersion": API, "kind": "Scheduling", "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    main()
