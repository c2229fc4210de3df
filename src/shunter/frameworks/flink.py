"""Runs Apache Flink in tasks: `python -m shunter.frameworks.flink driver|executor`.

The driver's task runs a JobManager in application mode, with the program in it. It ends with the program: exit code 0
if the job finished, 163 if it failed. An executor's task runs a TaskManager with one task slot, named after the slot of
the testbed. The JVMs are started without Flink's scripts, which would start three more each to read settings."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

from shunter.frameworks.child_processes import ChildProcesses, exit_with_error
from shunter.frameworks.executor_link import ENDED, DriverConnection, DriverServer
from shunter.frameworks.flink_memory import job_manager_memory, task_manager_memory
from shunter.frameworks.launch_options import LaunchContext, driver_address, launch, own_port

MAIN_CLASSES = {
    "jobmanager": "org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint",
    "taskmanager": "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
}
PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
SETTINGS_FILES = ("config.yaml", "flink-conf.yaml")  # of Flink 2 and 1
LOGGING = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %c{1} - %m%n
logger.tokens.name = org.apache.flink.runtime.security.token
logger.tokens.level = ERROR
logger.web.name = org.apache.flink.runtime.webmonitor
logger.web.level = ERROR
logger.collect.name = org.apache.flink.streaming.api.operators.collect
logger.collect.level = ERROR
"""


def run_driver(context: LaunchContext, children: ChildProcesses) -> int:
    program = program_arguments(context)  # before anything starts: the program may not be there
    driver_server = DriverServer(context.host, own_port("LINE"))
    memory = job_manager_memory(context.application["memory_mib"])
    settings = job_manager_settings(context) | memory.settings
    command = java_command(context, "jobmanager", memory.options, settings)
    job_manager = children.start([*command, *program], flink_environment(context))
    code = children.wait(job_manager)
    assert isinstance(code, int)
    driver_server.broadcast_and_close(f"{ENDED} {code}")
    return code


def run_executor(context: LaunchContext, children: ChildProcesses) -> int:
    host, port = driver_address("LINE")
    DriverConnection(host, port, children.on_message)
    memory = task_manager_memory(context.application["memory_mib"])
    settings = task_manager_settings(context, host) | memory.settings
    command = java_command(context, "taskmanager", memory.options, settings)
    task_manager = children.start(command, flink_environment(context))
    ended = children.wait(task_manager, (ENDED,))
    if ended == "":
        exit_with_error("the driver is gone")
    children.kill()  # it would complain of a signal, and all its work is done
    return ended or 1 if isinstance(ended, int) else 0  # a TaskManager never ends by itself


def program_arguments(context: LaunchContext) -> list[str]:
    """The program that the JobManager runs."""
    application = context.application
    savepoint = ["--fromSavepoint", application["savepoint"]] if application["savepoint"] else []
    skip = ["--allowNonRestoredState"] if application["skips_state"] else []
    if application["jar"]:
        jars = ";".join(f"local://{context.file(path)}" for path in (application["jar"], *application["class_path"]))
        class_option = ["--job-classname", application["main_class"]] if application["main_class"] else []
        return [*savepoint, *skip, "--jars", jars, *class_option, *application["arguments"]]
    if application["py_file"]:
        python = ["-py", context.file(application["py_file"])]
    else:
        python = ["-pym", application["py_module"]]
    return [*savepoint, *skip, "--job-classname", PYTHON_DRIVER, *python, *application["arguments"]]


def job_manager_settings(context: LaunchContext) -> dict[str, str]:
    application = context.application
    settings = {
        **common_settings(context),
        "jobmanager.rpc.address": context.host,
        "jobmanager.rpc.port": str(own_port("RPC")),
        "jobmanager.bind-host": context.host,
        "blob.server.port": str(own_port("BLOB")),
        "rest.address": context.host,
        "rest.port": str(own_port("REST")),
        "rest.bind-address": context.host,
        "rest.bind-port": str(own_port("REST")),
        "parallelism.default": str(application["parallelism"]),
        "web.submit.enable": "false",
        "web.cancel.enable": "false",
        "web.rescale.enable": "false",
    }
    if application["savepoints"]:
        settings["execution.checkpointing.savepoint-dir"] = application["savepoints"]
    return settings


def task_manager_settings(context: LaunchContext, driver_host: str) -> dict[str, str]:
    slot = os.environ["SHUNTER_SLOT_ID"]
    return {
        **common_settings(context),
        "jobmanager.rpc.address": driver_host,
        "jobmanager.rpc.port": str(driver_address("RPC")[1]),
        "taskmanager.host": context.host,
        "taskmanager.bind-host": context.host,
        "taskmanager.resource-id": f"slot-{slot}",
        "taskmanager.resource-id.metadata": f"slot {slot} on node {os.environ.get('SHUNTER_NODE', '?')}",
        "taskmanager.numberOfTaskSlots": "1",
        "taskmanager.cpu.cores": "1.0",
    }


def common_settings(context: LaunchContext) -> dict[str, str]:
    """The application's settings, and the locations of Python and temporary files."""
    files = context.application["py_files"]
    return {
        "python.executable": context.python,
        "python.client.executable": context.python,
        **({"python.files": ",".join(context.file(path) for path in files)} if files else {}),
        # The application holds all its slots, so an operator may use them all, however little work there is.
        "execution.batch.adaptive.auto-parallelism.enabled": "false",
        **context.application["settings"],
        "io.tmp.dirs": str(Path.cwd()),
    }


def java_command(context: LaunchContext, role: str, options: list[str], settings: dict[str, str]) -> list[str]:
    """The settings go into a file: they may be long, and the program's own words may look like them."""
    conf = Path.cwd() / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "config.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))
    (conf / "log4j.properties").write_text(LOGGING)
    return [
        f"{context.java_home}/bin/java",
        *options,
        *module_options(context.home),
        *(word for part in ("all", role) for word in shlex.split(settings.get(f"env.java.opts.{part}", ""))),
        f"-Dlog4j.configurationFile=file:{conf}/log4j.properties",
        f"-Djava.io.tmpdir={Path.cwd()}",
        *("-classpath", f"{context.home}/lib/*"),
        MAIN_CLASSES[role],
        *("--configDir", str(conf)),
    ]


def module_options(home: Path) -> list[str]:
    """The Java modules that Flink's own settings open to it."""
    for name in SETTINGS_FILES:
        try:
            text = (home / "conf" / name).read_text()
        except OSError:
            continue
        if match := re.search(r"^(?: +all|env\.java\.opts\.all):(.*)$", text, re.MULTILINE):
            return shlex.split(match[1])
    return []


def flink_environment(context: LaunchContext) -> dict[str, str]:
    return context.environment() | {
        "FLINK_HOME": str(context.home),
        "FLINK_OPT_DIR": str(context.home / "opt"),
        "FLINK_PLUGINS_DIR": str(context.home / "plugins"),
        "FLINK_CONF_DIR": str(Path.cwd() / "conf"),
    }


if __name__ == "__main__":
    sys.exit(launch(driver=run_driver, executor=run_executor))
