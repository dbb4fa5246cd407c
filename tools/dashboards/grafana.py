"""The JSON of Grafana's dashboards (schema version 39: Grafana 10 and later)."""

import re
from collections.abc import Iterator
from typing import Any

from dashboards.metrics import Metric
from dashboards.panels import OF_HANDLER, OF_RUN, RATE, ROWS, Panel

NAME = re.compile(r"\bthalweg_\w+")
_HISTOGRAM = re.compile(r"_(bucket|count|sum)$")
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_TITLES = {"readout": "Thalweg readout", "host": "Thalweg hosts", "record": "Thalweg record"}
_SELECTED = {
    "readout": ("handler", "thalweg_readout_state"),
    "host": ("handler", "thalweg_host_handler_up"),
    "record": ("instance", "thalweg_state"),
}
_WIDTH, _HEIGHT, _IN_A_ROW = 6, 7, 4


def metrics_in(query: str, known: dict[str, Metric]) -> list[Metric]:
    """Returns the metrics that a query names. Raises ValueError for a name that the table does not have."""
    found = []
    for name in NAME.findall(query):
        metric = known.get(name) or known.get(_HISTOGRAM.sub("", name))
        if metric is None:
            raise ValueError(f"{query}: there is no metric {name} (the table of metrics has others): see metrics.json")
        found.append(metric)
    return found


def dashboard(program: str, metrics: list[Metric]) -> dict[str, Any]:
    """Returns the dashboard of a program: the rows of panels.py, and a closed row with what they leave out."""
    known = {metric.name: metric for metric in metrics}
    rows = dict(ROWS[program])
    shown = {metric.name for panels in rows.values() for panel in panels for metric in _metrics_of(panel, known)}
    rows["All other metrics"] = [_plain(program, metric) for metric in metrics if metric.name not in shown]
    return {
        "uid": f"thalweg-{program}",
        "title": _TITLES[program],
        "tags": ["thalweg"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables(program)},
        "panels": list(_laid_out(rows, known)),
    }


def _metrics_of(panel: Panel, known: dict[str, Metric]) -> Iterator[Metric]:
    for query in panel.queries.values():
        yield from metrics_in(query, known)


def _plain(program: str, metric: Metric) -> Panel:
    selector = OF_RUN if program == "record" else OF_HANDLER
    own = _SELECTED[program][0]
    labels = list(dict.fromkeys([own, *(label for label in metric.labels if label not in ("elink", "handler"))]))
    legend = " ".join(f"{{{{{label}}}}}" for label in labels)
    by = ", ".join(labels)
    if metric.kind == "counter":
        query = f"sum by ({by}) (rate({metric.name}{{{selector}}}[{RATE}]))"
    else:
        query = f"max by ({by}) ({metric.name}{{{selector}}})"
    return Panel(metric.name, {legend: query}, _unit(metric))


def _unit(metric: Metric) -> str:
    name = metric.name.removesuffix("_total")
    if metric.kind == "counter":
        return "Bps" if name.endswith("_bytes") else "percentunit" if name.endswith("_seconds") else "ops"
    return "bytes" if name.endswith("_bytes") else "s" if name.endswith("_seconds") else "short"


def _variables(program: str) -> list[dict[str, Any]]:
    label, metric = _SELECTED[program]
    return [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
        {
            "name": label,
            "type": "query",
            "label": label.capitalize(),
            "datasource": _DATASOURCE,
            "query": {"query": f"label_values({metric}, {label})", "refId": "labels"},
            "refresh": 2,
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        },
    ]


def _laid_out(rows: dict[str, list[Panel]], known: dict[str, Metric]) -> Iterator[dict[str, Any]]:
    number, top = 1, 0
    for title, panels in rows.items():
        is_closed = title == list(rows)[-1]
        row = {"id": number, "type": "row", "title": title, "collapsed": is_closed, "panels": []}
        row["gridPos"] = {"x": 0, "y": top, "w": 24, "h": 1}
        number, top = number + 1, top + 1
        made = []
        for place, panel in enumerate(panels):
            down, right = divmod(place, _IN_A_ROW)
            at = {"x": right * _WIDTH, "y": top + down * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
            made.append({"id": number, **_panel(panel, known), "gridPos": at})
            number += 1
        top += -(-len(panels) // _IN_A_ROW) * _HEIGHT
        if is_closed:
            yield row | {"panels": made}
        else:
            yield row
            yield from made


def _panel(panel: Panel, known: dict[str, Metric]) -> dict[str, Any]:
    helps = dict.fromkeys(f"{metric.name}: {metric.help}." for metric in _metrics_of(panel, known))
    targets = [
        {"refId": chr(ord("A") + place), "expr": query, "legendFormat": legend, "datasource": _DATASOURCE}
        for place, (legend, query) in enumerate(panel.queries.items())
    ]
    defaults: dict[str, Any] = {"unit": panel.unit, "mappings": []}
    if panel.unit == "percentunit":
        defaults |= {"min": 0}
    if panel.mappings:
        options = {value: {"text": text, "index": place} for place, (value, text) in enumerate(panel.mappings.items())}
        defaults["mappings"] = [{"type": "value", "options": options}]
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": "\n\n".join([*([panel.help] if panel.help else []), *helps]),
        "datasource": _DATASOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"textMode": "value_and_name"} if panel.kind == "stat" else {},
    }
