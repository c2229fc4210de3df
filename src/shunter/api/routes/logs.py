"""Handler and route of the output of a whole job. Part of the table in `api.routes.table`; the output of one task is in
`api.routes.jobs`."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, AnsweredBy, ResponseSpec, Route
from shunter.api.http.streams import stream_lines
from shunter.api.routes.jobs import TASK_STATE, job_of
from shunter.model.job import arrays
from shunter.model.rest.log_views import JobLogLine
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.model.schema.problems import Problems
from shunter.ports.gateway import CallerGateway
from shunter.ports.jobs import JobLogQuery

TAIL_MAX = 100_000
GREP_SIZE_MAX = 1024
INDEX_TEXT_MAX = 1024
STREAMS = ("stdout", "stderr")


async def read_job_logs(gateway: CallerGateway, exchange: Exchange) -> None:
    params = exchange.query
    query = JobLogQuery(
        params["follow"], params["tail"], params["grep"], params["since"], params["group"], params["index"] or (),
        params["state"], tuple(stream for stream in STREAMS if not params["stream"] or stream in params["stream"]),
    )  # fmt: skip
    await stream_lines(exchange, 200, await gateway.streams.job_logs(job_of(exchange), query))


def _read_indexes(value: str, path: str, problems: Problems) -> tuple[arrays.IndexRange, ...]:
    try:
        if "%" in value or len(value) > INDEX_TEXT_MAX:
            raise ValueError("is not a list of indexes")
        return arrays.parse_array(value).parts
    except ValueError as error:
        problems.add(path, str(error), value=value, fix="write it as 3, 1-9:2 or 1-3,7")
        return ()


INDEXES = p.Parameter(
    "index", "only tasks with these indexes: 3, 1-9:2 or 1-3,7", _read_indexes,
    {"type": "string", "pattern": arrays.PATTERN, "maxLength": INDEX_TEXT_MAX},
)  # fmt: skip
GROUPS = p.Parameter("group", "only tasks of this group", NAME.read, NAME.schema, is_repeated=True)

LOG_ROUTES = (
    Route(
        "GET", f"{BASE}/jobs/{{job}}/logs", "readJobLogs", "Get the output of all tasks of a job, as NDJSON",
        read_job_logs, errors=(400, 404),
        answered_by=AnsweredBy.LEADER, responses=(
            ResponseSpec(
                200, JobLogLine, "application/x-ndjson",
                description="lines: pieces of output, then what was left out and what is missing",
            ),
        ),
        query=p.Query((
            p.NAMESPACE,
            p.bool_parameter("follow", "keep streaming until the job has ended"),
            p.int_parameter("tail", "only the last lines of each stream of each task", 0, TAIL_MAX),
            p.field_parameter("grep", "only lines with this text", text(size_max=GREP_SIZE_MAX)),
            p.time_parameter("since", "without tasks that ended earlier"),
            GROUPS,
            INDEXES,
            TASK_STATE,
            p.enum_parameter("stream", "only this output stream", STREAMS, is_repeated=True),
        )),
    ),
)  # fmt: skip
