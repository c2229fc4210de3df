"""Submit a thousand jobs in one request, and follow events until all have ended, instead of polling."""

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
    before = str(client.cluster().state_version)
    waiting = {job.name for job in client.submit_many(manifest(number) for number in range(COUNT))}
    print(f"{len(waiting)} jobs are submitted")
    for event in client.events(after=before, follow=True):
        if event.type in ("job.succeeded", "job.failed", "job.cancelled"):
            waiting.discard(event.name)
        if not waiting:
            break
    print("all of them have ended")
