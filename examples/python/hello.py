"""Run a command on the local cluster and print what it wrote."""

import shunter

with shunter.connect() as client:
    job = client.run(["echo", "hello"])  # returns when the job is stored: from now on it cannot be lost
    job.wait()
    print(job.name, job.state, job.counts)
    for line in job.logs():
        print(line, end="")
