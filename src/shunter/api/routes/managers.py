"""Routes about the managers of the cluster: list them, and let the leader step down."""

from __future__ import annotations

from shunter.api.http import parameters as p
from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, AnsweredBy, ResponseSpec, Route
from shunter.model.metrics.debug_views import DebugView
from shunter.model.rest.manager_views import ManagerPage, ManagerView, SteppingDown
from shunter.ports.gateway import CallerGateway

MANAGERS = f"{BASE}/managers"
PROFILE_MAX_S = 30


async def list_managers(gateway: CallerGateway, _exchange: Exchange) -> ManagerPage:
    return await gateway.managers.page()


async def get_this_manager(gateway: CallerGateway, _exchange: Exchange) -> ManagerView:
    return await gateway.managers.this_manager()


async def step_down(gateway: CallerGateway, _exchange: Exchange) -> SteppingDown:
    await gateway.managers.step_down()
    return SteppingDown("stepping down")


async def debug_manager(gateway: CallerGateway, exchange: Exchange) -> DebugView:
    return await gateway.telemetry.debug(exchange.query["profile"] or 0)


MANAGER_ROUTES = (
    Route(
        "GET", MANAGERS, "listManagers", "List the managers, and which of them leads", list_managers,
        responses=(ResponseSpec(200, ManagerPage),), answered_by=AnsweredBy.RECEIVER,
    ),
    Route(
        "GET", f"{MANAGERS}/self", "getThisManager", "Get the manager that answers", get_this_manager,
        responses=(ResponseSpec(200, ManagerView),), answered_by=AnsweredBy.RECEIVER,
    ),
    Route(
        "GET", f"{MANAGERS}/self/debug", "debugManager", "Get what helps to find a fault of the manager that answers",
        debug_manager, responses=(ResponseSpec(200, DebugView),), answered_by=AnsweredBy.RECEIVER,
        query=p.Query((p.int_parameter("profile", "seconds to profile; default: none", 0, PROFILE_MAX_S),)),
        errors=(400,),
    ),
    Route(
        "POST", f"{MANAGERS}/step-down", "stepDown", "Let another manager lead", step_down,
        responses=(ResponseSpec(202, SteppingDown, description="another manager will lead"),), errors=(409,),
    ),
)  # fmt: skip
