"""Lists what managers store for one another to read, by the format that it came with. `python -m tests.upgrade.stored`
writes what the newest format has added to `format-N.json`: once, when the format is new. Such a file never changes,
but for the names of classes, and of fields that are stored by position."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from msgspec import inspect

from shunter.engine import changes as c
from shunter.engine.changes.formats import FIRST_FORMAT, FORMATS, Formats
from shunter.engine.state import snapshot_records
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.state.state import State
from shunter.engine.state.task_table import PACKED_COLUMNS
from shunter.model import lifecycles
from shunter.model.job.spec import GroupSpec, JobOptions, JobSpec
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from tests.upgrade.home_files import FOLDER

# Other types are found in the fields of these.
ROOTS = (
    *get_args(c.Change), snapshot_records.Dump, GroupSpec, JobOptions, JobSpec, Testbed, BatchJob, Scheduling,
    ServiceState, lifecycles.TaskState, lifecycles.TaskEvent, lifecycles.JobState, lifecycles.JobEvent,
    lifecycles.NodeState, lifecycles.NodeEvent,
)  # fmt: skip


def path_of(format: int) -> Path:
    return FOLDER / f"format-{format}.json"


def list_added(format: int, formats: Formats = FORMATS) -> dict[str, Any]:
    """What came with the format: whole types, or fields of older ones. Of what is stored by position, a rename of a
    field is no change."""
    added: dict[str, Any] = {}
    for type, info in sorted(_find_types().items(), key=lambda each: each[0].__name__):
        since = formats.since.get(type, FIRST_FORMAT)
        if isinstance(info, inspect.EnumType):
            if since == format:
                added[type.__name__] = {name: member.value for name, member in type.__members__.items()}  # type: ignore[attr-defined]
            continue
        by_position = getattr(info, "array_like", False)
        fields = [
            f"{'' if by_position else field.encode_name + ': '}{_describe(field.type)}"
            for field in info.fields
            if max(_since(formats, type, field.name), since) == format
        ]
        if since == format or fields:
            tag = getattr(info, "tag", None)
            added[type.__name__] = fields if tag is None else [f"tag {tag}", *fields]
    added["registries"] = sorted(name for name in State().registries if formats.since.get(name, FIRST_FORMAT) == format)
    if format == FIRST_FORMAT:
        added["columns of tasks"] = list(PACKED_COLUMNS)
    return added


def misplaced_fields(formats: Formats = FORMATS) -> list[str]:
    """New fields of what is stored by position that do not come last, or have no default: older programs would take
    them for others."""
    wrong = []
    for type, info in _find_types().items():
        if not isinstance(info, inspect.EnumType) and getattr(info, "array_like", False):
            sinces = [_since(formats, type, field.name) for field in info.fields]
            wrong += [
                f"{type.__name__}.{field.name}"
                for position, field in enumerate(info.fields)
                if sinces[position] < max(sinces[:position], default=0)
                or (sinces[position] > FIRST_FORMAT and field.required)
            ]
    return wrong


def _since(formats: Formats, type: type, field: str) -> int:
    """A type of the state is in the table by its name."""
    by_name = formats.since.get(f"{type.__name__}.{field}", FIRST_FORMAT)
    return max(formats.since.get((type, field), FIRST_FORMAT), by_name)


def _find_types() -> dict[type, Any]:
    found: dict[type, Any] = {}
    waiting = [inspect.type_info(root) for root in ROOTS]
    while waiting:
        info = waiting.pop()
        if isinstance(info, inspect.StructType | inspect.DataclassType | inspect.EnumType):
            if info.cls in found:
                continue
            found[info.cls] = info
        waiting += _parts_of(info)
    return found


def _parts_of(info: Any) -> list[Any]:
    if isinstance(info, inspect.StructType | inspect.DataclassType):
        return [field.type for field in info.fields]
    parts = [getattr(info, name, None) for name in ("item_type", "key_type", "value_type")]
    several = [*getattr(info, "item_types", ()), *getattr(info, "types", ())]
    return [part for part in (*parts, *several) if isinstance(part, inspect.Type)]


def _describe(info: Any) -> str:
    if isinstance(info, inspect.StructType | inspect.DataclassType | inspect.EnumType):
        return str(info.cls.__name__)
    name = type(info).__name__.removesuffix("Type").lower()
    parts = ", ".join(_describe(part) for part in _parts_of(info))
    return f"{name}[{parts}]" if parts else name


def main() -> None:
    path = path_of(FORMATS.newest)
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in list_added(FORMATS.newest).items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{path.name}: {len(lines)} types")


if __name__ == "__main__":
    main()
