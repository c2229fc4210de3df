from __future__ import annotations

import pytest

from shunter.api.http.app import ApiSettings, build_app
from tests.unit.api.asgi_client import Client

from .fake_gateway import FakeGateway


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def client(gateway: FakeGateway) -> Client:
    return Client(build_app(gateway, ApiSettings(heartbeat_s=0.01)))
