from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.identity.keycloak import FOLDER, Keycloak, running_keycloak


@pytest.fixture(scope="session")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    if not (FOLDER / "bin" / "kc.sh").is_file():
        pytest.skip("Keycloak is not installed: make setup-keycloak")
    with running_keycloak(tmp_path_factory.mktemp("keycloak")) as running:
        yield running
