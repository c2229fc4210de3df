"""Submit and follow a job in one request, with live output; then the shortest way to run a command."""

import sys

import shunter

MANIFEST = """
apiVersion: shunter.dev/v1
kind: Job
spec:
  command: [sh, -c, "for step in 1 2 3; do echo step $step; sleep 0.1; done; exit 3"]
"""

with shunter.connect() as client:
    for line in client.submit_and_follow(MANIFEST, mode="logs"):
        if line.job:
            print("acknowledged as", line.job.name)
        elif line.log:
            sys.stdout.write(line.log.data.decode())
        elif line.end:
            print("ended:", line.end.state, "with exit code", line.exit_code)

    job = client.run_to_end(["/bin/true"])
    print(job.state, job.exit_code)
