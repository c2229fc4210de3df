"""The cluster that `make kube` has started around these tests: kubectl, an operator as a process, and things that come
with time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

FOLDER = os.environ.get("SHUNTER_KUBE_CLUSTER", "")
SKIP_REASON = "" if FOLDER else "no Kubernetes: run `make kube`, which starts one around these tests"
NODE = "kube-1"
PATIENCE_S = 60.0
Document = dict[str, Any]


class Kube:
    """`namespace` is the test's own."""

    def __init__(self, namespace: str, folder: Path) -> None:
        self.namespace, self._folder = namespace, folder

    def run(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", "--namespace", self.namespace, *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)

    def __call__(self, *words: str, stdin: str | None = None) -> str:
        done = self.run(*words, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, *documents: Document) -> str:
        return self("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))

    def refuse(self, document: Document) -> str:
        """What the API server says against it."""
        done = self.run("apply", "-f", "-", stdin=yaml.safe_dump(document))
        assert done.returncode != 0, f"it was accepted: {document}"
        return done.stderr

    def get(self, kind: str, name: str) -> Document:
        found: Document = json.loads(self("get", kind, name, "-o", "json"))
        return found

    def pods(self) -> dict[str, Document]:
        return {each["metadata"]["name"]: each for each in json.loads(self("get", "pods", "-o", "json"))["items"]}

    def state(self, kind: str, name: str) -> str:
        return str(self.get(kind, name).get("status", {}).get("state"))

    def wait_state(self, kind: str, name: str, state: str) -> Document:
        self.wait(lambda: self.state(kind, name) == state)
        return self.get(kind, name)

    def wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, self("get", "shunter,pods", "-o", "yaml")
            time.sleep(0.1)

    @contextmanager
    def operator(self, *options: str) -> Iterator[Operator]:
        """An operator with the permissions that `shunter operator install` gives to it, and no others."""
        operator = Operator(self.kubeconfig("shunter-operator"), self._folder, options)
        self.wait(lambda: "operator.started" in operator.log.read_text())
        try:
            yield operator
        finally:
            operator.stop()

    def kubeconfig(self, account: str) -> Path:
        """With the permissions of an account that `shunter operator install` makes."""
        path = self._folder / f"{account}.conf"
        if not path.exists():
            admin = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
            words = ["-n", "shunter-system", "create", "token", account]
            token = subprocess.run(["kubectl", *words], capture_output=True, text=True, check=True, timeout=60).stdout
            admin["users"][0]["user"] = {"token": token.strip()}
            path.write_text(yaml.safe_dump(admin))
        return path


class Operator:
    def __init__(self, kubeconfig: Path, folder: Path, options: tuple[str, ...]) -> None:
        number = len(list(folder.glob("operator-*.log")))
        self.log = folder / f"operator-{number}.log"
        images = ("--image", "localhost/busybox:1", "--ghost-image", "localhost/pause:1")
        command = [str(Path(sys.executable).parent / "shunter"), "operator", "run", *images, "--lease", "3s", *options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*command, "--kubeconfig", str(kubeconfig)], stdout=log, stderr=log)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(30) in (0, -9), self.log.read_text()
        assert "operator.broken" not in self.log.read_text(), self.log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)


def document(kind: str, name: str, **spec: Any) -> Document:
    return {"apiVersion": "batchjob.gcr.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def testbed(name: str = "bench", label: str = "bench", **spec: Any) -> Document:
    size = {"slotsPerNode": 2, "nodeLabel": label, "resourcesPerSlot": {"cpu": "100m", "memory": "32Mi"}}
    return document("Testbed", name, **(size | spec))


def command(name: str, script: str) -> Document:
    return document("BatchJob", name, commandSpec={"command": ["sh", "-c", script]})


def queue(name: str, *jobs: str, testbed: str = "bench") -> Document:
    return document("Scheduling", name, queueBased=[{"name": job} for job in jobs], testbed={"name": testbed})
