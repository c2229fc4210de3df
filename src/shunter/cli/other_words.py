"""Words of Docker, Kubernetes, Nomad and Slurm for what a command does here. Used by the registry of commands."""

from __future__ import annotations

_LIST_JOBS = dict.fromkeys(("list", "ls", "ps", "squeue", "sacct", "service"), "jobs")
_STOP = dict.fromkeys(("cancel", "kill", "rm", "scancel"), "stop")
_LIST_NODES = dict.fromkeys(("list", "ls", "status"), "nodes")

# By the command that the word follows. Where two commands may be meant, both are named.
OTHER_WORDS = {
    "shunter": {
        **_LIST_JOBS,
        **_STOP,
        **{word: f"node {word}" for word in ("drain", "undrain", "cordon", "uncordon", "label")},
        "alloc": "tasks` or `shunter logs",
        "config": "context",
        "create": "submit` or `shunter apply",
        "help": "--help",
        "info": "cluster",
        "inspect": "job",
        "rollout": "job` or `shunter rollback",
        "sbatch": "submit` or `shunter run",
        "server": "up",
        "sinfo": "nodes",
        "srun": "run",
        "start": "up",
        "stats": "top` or `shunter metrics",
        "status": "jobs` or `shunter job",
    },
    "shunter context": {"ls": "context list", "rm": "context remove"},
    "shunter job": {
        **_LIST_JOBS,
        **_STOP,
        "info": "job",
        "logs": "logs",
        "run": "submit",
        "status": "job",
        "stop": "stop",
        "submit": "submit",
        "tasks": "tasks",
    },
    "shunter jobs": _LIST_JOBS,
    "shunter node": {"resume": "node undrain` or `shunter node uncordon", **_LIST_NODES},
    "shunter queue": {"list": "queues", "ls": "queues"},
    "shunter worker": _LIST_NODES,
}
