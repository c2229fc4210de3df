"""Runs tasks as containers. The worker finds `DockerRuntime` under the name docker. Importing it loads no client
library."""

from shunter.worker.runtimes.docker.runtime import DockerRuntime

__all__ = ["DockerRuntime"]
