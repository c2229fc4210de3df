"""Contracts: one suite of claims for each port, run against every adapter."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.store_log", f"{__name__}.store_history")
