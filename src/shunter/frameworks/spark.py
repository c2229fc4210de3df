"""Runs Apache Spark in tasks: `python -m shunter.frameworks.spark driver|executor`.

The driver's task has a Master of its own and the application; it ends with the application's exit code. An executor's
task has a Worker of the size of its slot, in which the Master starts just one executor. All of them are told by the
line (`frameworks.executor_link`) when the application has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shunter.frameworks.child_processes import Children, Tail, refuse
from shunter.frameworks.executor_link import ENDED, READY, Line, Switchboard
from shunter.frameworks.launch_options import Told, driver_address, launch, own_port
from shunter.frameworks.port_wait import until_open

DAEMON_HEAP = "64m"  # of Master and Worker; testbeds.framework_memory counts with what they take in all
TEMPORARY = "-Djava.io.tmpdir=."  # the folder of the task, which goes away with it
DAEMON_OPTIONS = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:ReservedCodeCacheSize=24m {TEMPORARY}"
JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
MASTER_MAX_S = 120.0  # to listen; a node may be busy
EXECUTORS_MAX_S = 600  # for all executors to register before the application goes on without some
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


def run_driver(told: Told, children: Children) -> int:
    submit = submit_command(told)  # before anything starts: the program may not be there
    board = Switchboard(told.host, own_port("LINE"))
    environment, port = spark_environment(told), own_port("MASTER")
    web_port = str(own_port("MASTER_UI"))
    command = [*spark_class(told, "master.Master"), "--host", told.host, "--port", str(port), "--webui-port", web_port]
    master = children.start(command, environment)
    if not until_open(told.host, port, MASTER_MAX_S, lambda: master.poll() is None):
        refuse("Spark's Master did not start, see above")
    board.say(READY)
    application = children.start(submit, environment)
    code = children.wait(application)
    assert isinstance(code, int)
    board.say_farewell(f"{ENDED} {code}")
    children.kill()  # the Master, which would complain of a signal
    return code


def run_executor(told: Told, children: Children) -> int:
    host, port = driver_address("LINE")
    Line(host, port, children.hear)
    if not children.wait(None, (READY, ENDED)):
        refuse("the driver is gone")
    folder = Path.cwd() / "work"
    size = told.application
    worker = children.start(
        [
            *spark_class(told, "worker.Worker"),
            *("--cores", str(size["cores"]), "--memory", f"{size['heap_mib']}m"),
            *("--host", told.host, "--webui-port", "0", "--work-dir", str(folder)),
            f"spark://{host}:{driver_address('MASTER')[1]}",
        ],
        spark_environment(told),
    )
    tail = Tail(folder, {"stdout": 1, "stderr": 2})
    ended = children.wait(worker, (ENDED,))
    if ended:
        children.kill()  # the Worker, likewise; its executor has ended with the application
    tail.close()
    if ended == "":
        refuse("the driver is gone")
    return 0 if isinstance(ended, str) else ended or 1  # a Worker never ends by itself


def spark_class(told: Told, name: str) -> list[str]:
    return [str(told.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]


def spark_environment(told: Told) -> dict[str, str]:
    """Everything listens at the node's own address; daemons are small."""
    conf = Path.cwd() / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "log4j2.properties").write_text(LOGGING)
    write_defaults(conf / "spark-defaults.conf", told.application["secret"])
    return told.environment() | {
        "SPARK_HOME": str(told.home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": told.host,
        "SPARK_PUBLIC_DNS": told.host,
        "SPARK_LOCAL_DIRS": str(Path.cwd()),
        "SPARK_DAEMON_MEMORY": DAEMON_HEAP,
        "SPARK_DAEMON_JAVA_OPTS": DAEMON_OPTIONS,
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": told.python,
        "PYSPARK_DRIVER_PYTHON": told.python,
        "SPARK_EXECUTOR_ATTRIBUTE_SLOT": os.environ.get("SHUNTER_SLOT_ID", ""),  # Spark's own REST tells it
    }


def write_defaults(path: Path, secret: str) -> None:
    """What the Master, the Workers and the application read alike. Master, driver and executors talk only to who knows
    the secret; it is in a file because everybody sees the words of a command."""
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.ui.killEnabled": "false",
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.writelines(f"{key} {value}\n" for key, value in settings.items())


def submit_command(told: Told) -> list[str]:
    application = told.application
    main_class = ["--class", application["main_class"]] if application["main_class"] else []
    settings = [word for key, value in settings_of(told).items() for word in ("--conf", f"{key}={value}")]
    return [
        str(told.home / "bin" / "spark-submit"),
        *("--master", f"spark://{told.host}:{own_port('MASTER')}", "--deploy-mode", "client"),
        *("--name", application["name"], "--driver-memory", f"{application['heap_mib']}m"),
        *main_class,
        *settings,
        told.file(application["file"]),
        *application["arguments"],
    ]


def settings_of(told: Told) -> dict[str, str]:
    """What Shunter has to say; of the rest, what the application says goes first."""
    application = told.application
    cores = application["executor_cores"]
    return {
        "spark.network.io.preferDirectBufs": "false",  # buffers beside the heap have no limit of their own
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(Path.cwd() / "warehouse"),
        **application["conf"],
        **{key: f"{TEMPORARY} {application['conf'].get(key, '')}".strip() for key in JAVA_OPTIONS},
        "spark.driver.host": told.host,
        "spark.driver.bindAddress": told.host,
        "spark.driver.port": str(own_port("DRIVER")),
        "spark.driver.blockManager.port": str(own_port("BLOCKS")),
        "spark.ui.port": str(own_port("UI")),
        "spark.executor.memory": f"{application['executor_heap_mib']}m",
        "spark.executor.cores": str(cores),
        "spark.cores.max": str(cores * application["executors"]),
        "spark.dynamicAllocation.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{EXECUTORS_MAX_S}s",
    }


if __name__ == "__main__":
    sys.exit(launch(driver=run_driver, executor=run_executor))
