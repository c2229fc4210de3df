"""Settings of a cluster that JSON can write in several ways."""

from __future__ import annotations

import pytest

from shunter.model.rest.admin_fields import SETTINGS
from shunter.model.schema.problems import Problems


@pytest.mark.parametrize(("written", "read"), [(5, 5), (5.0, 5), (None, None)])
def test_a_number_of_licences_may_be_written_as_a_whole_float(written: object, read: int | None) -> None:
    problems = Problems()
    assert SETTINGS["licences"].read({"matlab": written}, "licences", problems) == {"matlab": read}
    assert problems.found == []
