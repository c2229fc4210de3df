"""Metrics as OpenMetrics text, read back by the parser of the Prometheus client."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.metrics.exposition import Exposition
from shunter.model.metrics.metric import (
    OTHER,
    ExposedBy,
    Histogram,
    LabelledCounter,
    Metric,
    MetricKind,
    fold_labels,
)

parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="make setup installs it")
COUNTER = Metric("shunter_things", MetricKind.COUNTER, "Things.", ExposedBy.MANAGER, ("kind",))
GAUGE = Metric("shunter_size_bytes", MetricKind.GAUGE, 'Size\nof "it" \\.', ExposedBy.MANAGER, unit="bytes")
TIMES = Metric(
    "shunter_wait_seconds", MetricKind.HISTOGRAM, "Waiting.", ExposedBy.MANAGER, unit="seconds", buckets=(0.1, 1.0)
)
INFO = Metric("shunter_manager", MetricKind.INFO, "Who.", ExposedBy.MANAGER, ("name",))


def parsed(exposition: Exposition) -> dict[str, Any]:
    return {family.name: family for family in parser.text_string_to_metric_families(exposition.render().decode())}


def test_a_counter_is_read_back_with_its_labels() -> None:
    exposition = Exposition()
    exposition.put(COUNTER, 3, 'a"b\\c\nd')
    (sample,) = parsed(exposition)["shunter_things"].samples
    assert (sample.name, sample.labels, sample.value) == ("shunter_things_total", {"kind": 'a"b\\c\nd'}, 3)


def test_a_gauge_is_read_back_with_its_unit_and_help() -> None:
    exposition = Exposition()
    exposition.put(GAUGE, 1.5)
    family = parsed(exposition)["shunter_size_bytes"]
    assert (family.unit, family.documentation, family.samples[0].value) == ("bytes", GAUGE.about, 1.5)


def test_a_histogram_has_cumulative_buckets_a_count_and_a_sum() -> None:
    histogram, exposition = Histogram(TIMES.buckets), Exposition()
    histogram.observe(0.05)
    histogram.observe(0.1)  # the bound belongs to the bucket
    histogram.observe(5.0, times=3)
    exposition.put_histogram(TIMES, histogram)
    samples = {
        (each.name, each.labels.get("le")): each.value for each in parsed(exposition)["shunter_wait_seconds"].samples
    }
    assert samples == {
        ("shunter_wait_seconds_bucket", "0.1"): 2,
        ("shunter_wait_seconds_bucket", "1.0"): 2,
        ("shunter_wait_seconds_bucket", "+Inf"): 5,
        ("shunter_wait_seconds_count", None): 5,
        ("shunter_wait_seconds_sum", None): pytest.approx(15.15),
    }


def test_an_info_is_read_back() -> None:
    exposition = Exposition()
    exposition.put(INFO, 1, "m1")
    assert parsed(exposition)["shunter_manager"].samples[0].labels == {"name": "m1"}


def test_labels_beyond_the_limit_are_summed_under_other() -> None:
    assert fold_labels({"a": 1, "b": 2, "c": 3, "d": 4}, limit=2) == {"a": 1, "b": 2, OTHER: 7}
    assert fold_labels({"a": 1, "b": 2}, limit=2) == {"a": 1, "b": 2}


def test_a_counter_never_has_more_labels_than_its_limit_and_other() -> None:
    counter = LabelledCounter(limit=2)
    for label in ("a", "b", "c", "d", "a"):
        counter.add(label)
    assert counter.values == {"a": 2, "b": 1, OTHER: 2}
