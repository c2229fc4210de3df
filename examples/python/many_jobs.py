"""Submit a thousand jobs in one request, and wait for all of them over one stream of events."""

import shunter

COUNT = 1000


def manifest(number: int) -> dict[str, object]:
    return {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": {"labels": {"batch": "example"}},
        "spec": {"command": ["/bin/true"], "env": {"NUMBER": str(number)}},
    }


with shunter.connect() as client:
    jobs = client.submit_many(manifest(number) for number in range(COUNT))
    print(f"{len(jobs)} jobs are submitted")
    for ended, _ in enumerate(client.as_completed(jobs), 1):
        if ended % 100 == 0:
            print(f"{ended} of them have ended")
