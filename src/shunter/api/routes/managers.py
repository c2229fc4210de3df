"""Routes about the managers of the cluster: list them, and let the leader step down."""

from __future__ import annotations

from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, AnsweredBy, ResponseSpec, Route
from shunter.model.rest.manager_views import ManagerPage, ManagerView, SteppingDown
from shunter.ports.gateway import CallerGateway

MANAGERS = f"{BASE}/managers"


async def list_managers(gateway: CallerGateway, _exchange: Exchange) -> ManagerPage:
    return await gateway.managers.page()


async def get_this_manager(gateway: CallerGateway, _exchange: Exchange) -> ManagerView:
    return await gateway.managers.this_manager()


async def step_down(gateway: CallerGateway, _exchange: Exchange) -> SteppingDown:
    await gateway.managers.step_down()
    return SteppingDown("stepping down")


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
        "POST", f"{MANAGERS}/step-down", "stepDown", "Let another manager lead", step_down,
        responses=(ResponseSpec(202, SteppingDown, description="another manager will lead"),), errors=(409,),
    ),
)  # fmt: skip
