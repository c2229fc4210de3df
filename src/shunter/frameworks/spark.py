"""Runs Apache Spark in tasks: `python -m shunter.frameworks.spark driver|executor`.

The driver's task runs its own Master and the application. It ends with the application's exit code. An executor's task
runs a Worker of the size of its slot, in which the Master starts exactly one executor. `frameworks.executor_link` tells
all of them when the application has ended."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shunter.frameworks.child_processes import ChildProcesses, Tail, exit_with_error
from shunter.frameworks.executor_link import ENDED, READY, DriverConnection, DriverServer
from shunter.frameworks.launch_options import LaunchContext, driver_address, launch, own_port
from shunter.frameworks.port_wait import wait_until_open

DAEMON_HEAP = "64m"  # of Master and Worker; testbeds.framework_memory counts with what they take in all
TMPDIR_OPTION = "-Djava.io.tmpdir=."  # the folder of the task, which goes away with it
DAEMON_OPTIONS = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:ReservedCodeCacheSize=24m {TMPDIR_OPTION}"
JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
MASTER_START_MAX_S = 120.0  # to listen; a node may be busy
EXECUTOR_REGISTRATION_MAX_S = 600  # for all executors to register before the application continues without some
SECRET_FILE = "application"  # in the folder that SHUNTER_SECRETS names
LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


def run_driver(context: LaunchContext, children: ChildProcesses) -> int:
    submit = submit_command(context)  # before anything starts: the program may not be there
    driver_server = DriverServer(context.host, own_port("LINE"))
    environment, port = spark_environment(context), own_port("MASTER")
    web_port = str(own_port("MASTER_UI"))
    command = [
        *spark_class(context, "master.Master"),
        "--host",
        context.host,
        "--port",
        str(port),
        "--webui-port",
        web_port,
    ]
    master = children.start(command, environment)
    if not wait_until_open(context.host, port, MASTER_START_MAX_S, lambda: master.poll() is None):
        exit_with_error("Spark's Master did not start, see above")
    driver_server.broadcast(READY)
    application = children.start(submit, environment)
    code = children.wait(application)
    assert isinstance(code, int)
    driver_server.broadcast_and_close(f"{ENDED} {code}")
    children.kill()  # the Master, which would complain of a signal
    return code


def run_executor(context: LaunchContext, children: ChildProcesses) -> int:
    host, port = driver_address("LINE")
    DriverConnection(host, port, children.on_message)
    if not children.wait(None, (READY, ENDED)):
        exit_with_error("the driver is gone")
    folder = Path.cwd() / "work"
    size = context.application
    worker = children.start(
        [
            *spark_class(context, "worker.Worker"),
            *("--cores", str(size["cores"]), "--memory", f"{size['heap_mib']}m"),
            *("--host", context.host, "--webui-port", "0", "--work-dir", str(folder)),
            f"spark://{host}:{driver_address('MASTER')[1]}",
        ],
        spark_environment(context),
    )
    tail = Tail(folder, {"stdout": 1, "stderr": 2})
    ended = children.wait(worker, (ENDED,))
    if ended:
        children.kill()  # the Worker, likewise; its executor has ended with the application
    tail.close()
    if ended == "":
        exit_with_error("the driver is gone")
    return 0 if isinstance(ended, str) else ended or 1  # a Worker never ends by itself


def spark_class(context: LaunchContext, name: str) -> list[str]:
    return [str(context.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]


def spark_environment(context: LaunchContext) -> dict[str, str]:
    """Everything listens at the node's own address; daemons are small."""
    conf = Path.cwd() / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "log4j2.properties").write_text(LOGGING)
    write_defaults(conf / "spark-defaults.conf", _secret(context))
    return context.environment() | {
        "SPARK_HOME": str(context.home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": context.host,
        "SPARK_PUBLIC_DNS": context.host,
        "SPARK_LOCAL_DIRS": str(Path.cwd()),
        "SPARK_DAEMON_MEMORY": DAEMON_HEAP,
        "SPARK_DAEMON_JAVA_OPTS": DAEMON_OPTIONS,
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": context.python,
        "PYSPARK_DRIVER_PYTHON": context.python,
        "SPARK_EXECUTOR_ATTRIBUTE_SLOT": os.environ.get("SHUNTER_SLOT_ID", ""),  # Spark's own REST tells it
    }


def _secret(context: LaunchContext) -> str:
    """From a file of its own; managers before 0.3.0 sent it in the payload."""
    folder = os.environ.get("SHUNTER_SECRETS", "")
    return (Path(folder) / SECRET_FILE).read_text() if folder else str(context.application["secret"])


def write_defaults(path: Path, secret: str) -> None:
    """Write the settings that the Master, the Workers and the application share. Master, driver and executors talk only
    to processes with the secret; it is in a file because command lines are public."""
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.ui.killEnabled": "false",
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.writelines(f"{key} {value}\n" for key, value in settings.items())


def submit_command(context: LaunchContext) -> list[str]:
    application = context.application
    main_class = ["--class", application["main_class"]] if application["main_class"] else []
    settings = [word for key, value in spark_settings(context).items() for word in ("--conf", f"{key}={value}")]
    return [
        str(context.home / "bin" / "spark-submit"),
        *("--master", f"spark://{context.host}:{own_port('MASTER')}", "--deploy-mode", "client"),
        *("--name", application["name"], "--driver-memory", f"{application['heap_mib']}m"),
        *main_class,
        *settings,
        context.file(application["file"]),
        *application["arguments"],
    ]


def spark_settings(context: LaunchContext) -> dict[str, str]:
    """Shunter's own settings; for all others, the application's come first."""
    application = context.application
    cores = application["executor_cores"]
    return {
        "spark.network.io.preferDirectBufs": "false",  # buffers outside of the heap have no limit of their own
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(Path.cwd() / "warehouse"),
        **application["conf"],
        **{key: f"{TMPDIR_OPTION} {application['conf'].get(key, '')}".strip() for key in JAVA_OPTIONS},
        "spark.driver.host": context.host,
        "spark.driver.bindAddress": context.host,
        "spark.driver.port": str(own_port("DRIVER")),
        "spark.driver.blockManager.port": str(own_port("BLOCKS")),
        "spark.ui.port": str(own_port("UI")),
        "spark.executor.memory": f"{application['executor_heap_mib']}m",
        "spark.executor.cores": str(cores),
        "spark.cores.max": str(cores * application["executors"]),
        "spark.dynamicAllocation.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{EXECUTOR_REGISTRATION_MAX_S}s",
    }


if __name__ == "__main__":
    sys.exit(launch(driver=run_driver, executor=run_executor))
