"""The routes of the External-Scheduler-Interface: a part of the table in `api.routes.table`, and all that the door of
its own serves. A `/` at the end of these paths says nothing: clients of the reference implementation write one."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.routing import RequestBody, ResponseSpec, Route
from shunter.api.routes import external
from shunter.api.routes.metric_table import METRICS_RESPONSES, RUN, STEP
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest import external_views as v
from shunter.model.schema.fields import text

BASE = "/external"
IN_NAMESPACE = p.Query((p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False),))
TIMESTAMP = p.Query((p.field_parameter("t", "any text; clients send the time", text(size_max=64)),))
JOB = RequestBody(component="ExternalJobBody")
JOB_WRITTEN = (ResponseSpec(200, v.ExternalBatchJob, description="it is committed"),)

EXTERNAL_ROUTES = (
    Route(
        "GET", f"{BASE}/testbeds", "listExternalTestbeds", "Testbeds and their slots", external.list_testbeds,
        responses=(ResponseSpec(200, list[v.ExternalTestbed]),), query=IN_NAMESPACE, errors=(400,),
    ),
    Route(
        "GET", f"{BASE}/testbeds/{{object}}", "getExternalTestbed", "One Testbed and its slots", external.get_testbed,
        responses=(ResponseSpec(200, v.ExternalTestbed),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs", "listExternalJobs", "BatchJobs by their names", external.list_jobs,
        responses=(ResponseSpec(200, dict[str, v.ExternalBatchJob]),), query=IN_NAMESPACE, errors=(400,),
    ),
    Route(
        "PUT", f"{BASE}/jobs", "writeExternalJob", "Replace some keys of a BatchJob's externalScheduler",
        external.write_job, responses=JOB_WRITTEN, query=IN_NAMESPACE, body=JOB, errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{object}}", "getExternalJob", "One BatchJob", external.get_job,
        responses=(ResponseSpec(200, v.ExternalBatchJob),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{object}}/metrics", "getExternalJobMetrics",
        "What a run of a BatchJob used, by node and by slot", external.get_job_metrics, responses=METRICS_RESPONSES,
        query=p.Query((p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False), RUN, STEP)), errors=(400, 404),
    ),
    Route(
        "PUT", f"{BASE}/jobs/{{object}}", "writeExternalJobByName", "Replace some keys of its externalScheduler",
        external.write_job, responses=JOB_WRITTEN, query=IN_NAMESPACE, body=JOB, errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/schedulings", "listExternalSchedulings", "Schedulings", external.list_schedulings,
        responses=(ResponseSpec(200, list[v.ExternalScheduling]),), query=IN_NAMESPACE, errors=(400,),
    ),
    Route(
        "POST", f"{BASE}/schedulings", "postExternalScheduling", "Make or replace a Scheduling",
        external.post_scheduling, responses=(ResponseSpec(200, v.ExternalScheduling, description="it is committed"),),
        query=IN_NAMESPACE, body=RequestBody(component="ExternalSchedulingBody"), errors=(400, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/schedulings/{{object}}", "getExternalScheduling", "One Scheduling", external.get_scheduling,
        responses=(ResponseSpec(200, v.ExternalScheduling),), query=IN_NAMESPACE, errors=(400, 404),
    ),
    Route(
        "DELETE", f"{BASE}/schedulings/{{object}}", "deleteExternalScheduling",
        "Delete a Scheduling; its jobs end and its slots are released", external.delete_scheduling,
        responses=(ResponseSpec(200, v.ExternalScheduling, description="as it was"),), query=IN_NAMESPACE, errors=(400,
        404, 409),
    ),
    Route(
        "GET", "/scheduler/info", "getSockJsInfo", "What a client of SockJS asks before it opens its WebSocket",
        external.get_sockjs_info, responses=(ResponseSpec(200, dict),), query=TIMESTAMP, errors=(400,), public=True,
    ),
)  # fmt: skip
