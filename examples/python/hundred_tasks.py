"""Run an array of a hundred tasks that differ by SHUNTER_TASK_INDEX. Every tenth fails; print which."""

import shunter

SCRIPT = "test $((SHUNTER_TASK_INDEX % 10)) -ne 9"

with shunter.connect() as client:
    job = client.run(["sh", "-c", SCRIPT], count=100, cpu="500m")
    job.wait(timeout=60)
    print(job.state, job.counts)
    for task in job.tasks(states=["failed"]):
        print(f"{task.name} ended with {task.exit_code} on {task.node}")
