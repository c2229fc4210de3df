"""The table of all routes. The router dispatches by it, and the OpenAPI document lists the routes in this order."""

from __future__ import annotations

from shunter.api.routes.access.audit import AUDIT_ROUTES
from shunter.api.routes.admin import ADMIN_ROUTES
from shunter.api.routes.apply import APPLY_ROUTES, PAST_ROUTES
from shunter.api.routes.cluster import CLUSTER_ROUTES, EVENT_ROUTES
from shunter.api.routes.external import EXTERNAL_ROUTES
from shunter.api.routes.flights import FLIGHT_ROUTES
from shunter.api.routes.identity import IDENTITY_ROUTES, JOIN_TOKEN_ROUTES
from shunter.api.routes.jobs import JOB_ROUTES, TASK_ROUTES
from shunter.api.routes.logs import LOG_ROUTES
from shunter.api.routes.managers import MANAGER_ROUTES
from shunter.api.routes.metrics import METRIC_ROUTES
from shunter.api.routes.monitor import MONITOR_ROUTES
from shunter.api.routes.nodes import NODE_ADMIN_ROUTES, NODE_ROUTES
from shunter.api.routes.objects import OBJECT_ROUTES
from shunter.api.routes.plans import PLAN_ROUTES
from shunter.api.routes.secrets import SECRET_ROUTES
from shunter.api.routes.services import SERVICE_ROUTES
from shunter.api.routes.sessions import SESSION_ROUTES
from shunter.api.routes.tenants import TENANT_ROUTES

ROUTES = (
    *CLUSTER_ROUTES,
    *JOB_ROUTES,
    *PLAN_ROUTES,
    *TASK_ROUTES,
    *ADMIN_ROUTES,
    *NODE_ROUTES,
    *EVENT_ROUTES,
    *SERVICE_ROUTES,
    *NODE_ADMIN_ROUTES,
    *APPLY_ROUTES,
    *OBJECT_ROUTES,
    *PAST_ROUTES,
    *EXTERNAL_ROUTES,
    *FLIGHT_ROUTES,
    *METRIC_ROUTES,
    *LOG_ROUTES,
    *MANAGER_ROUTES,
    *IDENTITY_ROUTES,
    *SESSION_ROUTES,
    *SECRET_ROUTES,
    *MONITOR_ROUTES,
    *TENANT_ROUTES,
    *AUDIT_ROUTES,
    *JOIN_TOKEN_ROUTES,
)
