"""Roles, and what each of them may do. The only authorization table: the gateway looks up every operation here.

An operation has the name of its REST route, of its gRPC method, or of its WebSocket. A route that is missing from the
table is refused to everybody, and a test fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from shunter.model.errors import Forbidden


class Role(StrEnum):
    VIEWER = "viewer"
    SUBMITTER = "submitter"
    OPERATOR = "operator"
    SCHEDULER = "scheduler"
    ADMIN = "admin"


ABOUT = {
    Role.VIEWER: "reads everything, changes nothing",
    Role.SUBMITTER: "also runs, changes and stops jobs and BatchJobs",
    Role.OPERATOR: "also manages nodes, queues, policies, testbeds and settings",
    Role.SCHEDULER: "reads everything, and decides as an external scheduler: Schedulings, placements",
    Role.ADMIN: "everything, users and keys included",
}

_EVERYBODY = frozenset(Role)
_SUBMITTERS = frozenset((Role.SUBMITTER, Role.OPERATOR, Role.ADMIN))
_OPERATORS = frozenset((Role.OPERATOR, Role.ADMIN))
_SCHEDULERS = frozenset((Role.SCHEDULER, Role.OPERATOR, Role.ADMIN))
_DECIDERS = frozenset((Role.SCHEDULER, Role.ADMIN))
_ADMINS = frozenset((Role.ADMIN,))

# fmt: off
PUBLIC = frozenset((  # for everybody, without a token
    "getHealth", "getSockJsInfo", "createSession", "getSignInOptions", "beginOidcSignIn", "finishOidcSignIn",
    "enrolWorker",
))
_READS = (
    "getOpenApi", "getCluster", "getMe", "getTenant", "listManagers", "getThisManager",
    "listJobs", "getJob", "listRuns", "explainJob", "explainTask", "followJob", "readJobLogs",
    "listTasks", "getTask", "listAttempts", "readLog", "getTaskMetrics",
    "listTemplates", "getTemplate", "listQueues", "getQueue", "listDead", "listPolicies", "listEvents",
    "listNodes", "getNode", "getNodeStats", "getNodeMetrics",
    "listAllObjects", "listObjects",
    "listAllBatchJobs", "listBatchJobs", "getBatchJob", "explainBatchJob", "getBatchJobMetrics",
    "listAllTestbeds", "listTestbeds", "getTestbed", "explainTestbed",
    "listAllSchedulings", "listSchedulings", "getScheduling", "explainScheduling",
    "listPastSchedulings", "getPastScheduling",
    "listExternalTestbeds", "getExternalTestbed", "listExternalJobs", "getExternalJob", "getExternalJobMetrics",
    "listExternalSchedulings", "getExternalScheduling", "listExternalPastSchedulings",
    "subscribe", "listFlight", "listSecrets",
    "scrapeMetrics",
    "countJobs", "search", "getManifest", "getTaskMap", "getTimeline", "getNodeMap", "listNodeTasks",
    "getAnalytics", "getJobUsage", "getUsage", "listDecisions", "getDecision", "getFlightTimeline",
)
_SUBMITS = (
    "planJobs", "submitJob", "submitJobs", "updateJob", "stopJob", "stopTask", "holdJob", "releaseJob", "retryJob",
    "scaleJob", "rollBackJob", "restartJob", "moveTask", "applySuggestion",
    "patchTemplate", "deleteTemplate", "runTemplate", "replayDead", "purgeDead",
    "setSecret", "deleteSecret",
    "createBatchJob", "replaceBatchJob", "patchBatchJob", "deleteBatchJob", "resetBatchJob",
)
_SCHEDULES = (
    "createScheduling", "replaceScheduling", "patchScheduling", "deleteScheduling", "writeExternal",
    "postExternalScheduling", "deleteExternalScheduling", "writeExternalJob", "writeExternalJobByName",
    "exportFlight", "openExternalSession", "renewExternalSession", "closeExternalSession",
)
_OPERATES = (
    "patchCluster", "usePolicy", "replayDecision", "patchQueue", "deleteQueue", "purgeQueue",
    "patchNode", "drainNode", "undrainNode", "cordonNode", "uncordonNode", "releaseNode", "forgetNode",
    "createTestbed", "replaceTestbed", "patchTestbed", "deleteTestbed",
    "stepDown", "debugManager",
)
_ADMINISTERS = (
    "stopCluster", "listUsers", "putUser", "listKeys", "createKey", "rotateKey", "revokeKey", "rotateSecretsKey",
    "listTenants", "createTenant", "patchTenant", "deleteTenant",
    "listAudit", "exportAudit", "reportRefused",
    "listJoinTokens", "createJoinToken", "revokeJoinToken",
)
# fmt: on

PERMISSIONS: Mapping[str, frozenset[Role]] = {
    **dict.fromkeys(_READS, _EVERYBODY),
    **dict.fromkeys(_SUBMITS, _SUBMITTERS),
    **dict.fromkeys(_SCHEDULES, _SCHEDULERS),
    **dict.fromkeys(_OPERATES, _OPERATORS),
    **dict.fromkeys(_ADMINISTERS, _ADMINS),
    "createSessionCode": _EVERYBODY,
    "deleteSession": _EVERYBODY,
    "applyDocuments": _EVERYBODY - {Role.VIEWER},  # each document is checked as well, by its kind
    "connectScheduler": _DECIDERS,
}


def check_permission(roles: Collection[Role], operation: str) -> None:
    """Raises Forbidden."""
    if operation in PUBLIC:
        return
    allowed = PERMISSIONS.get(operation, frozenset())
    if allowed.isdisjoint(roles):
        needed, own = join_words(allowed, "or"), join_words(roles, "and")
        raise Forbidden(f"this needs the role {needed or 'of nobody'}; you have {own or 'no role'}")


def join_words(roles: Collection[Role], last: str) -> str:
    """As in a sentence: `submitter, operator or admin`."""
    words = [str(role) for role in Role if role in roles]
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
