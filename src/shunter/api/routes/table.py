"""The table of all routes: what the router dispatches by, and what the OpenAPI document is made from."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.routing import RequestBody, ResponseSpec, Route
from shunter.api.routes import admin, cluster, jobs, plans
from shunter.api.routes.external_table import EXTERNAL_ROUTES
from shunter.api.routes.flights import FLIGHT_ROUTES
from shunter.api.routes.metric_table import METRIC_ROUTES
from shunter.api.routes.object_table import OBJECT_ROUTES
from shunter.api.routes.service_table import SERVICE_ROUTES
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.lifecycles import JobState, TaskState
from shunter.model.rest import admin_views as k
from shunter.model.rest import views as v
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME
from shunter.model.signals import SIGNALS

BASE = "/api/v1"
PAGE_MAX = 1000
TASK_PAGE_MAX = 10_000
NODE_PAGE_MAX = 10_000
OFFSET_MAX = 2**53
ATTEMPT_MAX = 2**31
PIECE_MAX = 2**31

NAMESPACE = p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False)
NAMESPACES = p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=True)
LIMIT = p.int_parameter("limit", "how many items at most", 1, PAGE_MAX, 100)
TASK_LIMIT = p.int_parameter("limit", "how many items at most", 1, TASK_PAGE_MAX, 1000)
NODE_LIMIT = p.int_parameter("limit", "how many items at most", 1, NODE_PAGE_MAX, NODE_PAGE_MAX)
JOB_STATE = p.enum_parameter("state", "only in this state", [state.wire_name for state in JobState], is_repeated=True)
TASK_STATE = p.enum_parameter("state", "only in this state", [state.wire_name for state in TaskState], is_repeated=True)
WITH_REPLACED = p.bool_parameter("all", "also tasks of a service that were replaced, before the others")
NOW = p.bool_parameter("now", "kill at once, without grace")
SIGNAL = p.enum_parameter("signal", "what to send instead of TERM", list(SIGNALS))
FOLLOW_MODES = ("end", "progress", "logs")
IDEMPOTENCY_KEY = p.field_parameter(
    "Idempotency-Key",
    "the same key again returns what the first request with it made",
    text(jobs.KEY_PATTERN, size_max=128),
)

IN_JOB = p.Query((NAMESPACE,))
GROUP = p.field_parameter("group", "the task's group, where the job has several", NAME)
PIECE = p.int_parameter("piece", "of a task of a service that was replaced: the number behind its ~", 0, PIECE_MAX)
IN_TASK = p.Query((NAMESPACE, GROUP))
IN_ANY_TASK = p.Query((NAMESPACE, GROUP, PIECE))
JOB_BODY = RequestBody(component="Job", content_types=("application/json", "application/yaml"))
FOLLOW_DESCRIPTION = "lines: the job, then progress or log, then its end"

ROUTES = (
    Route(
        "GET", "/healthz", "getHealth", "Whether the manager answers", cluster.get_health,
        responses=(ResponseSpec(200, cluster.Status),), public=True,
    ),
    Route(
        "GET", f"{BASE}/openapi.json", "getOpenApi", "This description", cluster.get_openapi,
        responses=(ResponseSpec(200, dict),),
    ),
    Route(
        "GET", f"{BASE}/cluster", "getCluster", "The cluster at a glance", cluster.get_cluster,
        responses=(ResponseSpec(200, v.ClusterInfo),),
    ),
    Route(
        "PATCH", f"{BASE}/cluster", "patchCluster", "Change settings while it runs", cluster.patch_cluster,
        responses=(ResponseSpec(200, v.ClusterInfo),), body=RequestBody(component="ClusterPatch"),
        errors=(400, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/cluster/down", "stopCluster", "Stop the cluster; nothing is lost", cluster.stop_cluster,
        responses=(ResponseSpec(202, cluster.Status, description="it begins to stop"),),
        body=RequestBody(cluster.Down, required=False), errors=(400, 413),
    ),
    Route(
        "POST", f"{BASE}/jobs", "submitJob", "Submit a job, and follow it if asked", jobs.submit_job,
        responses=(
            ResponseSpec(201, v.JobView, description="the job is committed"),
            ResponseSpec(
                200, v.JobView, description="the same key, or an unfinished job with the same spec, was there before",
            ),
            ResponseSpec(201, v.FollowLine, "application/x-ndjson", description=FOLLOW_DESCRIPTION),
            ResponseSpec(200, v.FollowLine, "application/x-ndjson", description=FOLLOW_DESCRIPTION),
        ),
        query=p.Query((NAMESPACE, p.enum_parameter("follow", "stream the job's life as NDJSON", FOLLOW_MODES))),
        headers=(IDEMPOTENCY_KEY,), body=JOB_BODY, errors=(400, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/bulk/jobs", "submitJobs", "Submit many jobs, all or none", jobs.submit_jobs,
        responses=(ResponseSpec(201, v.SubmittedJobs, description="all are committed"),),
        query=IN_JOB, headers=(IDEMPOTENCY_KEY,), body=RequestBody(component="BulkSubmit"), errors=(400, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/jobs", "listJobs", "Jobs, newest first", jobs.list_jobs,
        responses=(ResponseSpec(200, v.JobPage),), errors=(400,),
        query=p.Query((NAMESPACES, JOB_STATE, p.label_parameter(), LIMIT, p.AFTER_NUMBER)),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}", "getJob", "One job", jobs.get_job,
        responses=(ResponseSpec(200, v.JobView),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "DELETE", f"{BASE}/jobs/{{job}}", "stopJob", "Stop a job; one that has ended stays as it is", jobs.stop_job,
        responses=(ResponseSpec(204),), query=p.Query((NAMESPACE, NOW, SIGNAL)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/runs", "listRuns", "All runs of a job's name, newest first", jobs.list_runs,
        responses=(ResponseSpec(200, v.JobPage),), query=p.Query((NAMESPACE, LIMIT, p.AFTER_NUMBER)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/why", "explainJob", "Why a job waits, or ended as it did", jobs.explain_job,
        responses=(ResponseSpec(200, v.WhyView),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/why", "explainTask", "Why a task waits, or ended as it did",
        jobs.explain_task, responses=(ResponseSpec(200, v.WhyView),), query=IN_TASK, errors=(400, 404),
    ),
    Route(
        "POST", f"{BASE}/plan", "planJobs", "What submitting jobs would do now, without doing it", plans.plan_jobs,
        responses=(ResponseSpec(200, v.PlanView, description="what would start, and what would wait and why"),),
        query=IN_JOB, body=RequestBody(component="Plan", content_types=("application/json", "application/yaml")),
        errors=(400, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/policies", "listPolicies", "Who can decide, and who does", plans.list_policies,
        responses=(ResponseSpec(200, v.PolicyPage),),
    ),
    Route(
        "PUT", f"{BASE}/policies/active", "usePolicy", "Change who decides, while it runs", plans.use_policy,
        responses=(ResponseSpec(200, v.PolicyPage, description="it decides from the next round on"),),
        body=RequestBody(plans.PolicyChoice), errors=(400, 413),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/follow", "followJob", "A job's life as NDJSON, until its end", jobs.follow_job,
        responses=(ResponseSpec(200, v.FollowLine, "application/x-ndjson", description=FOLLOW_DESCRIPTION),),
        errors=(400, 404),
        query=p.Query((NAMESPACE, p.enum_parameter("mode", "what to tell beside the end", FOLLOW_MODES, "end"))),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks", "listTasks", "A job's tasks, by index", jobs.list_tasks,
        responses=(ResponseSpec(200, v.TaskPage),), errors=(400, 404),
        query=p.Query((NAMESPACE, TASK_STATE, TASK_LIMIT, p.AFTER_TASK, WITH_REPLACED)),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}", "getTask", "One task", jobs.get_task,
        responses=(ResponseSpec(200, v.TaskView),), query=IN_ANY_TASK, errors=(400, 404),
    ),
    Route(
        "DELETE", f"{BASE}/jobs/{{job}}/tasks/{{index}}", "stopTask", "Stop one task", jobs.stop_task,
        responses=(ResponseSpec(204),), query=p.Query((NAMESPACE, GROUP, NOW, SIGNAL)), errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/attempts", "listAttempts", "A task's attempts", jobs.list_attempts,
        responses=(ResponseSpec(200, v.AttemptPage),), query=IN_ANY_TASK, errors=(400, 404),
    ),
    Route(
        "GET", f"{BASE}/jobs/{{job}}/tasks/{{index}}/logs", "readLog", "A task's output, as raw bytes", jobs.read_log,
        responses=(
            ResponseSpec(
                200, None, "application/octet-stream", description="X-Log-Truncated says whether a part was cut",
            ),
        ),
        errors=(400, 404),
        query=p.Query((
            NAMESPACE,
            GROUP,
            PIECE,
            p.enum_parameter("stream", "which output", ("stdout", "stderr"), "stdout"),
            p.int_parameter("offset", "the first byte wanted", 0, OFFSET_MAX, 0),
            p.int_parameter("limit", "how many bytes at most", 0, OFFSET_MAX),
            p.int_parameter("attempt", "which attempt; the latest if not given", 1, ATTEMPT_MAX),
            p.bool_parameter("follow", "go on until the task has ended"),
        )),
    ),
    Route(
        "POST", f"{BASE}/jobs/{{job}}/hold", "holdJob", "Let nothing more of a job start", admin.hold_job,
        responses=(ResponseSpec(200, v.JobView),), query=IN_JOB, errors=(400, 404, 409),
    ),
    Route(
        "POST", f"{BASE}/jobs/{{job}}/release", "releaseJob", "Let a held job go on", admin.release_job,
        responses=(ResponseSpec(200, v.JobView),), query=IN_JOB, errors=(400, 404, 409),
    ),
    Route(
        "POST", f"{BASE}/jobs/{{job}}/retry", "retryJob", "Run a finished job again, or what failed of it",
        admin.retry_job, responses=(ResponseSpec(201, v.JobView, description="a new run"),), headers=(IDEMPOTENCY_KEY,),
        query=p.Query((NAMESPACE, p.bool_parameter("failed", "only the tasks that did not succeed"))),
        errors=(400, 404, 409),
    ),
    Route(
        "GET", f"{BASE}/templates", "listTemplates", "Jobs that a clock or dispatches run", admin.list_templates,
        responses=(ResponseSpec(200, k.TemplatePage),), query=p.Query((NAMESPACES, LIMIT, p.AFTER)), errors=(400,),
    ),
    Route(
        "GET", f"{BASE}/templates/{{template}}", "getTemplate", "One template", admin.get_template,
        responses=(ResponseSpec(200, k.TemplateView),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "PATCH", f"{BASE}/templates/{{template}}", "patchTemplate", "Pause or resume a schedule", admin.patch_template,
        responses=(ResponseSpec(200, k.TemplateView),), query=IN_JOB, body=RequestBody(admin.TemplatePatch),
        errors=(400, 404, 413),
    ),
    Route(
        "DELETE", f"{BASE}/templates/{{template}}", "deleteTemplate", "Delete a template; its runs go on",
        admin.delete_template, responses=(ResponseSpec(204),), query=IN_JOB, errors=(400, 404),
    ),
    Route(
        "POST", f"{BASE}/templates/{{template}}/runs", "runTemplate", "Run a template now, with parameters",
        admin.run_template, responses=(ResponseSpec(201, v.JobView, description="a run of it"),), query=IN_JOB,
        headers=(IDEMPOTENCY_KEY,), body=RequestBody(admin.DispatchBody), errors=(400, 404, 413),
    ),
    Route(
        "GET", f"{BASE}/queues", "listQueues", "The named queues", admin.list_queues,
        responses=(ResponseSpec(200, k.QueuePage),),
    ),
    Route(
        "GET", f"{BASE}/queues/{{queue}}", "getQueue", "One queue", admin.get_queue,
        responses=(ResponseSpec(200, k.QueueView),), errors=(400, 404),
    ),
    Route(
        "PATCH", f"{BASE}/queues/{{queue}}", "patchQueue", "Pause, resume or limit a queue", admin.patch_queue,
        responses=(ResponseSpec(200, k.QueueView),), body=RequestBody(component="QueuePatch"), errors=(400, 409, 413),
    ),
    Route(
        "DELETE", f"{BASE}/queues/{{queue}}", "deleteQueue", "Take a queue's rules away", admin.delete_queue,
        responses=(ResponseSpec(204),), errors=(400, 404),
    ),
    Route(
        "POST", f"{BASE}/queues/{{queue}}/purge", "purgeQueue", "Cancel what is queued in a queue", admin.purge_queue,
        responses=(ResponseSpec(200, k.Purged),), errors=(400,),
    ),
    Route(
        "GET", f"{BASE}/dead", "listDead", "Tasks that gave up after their restarts", admin.list_dead,
        responses=(ResponseSpec(200, k.DeadPage),), errors=(400,),
        query=p.Query((NAMESPACES, p.field_parameter("job", "only of this job", NAME), LIMIT, p.AFTER_NUMBER)),
    ),
    Route(
        "POST", f"{BASE}/dead/replay", "replayDead", "Run just these tasks again", admin.replay_dead,
        responses=(ResponseSpec(201, k.Replayed),), query=p.Query((NAMESPACES,)),
        body=RequestBody(component="DeadChoice"),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/dead/purge", "purgeDead", "Forget dead letters", admin.purge_dead,
        responses=(ResponseSpec(200, k.Purged),), query=p.Query((NAMESPACES,)),
        body=RequestBody(component="DeadChoice"),
        errors=(400, 404, 413),
    ),
    Route(
        "GET", f"{BASE}/nodes", "listNodes", "The nodes, by name", cluster.list_nodes,
        responses=(ResponseSpec(200, v.NodePage),), errors=(400,),
        query=p.Query((NODE_LIMIT, p.AFTER)),
    ),
    Route(
        "GET", f"{BASE}/nodes/{{name}}", "getNode", "One node", cluster.get_node,
        responses=(ResponseSpec(200, v.NodeView),), errors=(404,),
    ),
    Route(
        "PATCH", f"{BASE}/nodes/{{name}}", "patchNode", "Change a node's labels and attributes", cluster.patch_node,
        responses=(ResponseSpec(200, v.NodeView),), body=RequestBody(component="NodePatch"), errors=(400, 404, 413),
    ),
    Route(
        "GET", f"{BASE}/nodes/{{name}}/stats", "getNodeStats", "A machine and its tasks, fresh", cluster.get_node_stats,
        responses=(ResponseSpec(200, v.NodeStatsView),), errors=(404,),
    ),
    Route(
        "GET", f"{BASE}/events", "listEvents", "What happened, as a page or as a stream", cluster.list_events,
        responses=(
            ResponseSpec(200, v.EventPage),
            ResponseSpec(
                200, None, "text/event-stream", description="id: VERSION-N, event: the type, data: an event as JSON",
            ),
        ),
        query=p.Query((
            p.namespace_parameter("*", all_allowed=True),
            p.field_parameter("job", "only of the job with this name", NAME),
            p.event_parameter("after", "only behind this event: VERSION-N, or VERSION for all of a version"),
            LIMIT,
            p.bool_parameter("follow", "stream server-sent events, from now on or behind `after`"),
        )),
        headers=(p.event_parameter("Last-Event-ID", "like `after`; a browser sends it when it reconnects"),),
        errors=(400, 404),
    ),
    *SERVICE_ROUTES,
    *OBJECT_ROUTES,
    *EXTERNAL_ROUTES,
    *FLIGHT_ROUTES,
    *METRIC_ROUTES,
)  # fmt: skip
