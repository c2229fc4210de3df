"""Tasks as containers: `DockerRuntime` is what the worker looks up under the name docker.
Importing it loads no client library."""

from shunter.worker.runtimes.docker.runtime import DockerRuntime

__all__ = ["DockerRuntime"]
