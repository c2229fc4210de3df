"""Which operations are open to callers who do not see the whole cluster. The gateway looks up every operation here.

An operation is either open to them, which means that its sub-gateway answers by their `Scope`, or it is about the
cluster and needs a cluster-wide credential. What is in neither set is refused to them, and a test fails."""

from __future__ import annotations

from shunter.model.errors import Forbidden
from shunter.model.identity.roles import PUBLIC

# fmt: off
SCOPED = frozenset((
    "getOpenApi", "getMe",
    "listJobs", "getJob", "listRuns", "followJob", "readJobLogs",
    "explainJob", "explainTask", "planJobs",
    "listTasks", "getTask", "listAttempts", "readLog", "listEvents",
    "listTemplates", "getTemplate", "listDead",
    "submitJob", "submitJobs", "updateJob", "stopJob", "stopTask", "holdJob", "releaseJob", "retryJob",
    "scaleJob", "rollBackJob", "restartJob", "moveTask",
    "patchTemplate", "deleteTemplate", "runTemplate", "replayDead", "purgeDead",
    "listSecrets", "setSecret", "deleteSecret", "createSessionCode", "deleteSession",
    "scrapeMetrics", "listQueues", "getQueue", "listNodes", "getNode", "getTaskMetrics",
    "search", "countJobs", "getManifest", "getTaskMap", "getTimeline", "getAnalytics", "getJobUsage", "getUsage",
    "getTenant", "listUsers", "putUser", "listKeys", "createKey", "rotateKey", "revokeKey", "listAudit",
    "listAllObjects", "listObjects", "applyDocuments", "subscribe",
    "listAllBatchJobs", "listBatchJobs", "getBatchJob", "explainBatchJob", "getBatchJobMetrics",
    "createBatchJob", "replaceBatchJob", "patchBatchJob", "deleteBatchJob", "resetBatchJob",
    "listAllTestbeds", "listTestbeds", "getTestbed", "explainTestbed",
    "listAllSchedulings", "listSchedulings", "getScheduling", "explainScheduling",
    "createScheduling", "replaceScheduling", "patchScheduling", "deleteScheduling", "writeExternal",
    "listPastSchedulings", "getPastScheduling",
    "listExternalTestbeds", "getExternalTestbed", "listExternalJobs", "getExternalJob", "getExternalJobMetrics",
    "listExternalSchedulings", "getExternalScheduling", "listExternalPastSchedulings",
    "postExternalScheduling", "deleteExternalScheduling", "writeExternalJob", "writeExternalJobByName",
    "openExternalSession", "renewExternalSession", "closeExternalSession",
))
CLUSTER_WIDE = frozenset((
    "listManagers", "getThisManager", "stepDown", "getCluster", "patchCluster", "stopCluster",
    "listPolicies", "usePolicy", "listFlight", "exportFlight",
    "patchQueue", "deleteQueue", "purgeQueue",
    "patchNode", "drainNode", "undrainNode", "cordonNode", "uncordonNode", "releaseNode", "forgetNode",
    "listDecisions", "getDecision", "getFlightTimeline", "replayDecision",
    "applySuggestion", "rotateSecretsKey", "debugManager",
    "listNodeTasks", "getNodeMap",
    "listTenants", "createTenant", "patchTenant", "deleteTenant", "exportAudit", "reportRefused",
    "listJoinTokens", "createJoinToken", "revokeJoinToken",
    "getNodeStats", "getNodeMetrics",
    "connectScheduler",  # a policy decides for the whole cluster
    "createTestbed", "replaceTestbed", "patchTestbed", "deleteTestbed",  # they reserve nodes
))
# fmt: on
REASONS = {
    "connectScheduler": "a policy that places tasks sees and uses the room of the whole cluster, so it needs a"
    " cluster-wide credential; with yours, hold a session over REST (POST /external/sessions) and make Schedulings",
}
REASON_DEFAULT = "this needs a cluster-wide credential; yours sees only what its tenant or its bounds allow"


def check_scope(is_cluster_wide: bool, operation: str) -> None:
    """Raises Forbidden."""
    if not is_cluster_wide and operation not in SCOPED and operation not in PUBLIC:
        raise Forbidden(REASONS.get(operation, REASON_DEFAULT))
