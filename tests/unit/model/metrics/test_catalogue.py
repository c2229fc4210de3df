"""Every metric follows the naming conventions of Prometheus."""

from __future__ import annotations

import re

import pytest

from shunter.model.metrics.catalogue import BY_NAME, METRICS
from shunter.model.metrics.metric import Metric, MetricKind

BASE_UNITS = {"", "seconds", "bytes", "cores", "ratio"}
OTHER_UNITS = re.compile(r"_(ms|milliseconds|minutes|hours|kb|mb|kilobytes|percent|millicores)(_|$)")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_has_a_prefix_a_base_unit_and_no_suffix_of_a_sample(metric: Metric) -> None:
    assert re.fullmatch(r"(shunter|process)_[a-z][a-z_]*[a-z]", metric.name)
    assert metric.unit in BASE_UNITS and metric.name.endswith(metric.unit)
    assert not OTHER_UNITS.search(metric.name)
    assert not metric.name.endswith(("_total", "_count", "_sum", "_bucket", "_info"))
    assert bool(metric.buckets) == (metric.kind is MetricKind.HISTOGRAM)
    assert list(metric.buckets) == sorted(metric.buckets)
    assert metric.about.endswith(".")


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(METRICS) > 30
