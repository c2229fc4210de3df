"""Writes deploy/prometheus/shunter-alerts.yml: the alert rules for Prometheus. Called by `make docs`; a test compares.

One variable scales every `for:` and every window, so that tests need a sixtieth of the time:

    python scripts/generate_alerts.py --scale 0.0167 --output alerts.yml
    python scripts/generate_alerts.py --runbooks https://wiki.example/shunter/runbooks --output alerts.yml
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULES = ROOT / "deploy" / "prometheus" / "shunter-alerts.yml"
RUNBOOKS = "docs/operations/runbooks"
HEADER = """\
# Alert rules for Shunter, written by scripts/generate_alerts.py: change them there, then run `make docs`.
# Each alert has a runbook. `--scale` scales all times, `--runbooks` changes where the links point to.
groups:
  - name: shunter
    rules:
"""
WARNING, CRITICAL, NONE = "warning", "critical", "none"


@dataclass(frozen=True, slots=True)
class Alert:
    """`expr` has windows as <SECONDS> and lengths of time as #SECONDS#, which are scaled like `for_s`."""

    name: str
    expr: str
    for_s: float
    severity: str
    summary: str

    @property
    def runbook(self) -> str:
        """ShunterLeaderLost: leader-lost.md"""
        return "-".join(re.findall(r"[A-Z][a-z]*", self.name.removeprefix("Shunter"))).lower() + ".md"


ALERTS = (
    Alert(
        "ShunterWatchdog", "vector(1)", 0, NONE,
        "Always fires. If it does not arrive, alerts of Prometheus do not reach you.",
    ),
    Alert(
        "ShunterManagerDown", 'up{job="shunter"} == 0', 120, CRITICAL,
        "The manager {{ $labels.instance }} cannot be scraped.",
    ),
    Alert(
        "ShunterLeaderLost", "absent(shunter_manager_leading == 1)", 60, CRITICAL,
        "No manager leads: nothing is accepted or placed.",
    ),
    Alert(
        "ShunterCommitsSlow",
        "histogram_quantile(0.99, sum by (instance, le) (rate(shunter_commit_duration_seconds_bucket[<300>]))) > 1",
        120, WARNING, "1 % of the commits of {{ $labels.instance }} take more than {{ $value | humanizeDuration }}.",
    ),
    Alert(
        "ShunterCommitsFailing", "increase(shunter_commit_failures_total[<300>]) > 0", 0, CRITICAL,
        "{{ $labels.instance }} cannot commit to its store.",
    ),
    Alert(
        "ShunterQueueStuck",
        '(sum by (queue) (shunter_queue_tasks{state="queued"}) > 0'
        " unless sum by (queue) (increase(shunter_queue_tasks_placed_total[<900>])) > 0)"
        " unless sum by (queue) (shunter_queue_paused) > 0",
        900, WARNING, "No task of the queue {{ $labels.queue }} was placed, and {{ $value }} are queued.",
    ),
    Alert(
        "ShunterQuotaExhausted",
        "shunter_tenant_quota_used >= shunter_tenant_quota_limit and shunter_tenant_quota_limit > 0",
        900, WARNING, "The tenant {{ $labels.tenant }} has used up its quota {{ $labels.quota }}.",
    ),
    Alert(
        "ShunterNodeFlapping", "changes(shunter_node_up[<900>]) > 2", 0, WARNING,
        "The node {{ $labels.node }} loses its manager again and again.",
    ),
    Alert(
        "ShunterNodeDown", "shunter_node_up == 0", 300, WARNING, "The node {{ $labels.node }} sends no heartbeats.",
    ),
    Alert(
        "ShunterDiskNearlyFull",
        "shunter_disk_free_bytes / shunter_disk_size_bytes < 0.1"
        " or shunter_node_disk_free_bytes / shunter_node_disk_size_bytes < 0.1",
        300, CRITICAL, "{{ $value | humanizePercentage }} of the disk are free.",
    ),
    Alert(
        "ShunterCertificateExpiring",
        "(shunter_certificate_expiry_timestamp_seconds > 0) - time() < #1209600#", 300, WARNING,
        "The certificate of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}.",
    ),
    Alert(
        "ShunterEventLoopStalled", "increase(shunter_event_loop_stalls_total[<300>]) > 1", 0, WARNING,
        "{{ $labels.instance }} did not answer for half a second, several times.",
    ),
    Alert(
        "ShunterSnapshotFailing", 'increase(shunter_snapshots_total{result="failed"}[<3600>]) > 0', 0, WARNING,
        "{{ $labels.instance }} cannot save a snapshot; its next start takes longer.",
    ),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runbooks", default=RUNBOOKS)
    parser.add_argument("--output", type=Path, default=RULES)
    given = parser.parse_args()
    given.output.write_text(alert_rules(given.scale, given.runbooks), encoding="utf-8")


def alert_rules(scale: float = 1.0, runbooks: str = RUNBOOKS) -> str:
    return HEADER + "".join(_rule(alert, scale, runbooks) for alert in ALERTS)


def _rule(alert: Alert, scale: float, runbooks: str) -> str:
    expr = re.sub(r"<(\d+)>", lambda found: _duration(float(found[1]) * scale), alert.expr)
    expr = re.sub(r"#(\d+)#", lambda found: f"{float(found[1]) * scale:.0f}", expr)
    return f"""\
      - alert: {alert.name}
        expr: {_quoted(expr)}
        for: {_duration(alert.for_s * scale)}
        labels:
          severity: {alert.severity}
        annotations:
          summary: {_quoted(alert.summary)}
          runbook_url: {runbooks}/{alert.runbook}
"""


def _duration(seconds: float) -> str:
    """As Prometheus writes durations. No fractions."""
    whole = round(seconds * 1000)
    return f"{whole // 1000}s" if whole % 1000 == 0 else f"{whole}ms"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main()
