"""How tasks are kept from the cluster's secrets: what nodes offer, and what a job can require."""

from __future__ import annotations

USER, NAMESPACE, CONTAINER, ROOT, NONE = "user", "namespace", "container", "root", "none"

ATTRIBUTE = "isolation"  # of a node; workers before 0.2.0 do not report it

# What a job can require of a node -> the constraint that says so. A user of its own keeps tasks from more than a
# namespace does. A container is required by the job's runtime.
CONSTRAINTS = {
    USER: f"node.attributes.{ATTRIBUTE} == '{USER}'",
    NAMESPACE: f"node.attributes.{ATTRIBUTE} in ['{NAMESPACE}', '{USER}']",
}
REQUIRED_BY_CONSTRAINT = {text: name for name, text in CONSTRAINTS.items()}
