"""What each event does in each state of slots, testbeds, batch jobs and schedulings, written a second time, by hand."""

from __future__ import annotations

_FAILED_OR_RELEASED = {"failed": "FailedState", "released": "FinishedState"}

EXPECTED: dict[str, dict[str, dict[str, str]]] = {
    "slot": {
        "FREE": {"reserved": "RESERVED", "node_lost": "ERROR"},
        "RESERVED": {"started": "OCCUPIED", "freed": "FREE"},
        "OCCUPIED": {"interrupted": "RESERVED", "freed": "FREE"},
        "ERROR": {"node_back": "FREE"},
    },
    "testbed": {
        "INITIAL": {"idle": "SUCCESS", "reserved": "IN_PROGRESS", "occupied": "RUNNING", "broken": "ERROR"},
        "SUCCESS": {"reserved": "IN_PROGRESS", "occupied": "RUNNING", "broken": "ERROR"},
        "IN_PROGRESS": {"idle": "SUCCESS", "occupied": "RUNNING", "broken": "ERROR"},
        "RUNNING": {"idle": "SUCCESS", "reserved": "IN_PROGRESS", "broken": "ERROR"},
        "ERROR": {"idle": "SUCCESS", "reserved": "IN_PROGRESS", "occupied": "RUNNING"},
    },
    "batch job": {
        "ReadyState": {"enqueued": "InQueueState"},
        "InQueueState": {"submitted": "SubmittedState", "released": "PendingDeletion", "failed": "FailedState"},
        "SubmittedState": {
            "scheduled": "ScheduledState",
            "completed": "CompletedState",
            "released": "PendingDeletion",
            "vanished": "ReadyState",
            "node_lost": "PendingDeletion",
            "failed": "FailedSubmissionState",
        },
        "ScheduledState": {
            "started": "RunningState",
            "completed": "CompletedState",
            "released": "PendingDeletion",
            "vanished": "ReadyState",
            "node_lost": "PendingDeletion",
            "failed": "FailedSubmissionState",
        },
        "RunningState": {
            "completed": "CompletedState",
            "released": "PendingDeletion",
            "vanished": "ReadyState",
            "node_lost": "PendingDeletion",
            "failed": "FailedSubmissionState",
        },
        "CompletedState": {"released": "PendingDeletion"},
        "PendingDeletion": {"gone": "ReadyState"},
        "FailedSubmissionState": {"gone": "ReadyState"},
        "FailedState": {"reset": "ReadyState"},
    },
    "scheduling": {
        "AcquireState": {"acquired": "ConfirmationState", **_FAILED_OR_RELEASED},
        "ConfirmationState": {
            "confirmed": "SubmissionState",
            "unclaimed": "AcquireState",
            "completed": "CompletedState",
            **_FAILED_OR_RELEASED,
        },
        "SubmissionState": {
            "submitted": "ConfirmationState",
            "drained": "AwaitingCompletionState",
            "unclaimed": "AcquireState",
            "completed": "CompletedState",
            **_FAILED_OR_RELEASED,
        },
        "AwaitingCompletionState": {
            "extended": "ConfirmationState",
            "unclaimed": "AcquireState",
            "completed": "CompletedState",
            **_FAILED_OR_RELEASED,
        },
        "CompletedState": {"unclaimed": "AcquireState", "released": "FinishedState"},
        "FailedState": {"released": "FinishedState"},
        "FinishedState": {},
    },
}
ENDS: dict[str, set[str]] = {"slot": set(), "testbed": set(), "batch job": set(), "scheduling": {"FinishedState"}}
INITIAL = {"slot": "FREE", "testbed": "INITIAL", "batch job": "ReadyState", "scheduling": "AcquireState"}
