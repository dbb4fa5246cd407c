"""What the page shows, as metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from thalweg._watching.alarms import KINDS
from thalweg._watching.watcher import Watcher

Family = CounterMetricFamily | GaugeMetricFamily


class WatchCollector(Collector):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def collect(self) -> Iterator[Family]:
        status = self._watcher.status()
        rows = CounterMetricFamily("thalweg_watch_rows", "Number of rows that were read", labels=["table"])
        rates = GaugeMetricFamily("thalweg_watch_rate", "Rows a second, over the last ten seconds", labels=["table"])
        rejected = CounterMetricFamily(
            "thalweg_watch_rejected", "Number of pulses left out by their flags", labels=["table"]
        )
        for table in status["tables"]:
            rows.add_metric([table["name"]], table["rows"])
            rejected.add_metric([table["name"]], table["rejected"])
            if table["rate"] is not None:
                rates.add_metric([table["name"]], table["rate"])
        yield rows
        yield rates
        yield rejected
        if status["coincidences"] is not None:
            yield CounterMetricFamily(
                "thalweg_watch_coincidences", "Number of coincidences", value=status["coincidences"]
            )
        if (computed := status["computed_pulses"]) is not None:
            text = "Number of pulses whose features were computed from samples"
            yield CounterMetricFamily("thalweg_watch_computed_pulses", text, value=computed)
            share = "Part of the time slices in which features are computed, at present"
            yield GaugeMetricFamily("thalweg_watch_computed_ratio", share, value=1 / status["slices"][-1][1])
        yield from self._writing(status)
        yield GaugeMetricFamily(
            "thalweg_watch_data_age_seconds", "Time since the last new row, in seconds", value=status["data_age_s"]
        )
        yield GaugeMetricFamily("thalweg_watch_viewers", "Number of open pages", value=self._watcher.viewers)
        alarms = GaugeMetricFamily(
            "thalweg_watch_alarms", "Number of alarms of a kind, by table", labels=["kind", "table"]
        )
        present = [(each.kind, each.table) for each in self._watcher.log.present]
        for kind in KINDS:
            for table in sorted({table for found, table in present if found == kind}) or [""]:
                alarms.add_metric([kind, table], present.count((kind, table)))
        yield alarms
        yield from self._fit(status)

    def _writing(self, status: dict[str, Any]) -> Iterator[Family]:
        lag = self._watcher.writing.durable_lag_s
        if lag is not None:
            text = "Age of the oldest data that a power cut would lose, in seconds"
            yield GaugeMetricFamily("thalweg_watch_durable_lag_seconds", text, value=lag)
        dead = GaugeMetricFamily(
            "thalweg_watch_dead_time_ratio", "Part of the time in which the device took no triggers", labels=["table"]
        )
        lost = CounterMetricFamily(
            "thalweg_watch_lost_triggers", "Number of triggers that the device has lost", labels=["table"]
        )
        for table in status["tables"]:
            if table["dead_time"] is not None:
                dead.add_metric([table["name"]], table["dead_time"])
            if table["lost"] is not None:
                lost.add_metric([table["name"]], table["lost"])
        yield dead
        yield lost

    def _fit(self, status: dict[str, Any]) -> Iterator[Family]:
        fit = self._watcher.fit
        if fit is None or (age := status["fit_age_s"]) is None:
            return
        values = GaugeMetricFamily("thalweg_watch_fit", "Fitted value", labels=["fit", "parameter"])
        errors = GaugeMetricFamily("thalweg_watch_fit_error", "Error of a fitted value", labels=["fit", "parameter"])
        for each in fit.found.get("fits", []):
            for parameter, (value, error) in each["values"].items():
                values.add_metric([each["name"], parameter], value)
                errors.add_metric([each["name"], parameter], error)
        yield values
        yield errors
        yield GaugeMetricFamily("thalweg_watch_fit_age_seconds", "Age of the newest fit, in seconds", value=age)
