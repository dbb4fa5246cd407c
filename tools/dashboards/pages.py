"""The rules for Prometheus, and the page of docs that explains metrics and alerts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dashboards.alerts import ALERTS, Alert
from dashboards.grafana import metrics_in
from dashboards.metrics import Metric

Table = dict[str, list[Metric]]
_TITLES = {"readout": "the readout", "host": "`thalweg readout host`", "record": "`thalweg record`"}


def rules(table: Table) -> dict[str, Any]:
    """Returns the rule file for Prometheus. Raises ValueError for a metric that the table does not have."""
    groups = []
    for program, alerts in ALERTS.items():
        known = {metric.name: metric for metric in table[program]}
        for alert in alerts:
            metrics_in(alert.expression, known)
        groups.append({"name": f"thalweg-{program}", "rules": [_rule(alert) for alert in alerts]})
    return {"groups": groups}


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.wait,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.says, "description": f"{alert.means} {alert.do}"},
    }


def section(table: Table) -> str:
    """Returns what stands between the marks of docs/monitoring.md."""
    return "\n".join(_lines(table))


def _lines(table: Table) -> Iterator[str]:
    for program, title in _TITLES.items():
        yield f"### Alerts of {title}\n"
        yield "| alert | fires if | it means | do |"
        yield "|---|---|---|---|"
        for alert in ALERTS[program]:
            fires = f"`{alert.expression}`".replace("|", "\\|")
            wait = "" if alert.wait == "0m" else f" for {alert.wait}"
            yield f"| `{alert.name}` ({alert.severity}) | {fires}{wait} | {alert.means} | {alert.do} |"
        yield f"\n### Metrics of {title}\n"
        yield "| metric | kind | labels | |"
        yield "|---|---|---|---|"
        for metric in table[program]:
            labels = ", ".join(f"`{label}`" for label in metric.labels)
            yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"
        yield ""


def between_marks(path: Path, text: str) -> str:
    begin, end = "<!-- made by tools/dashboards -->\n", "<!-- end -->"
    before, _, rest = path.read_text().partition(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
