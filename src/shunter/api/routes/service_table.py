"""The routes for jobs that last and for the upkeep of nodes: a part of the table in `api.routes.table`."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.routing import RequestBody, ResponseSpec, Route
from shunter.api.routes import nodes, services
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest import views as v
from shunter.model.schema.fields import text
from shunter.model.schema.name_fields import NAME

JOB = "/api/v1/jobs/{job}"
NODE = "/api/v1/nodes/{name}"
NODE_NAME_SIZE_MAX = 253

NAMESPACE = p.namespace_parameter(NAMESPACE_DEFAULT, all_allowed=False)
GROUP = p.field_parameter("group", "the task's group, where the job has several", NAME)
ONLY_NODE = p.field_parameter("node", "replace only what runs on this node", text(size_max=NODE_NAME_SIZE_MAX))
IN_JOB = p.Query((NAMESPACE,))
JOB_RESPONSES = (ResponseSpec(200, v.JobView, description="it is committed; the steps follow"),)
NODE_RESPONSES = (ResponseSpec(200, v.NodeView),)

SERVICE_ROUTES = (
    Route(
        "PUT", JOB, "updateJob", "Give a service or system job another spec", services.update_job,
        responses=JOB_RESPONSES, query=p.Query((NAMESPACE, ONLY_NODE)), errors=(400, 404, 409, 413),
        body=RequestBody(component="Job", content_types=("application/json", "application/yaml")),
    ),
    Route(
        "POST", f"{JOB}/scale", "scaleJob", "Change the counts of a service", services.scale_job,
        responses=JOB_RESPONSES, query=IN_JOB, body=RequestBody(services.Scale), errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{JOB}/rollback", "rollBackJob", "Go back to an earlier good version", services.roll_back_job,
        responses=JOB_RESPONSES, query=IN_JOB, errors=(400, 404, 409),
    ),
    Route(
        "POST", f"{JOB}/restart", "restartJob", "Replace instances by fresh ones", services.restart_job,
        responses=JOB_RESPONSES, query=IN_JOB, body=RequestBody(services.Restart, required=False),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{JOB}/tasks/{{index}}/move", "moveTask", "Let a task run on a node of your choice",
        services.move_task, responses=JOB_RESPONSES, query=p.Query((NAMESPACE, GROUP)), body=RequestBody(services.Move),
        errors=(400, 404, 409, 413),
    ),
    Route(
        "POST", f"{NODE}/drain", "drainNode", "Empty a node", nodes.drain_node,
        responses=NODE_RESPONSES, body=RequestBody(component="Drain", required=False), errors=(400, 404, 413),
    ),
    Route(
        "DELETE", f"{NODE}/drain", "undrainNode", "Let a drained node take work again", nodes.undrain_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
    Route(
        "POST", f"{NODE}/cordon", "cordonNode", "Let nothing more start on a node", nodes.cordon_node,
        responses=NODE_RESPONSES, body=RequestBody(nodes.Cordon, required=False), errors=(400, 404, 409, 413),
    ),
    Route(
        "DELETE", f"{NODE}/cordon", "uncordonNode", "Let a cordoned node take work again", nodes.uncordon_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
    Route(
        "DELETE", f"{NODE}/quarantine", "releaseNode", "Let a node out of quarantine", nodes.release_node,
        responses=NODE_RESPONSES, errors=(404, 409),
    ),
)  # fmt: skip
