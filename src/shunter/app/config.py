"""Reads config.toml: a home's settings, read whenever a manager or a worker starts. Called by `app.serve` and
`app.worker`.

The tables define the keys, how each is read, and which setting it changes. The settings define the defaults."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from shunter.app.coordination import check_coordination
from shunter.app.diagnosis.tracing import check_otlp_endpoint
from shunter.app.limits import check_limits
from shunter.app.options import DEVICES_MAX, MachineOptions, UpOptions, check_devices, parse_address
from shunter.app.roles import check_roles
from shunter.app.storage.scheduled_backups import BackupSettings
from shunter.app.storage.stores import check_store
from shunter.engine.settings import EngineSettings
from shunter.model.errors import Invalid, Problem
from shunter.model.identity.oidc import CLOCK_SKEW_MAX_S, GRANTS_MAX, check_secure_url
from shunter.model.job.task_fields import PATH_PATTERN, PIDS_MAX, RESOURCES, USER_PATTERN
from shunter.model.resources import AMOUNT_MAX, CPU, DISK, MEMORY
from shunter.model.rest.admin_fields import HEARTBEAT, HEARTBEAT_SETTING_MIN_S
from shunter.model.schema.field_lists import mapping, value_list
from shunter.model.schema.fields import Field, Section, amount, boolean, duration, integer, text
from shunter.model.schema.name_fields import LABELS, NAME, NODE_NAME
from shunter.model.schema.problems import Problems
from shunter.ports.limits import CAPACITY_MAX
from shunter.ports.store import Retention
from shunter.watcher.heartbeat_timing import HeartbeatInterval
from shunter.watcher.settings import TIMEOUT_HEARTBEATS, WatcherSettings
from shunter.worker.settings import WorkerSettings

NODE_NAME_DEFAULT = "local"  # where the machine has no name of its own
KINDS_MAX = 32  # of devices
DEVICE_SIZE_MAX = 128  # of an id
TLS_HOSTS_MAX = 32
CLIENT_ID_SIZE_MAX = 255
AUDIENCES_MAX = 32
GRANT_SIZE_MAX = 512
PLUGIN_SIZE_MAX = 100
PLUGINS_MAX = 8
CLUSTER_NAME_SIZE_MAX = 253
USER_SIZE_MAX = 65
TASK_USER_PATTERN = f"^({USER_PATTERN[1:-1]})?$"  # or none
ADDRESS_SIZE_MAX = 300
STORE_SIZE_MAX = 2_000
PATH_SIZE_MAX = 4_000
BACKUPS_MAX = 100_000
BACKUP_EVERY_MIN_S = 1.0
AGE_MAX_S = 100 * 366 * 86400.0
TIMEOUT_MAX_S = 86400.0
WARM_KEEPERS_MAX = 1_000
HISTORY_MAX = 1_000_000_000  # jobs, and events, in history
REQUESTS_MAX = CAPACITY_MAX  # per second, and at once
JOBS_MAX = 100_000_000
TASKS_MAX = 1_000_000_000
INBOX_MAX = 10_000_000
LOST_COUNT_MAX = 255  # what the task table can count to
QUARANTINE_JOBS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """How a value is read, and the attribute of its table's settings that it becomes."""

    field: Field
    attribute: str


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """`settings` is the type whose attributes the keys set, and that has their defaults."""

    about: str
    settings: type
    keys: Mapping[str, ConfigKey]


def _address() -> Field:
    spelled = text(size_max=ADDRESS_SIZE_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not str:
            return spelled.read(value, path, problems)
        try:
            parse_address(value, path)
        except Invalid as error:
            problems.found.extend(error.problems)
        return value

    return Field(read, spelled.schema)


def _devices() -> Field:
    """Kinds of devices, each with the ids of those that this machine has."""
    ids = value_list(text(size_max=DEVICE_SIZE_MAX), count_max=DEVICES_MAX, fix='write it like gpu = ["0", "1"]')
    lists = mapping(text(size_max=DEVICE_SIZE_MAX), ids, count_max=KINDS_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        found = len(problems.found)
        kinds = lists.read(value, path, problems)
        for kind, ids in kinds.items() if len(problems.found) == found else ():
            try:
                check_devices(f"{path}.{kind}", kind, ids)
            except Invalid as error:
                problems.found.extend(error.problems)
        return kinds

    return Field(read, lists.schema)


def _store() -> Field:
    spelled = text(size_max=STORE_SIZE_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not str:
            return spelled.read(value, path, problems)
        try:
            return check_store(value, path, is_on_command_line=False)
        except Invalid as error:
            problems.found.extend(error.problems)
        return value

    return Field(read, spelled.schema)


def _checked_text(check: Callable[[str, str], str]) -> Field:
    spelled = text(size_max=STORE_SIZE_MAX)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not str:
            return spelled.read(value, path, problems)
        try:
            return check(value, path)
        except Invalid as error:
            problems.found.extend(error.problems)
        return value

    return Field(read, spelled.schema)


def _texts(size_max: int, count_max: int, example: str) -> Field:
    return value_list(text(size_max=size_max), count_max=count_max, fix=f"write it like {example}")


def _policy() -> Field:
    def read(value: Any, path: str, problems: Problems) -> Any:
        from shunter.app.policies import find_policies  # brings NumPy, which a worker does not need

        try:
            find_policies(str(value)).build(str(value))
        except Invalid as error:
            problems.found.extend(replace(problem, field=path) for problem in error.problems)
        return value

    return Field(read, {"type": "string"})


TABLES = {
    "cluster": ConfigTable(
        "settings of the manager",
        UpOptions,
        {
            "name": ConfigKey(text(size_max=CLUSTER_NAME_SIZE_MAX), "name"),
            "listen": ConfigKey(_address(), "listen"),
            "workers_listen": ConfigKey(_address(), "workers_listen"),
            "policy": ConfigKey(_policy(), "policy"),
            "insecure": ConfigKey(boolean(), "insecure"),
            "store": ConfigKey(_store(), "store"),
            "secrets_key_file": ConfigKey(
                text(PATH_PATTERN, size_max=PATH_SIZE_MAX, rule="an absolute path"), "secrets_key_file"
            ),
            "coordination": ConfigKey(_checked_text(check_coordination), "coordination"),
            "roles": ConfigKey(_checked_text(check_roles), "roles"),
            "advertise": ConfigKey(text(size_max=ADDRESS_SIZE_MAX), "advertise"),
            "otlp_endpoint": ConfigKey(_checked_text(check_otlp_endpoint), "otlp_endpoint"),
        },
    ),
    "api": ConfigTable(
        "limits of requests",
        UpOptions,
        {
            "requests_per_s": ConfigKey(integer(0, REQUESTS_MAX), "requests_per_s"),
            "requests_burst": ConfigKey(integer(0, REQUESTS_MAX), "requests_burst"),
            "limits": ConfigKey(_checked_text(check_limits), "limits"),
        },
    ),
    "tls": ConfigTable(
        "encryption of all listeners",
        UpOptions,
        {
            "enabled": ConfigKey(boolean(), "tls"),
            "cert": ConfigKey(text(size_max=PATH_SIZE_MAX), "tls_cert"),
            "key": ConfigKey(text(size_max=PATH_SIZE_MAX), "tls_key"),
            "ca": ConfigKey(text(size_max=PATH_SIZE_MAX), "tls_ca"),
            "worker_token": ConfigKey(boolean(), "tls_worker_token"),
            "hosts": ConfigKey(
                value_list(text(size_max=ADDRESS_SIZE_MAX), count_max=TLS_HOSTS_MAX, fix='write it like ["a.example"]'),
                "tls_hosts",
            ),
        },
    ),
    "oidc": ConfigTable(
        "an OpenID Connect issuer whose users may sign in",
        UpOptions,
        {
            "issuer": ConfigKey(_checked_text(check_secure_url), "oidc_issuer"),
            "client_id": ConfigKey(text(size_max=CLIENT_ID_SIZE_MAX), "oidc_client_id"),
            "audience": ConfigKey(_texts(CLIENT_ID_SIZE_MAX, AUDIENCES_MAX, '["shunter"]'), "oidc_audiences"),
            "role_map": ConfigKey(_texts(GRANT_SIZE_MAX, GRANTS_MAX, '["ops=operator"]'), "oidc_role_map"),
            "user_claim": ConfigKey(text(size_max=CLIENT_ID_SIZE_MAX), "oidc_user_claim"),
            "groups_claim": ConfigKey(text(size_max=CLIENT_ID_SIZE_MAX), "oidc_groups_claim"),
            "scopes": ConfigKey(_texts(CLIENT_ID_SIZE_MAX, AUDIENCES_MAX, '["openid"]'), "oidc_scopes"),
            "clock_skew": ConfigKey(duration(CLOCK_SKEW_MAX_S), "oidc_clock_skew_s"),
            "ca": ConfigKey(text(size_max=PATH_SIZE_MAX), "oidc_ca"),
        },
    ),
    "auth": ConfigTable(
        "plugins that authenticate",
        UpOptions,
        {"plugins": ConfigKey(_texts(PLUGIN_SIZE_MAX, PLUGINS_MAX, '["ldap"]'), "authenticators")},
    ),
    "external": ConfigTable(
        "a separate address for external schedulers",
        UpOptions,
        {
            "listen": ConfigKey(_address(), "external_listen"),
            "open": ConfigKey(boolean(), "external_open"),
            "grpc": ConfigKey(_address(), "external_grpc"),
            "delete_absent_304": ConfigKey(boolean(), "external_absent_304"),
        },
    ),
    "worker": ConfigTable(
        "this machine as a node",
        WorkerSettings,
        {
            "name": ConfigKey(NODE_NAME, "name"),
            "cpu": ConfigKey(amount(CPU, 0, AMOUNT_MAX), "capacity"),
            "memory": ConfigKey(amount(MEMORY, 0, AMOUNT_MAX), "capacity"),
            "resources": ConfigKey(RESOURCES, "capacity"),
            "devices": ConfigKey(_devices(), "devices"),
            "labels": ConfigKey(LABELS, "labels"),
            "datacenter": ConfigKey(NAME, "datacenter"),
            "warm_keepers": ConfigKey(integer(0, WARM_KEEPERS_MAX), "warm_keepers"),
            "log_age": ConfigKey(duration(AGE_MAX_S), "log_age_max_s"),
            "log_total_max": ConfigKey(amount(DISK, 0, AMOUNT_MAX), "log_total_max_bytes"),
            "cgroups": ConfigKey(boolean(), "cgroups"),
            "task_user": ConfigKey(text(TASK_USER_PATTERN, size_max=USER_SIZE_MAX, rule="a user name"), "task_user"),
            "task_pids_max": ConfigKey(integer(0, PIDS_MAX), "task_pids_max"),
            "hide_secrets": ConfigKey(boolean(), "hide_secrets"),
            "otlp_endpoint": ConfigKey(_checked_text(check_otlp_endpoint), "otlp_endpoint"),
            "docker_host": ConfigKey(text(size_max=ADDRESS_SIZE_MAX), "docker_host"),
        },
    ),
    "nodes": ConfigTable(
        "liveness of nodes",
        WatcherSettings,
        {"heartbeat": ConfigKey(HEARTBEAT, "heartbeat_s"), "timeout": ConfigKey(duration(TIMEOUT_MAX_S), "timeout_s")},
    ),
    "history": ConfigTable(
        "retention of finished jobs, events and the audit log",
        Retention,
        {
            "jobs_age": ConfigKey(duration(AGE_MAX_S), "finished_age_s"),
            "jobs_max": ConfigKey(integer(0, HISTORY_MAX), "finished_max"),
            "events_age": ConfigKey(duration(AGE_MAX_S), "rounds_age_s"),
            "events_max": ConfigKey(integer(0, HISTORY_MAX), "rounds_max"),
            "audit_age": ConfigKey(duration(AGE_MAX_S), "audit_age_s"),
            "audit_max": ConfigKey(integer(0, HISTORY_MAX), "audit_max"),
        },
    ),
    "backup": ConfigTable(
        "scheduled backups of the store",
        BackupSettings,
        {
            "every": ConfigKey(duration(AGE_MAX_S), "every_s"),
            "keep": ConfigKey(integer(1, BACKUPS_MAX), "keep"),
            "folder": ConfigKey(text(size_max=PATH_SIZE_MAX), "folder"),
        },
    ),
    "limits": ConfigTable(
        "limits of the manager",
        EngineSettings,
        {
            "jobs_max": ConfigKey(integer(1, JOBS_MAX), "jobs_max"),
            "tasks_max": ConfigKey(integer(1, TASKS_MAX), "tasks_max"),
            "inbox_max": ConfigKey(integer(1, INBOX_MAX), "inbox_max"),
            "lost_max": ConfigKey(integer(1, LOST_COUNT_MAX), "lost_max"),
            "quarantine_jobs": ConfigKey(integer(0, QUARANTINE_JOBS_MAX), "quarantine_jobs"),
            "quarantine_restarts": ConfigKey(integer(0, QUARANTINE_JOBS_MAX), "quarantine_restarts"),
        },
    ),
}


def _document() -> Section:
    tables = {}
    for name, table in TABLES.items():
        section = Section(table.about, {key: entry.field for key, entry in table.keys.items()})
        tables[name] = section.as_field(default=section.read({}, "", Problems()))
    return Section("the configuration of a cluster", tables)


DOCUMENT = _document()


@dataclass(frozen=True, slots=True)
class Config:
    """A parsed file, or none. `cluster` (with `external`) and `worker` hold only the given keys, the others are
    complete."""

    cluster: Mapping[str, Any] = field(default_factory=dict)  # attributes of UpOptions
    worker: Mapping[str, Any] = field(default_factory=dict)  # attributes of WorkerSettings
    watcher: WatcherSettings = field(default_factory=WatcherSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    backup: BackupSettings = field(default_factory=BackupSettings)

    def fill_options(self, options: UpOptions) -> UpOptions:
        """The options, completed from the file."""
        unset = {name: value for name, value in self.cluster.items() if not getattr(options, name)}
        return msgspec.structs.replace(options, **unset)

    def with_task_descriptors(self, count: int) -> Config:
        """Tasks get this soft limit of open files, whatever this process has itself."""
        return replace(self, worker={**self.worker, "task_descriptors": count})

    def worker_settings(self, home: Path, machine: MachineOptions) -> WorkerSettings:
        """The worker's settings. For labels, resources and devices of the same name, the command line takes precedence.
        Raises Invalid."""
        settings = replace(WorkerSettings(home, platform.node() or NODE_NAME_DEFAULT), **self.worker)
        return replace(
            settings,
            name=machine.name or settings.name,
            datacenter=machine.datacenter or settings.datacenter,
            labels={**settings.labels, **machine.labels},
            capacity={**settings.capacity, **machine.capacity()},
            devices={**settings.devices, **machine.device_ids()},
            task_user=machine.task_user or settings.task_user,
        )


def read_config(path: Path) -> Config:
    """The file's configuration; the defaults if there is no file. Raises Invalid with every problem."""
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid([Problem(path.name, f"cannot be read: {error}")]) from None
    import tomllib  # here, because most starts have no file and need not wait for it

    try:
        return parse_config(tomllib.loads(content))
    except tomllib.TOMLDecodeError as error:
        raise Invalid([Problem(path.name, f"is not TOML: {error}")]) from None
    except Invalid as error:
        where = [replace(problem, field=f"{path.name}: {problem.field}") for problem in error.problems]
        raise Invalid(where) from None


def parse_config(document: object) -> Config:
    """A decoded file. Raises Invalid with every problem."""
    problems = Problems()
    values = DOCUMENT.read(document, "", problems)
    watcher = WatcherSettings(**_attributes("nodes", values))
    if not any(problem.field.startswith("nodes.") for problem in problems.found):
        _check_heartbeat(watcher, problems)
    every_s = values["backup"]["every"]
    if every_s is not None and every_s < BACKUP_EVERY_MIN_S:
        problems.add("backup.every", "is too short", value=every_s, fix=f"use at least {BACKUP_EVERY_MIN_S:.0f}s")
    problems.raise_any()
    retention = Retention(**_attributes("history", values))
    engine = EngineSettings(retention=retention, **_attributes("limits", values))
    cluster = {
        name: value
        for table in ("cluster", "api", "tls", "oidc", "auth", "external")
        for name, value in _attributes(table, values).items()
    }
    backup = BackupSettings(**_attributes("backup", values))
    return Config(cluster, _worker_attributes(values), watcher, engine, backup)


def _attributes(table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a table, by the names of the settings."""
    keys = TABLES[table].keys
    return {keys[key].attribute: value for key, value in values[table].items() if value is not None}


def _worker_attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    worker_values = values["worker"]
    given = {CPU: worker_values["cpu"], MEMORY: worker_values["memory"]}
    capacity = {**worker_values["resources"], **{name: size for name, size in given.items() if size is not None}}
    return {**_attributes("worker", values), "capacity": capacity}


def _check_heartbeat(settings: WatcherSettings, problems: Problems) -> None:
    """A check across keys: nodes must be able to send several heartbeats within the timeout."""
    shortest_s = HEARTBEAT_SETTING_MIN_S * TIMEOUT_HEARTBEATS
    if settings.timeout_s is not None and settings.timeout_s < shortest_s:
        problems.add("nodes.timeout", "is too short", value=settings.timeout_s, fix=f"use at least {shortest_s:.2f}s")
        return
    try:
        HeartbeatInterval(settings)
    except Invalid as error:
        problems.found.extend(replace(problem, field=f"nodes.{problem.field}") for problem in error.problems)
