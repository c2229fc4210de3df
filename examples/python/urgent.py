"""An urgent job preempts tasks of lower priority if there is no room; they run again later."""

import time

import shunter

with shunter.connect() as client:
    cores = int(float(client.cluster().capacity["cpu"]))
    patient = client.run(["sleep", "1"], name="patient", count=2 * cores, priority=10)
    while patient.refresh().counts.get("running", 0) < cores:  # until the cluster is full
        time.sleep(0.05)

    urgent = client.run_to_end(["echo", "now!"], name="urgent", priority=90)
    print("urgent:", urgent.state, "while patient has", patient.refresh().counts)

    patient.wait()
    again = [task.name for task in patient.tasks() if task.attempt > 1]
    print("patient:", patient.state, "- had to begin again:", ", ".join(again))
