"""All REST views under one name, for users of the SDK (docs/reference/python-client.md). One module per subject.

Times are ISO-8601 in UTC; unknown values are null."""

from __future__ import annotations

from shunter.model.rest.cluster_views import (
    ClusterInfo,
    EventPage,
    EventView,
    LicenceView,
    PolicyPage,
    PolicyView,
)
from shunter.model.rest.job_views import (
    AttemptPage,
    AttemptView,
    EdgeView,
    FollowLine,
    GroupView,
    JobPage,
    JobTerms,
    JobView,
    LogView,
    ProgressView,
    SubmittedJob,
    SubmittedJobs,
    TaskPage,
    TaskView,
    UpdateView,
    describe_end_state,
)
from shunter.model.rest.node_views import (
    NodePage,
    NodeStatsView,
    NodeView,
    TaskStatsView,
)
from shunter.model.rest.plan_views import (
    PlannedJobView,
    PlannedPlacementView,
    PlannedPreemptionView,
    PlanView,
    ReasonView,
    StartView,
    SuggestionView,
    WhyView,
)

__all__ = [
    "AttemptPage",
    "AttemptView",
    "ClusterInfo",
    "EdgeView",
    "EventPage",
    "EventView",
    "FollowLine",
    "GroupView",
    "JobPage",
    "JobTerms",
    "JobView",
    "LicenceView",
    "LogView",
    "NodePage",
    "NodeStatsView",
    "NodeView",
    "PlanView",
    "PlannedJobView",
    "PlannedPlacementView",
    "PlannedPreemptionView",
    "PolicyPage",
    "PolicyView",
    "ProgressView",
    "ReasonView",
    "StartView",
    "SubmittedJob",
    "SubmittedJobs",
    "SuggestionView",
    "TaskPage",
    "TaskStatsView",
    "TaskView",
    "UpdateView",
    "WhyView",
    "describe_end_state",
]
