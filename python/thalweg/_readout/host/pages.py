"""The pages of a host: the metrics of all its handlers and its own, its health, and control that is passed on."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from thalweg._readout.host.exposition import families_of, joined
from thalweg._readout.host.handler import HostedHandler

_HANGS_AFTER_S = 10.0
_VERB = re.compile(r"[a-z]{1,32}")
_GAUGES: dict[str, tuple[str, Callable[[HostedHandler], float]]] = {
    "up": ("1 if the handler runs and has answered lately; else what is shown of it is old", lambda it: it.is_up),
    "age_seconds": (
        "Age of what is shown of the handler; NaN if it has not answered since its start",
        lambda it: it.seen.age_s() if it.seen.is_there else math.nan,
    ),
    "given_up": ("1 if the handler failed too often and is not started again", lambda it: it.is_given_up),
}


class HostCollector(Collector):
    """What the supervisor itself knows of its handlers."""

    def __init__(self, handlers: Sequence[HostedHandler]) -> None:
        self._handlers = handlers

    def collect(self) -> Sequence[GaugeMetricFamily | CounterMetricFamily]:
        return [*self._gauges(), self._starts(), self._failures(), self._granted()]

    def _gauges(self) -> list[GaugeMetricFamily]:
        made = []
        for name, (text, value) in _GAUGES.items():
            family = GaugeMetricFamily(f"thalweg_host_handler_{name}", text, labels=["handler"])
            for handler in self._handlers:
                family.add_metric([handler.name], float(value(handler)))
            made.append(family)
        return made

    def _starts(self) -> CounterMetricFamily:
        text = "How often a process of the handler was started"
        family = CounterMetricFamily("thalweg_host_handler_starts", text, labels=["handler"])
        for handler in self._handlers:
            family.add_metric([handler.name], handler.starts)
        return family

    def _failures(self) -> CounterMetricFamily:
        text = "How often a process of the handler has ended without being asked to"
        family = CounterMetricFamily("thalweg_host_handler_failures", text, labels=["handler", "why"])
        for handler in self._handlers:
            for why, count in handler.failures.items():
                family.add_metric([handler.name, why], count)
        return family

    def _granted(self) -> GaugeMetricFamily:
        text = "1 if the handler has its own control group of this controller, 0 if it was refused"
        family = GaugeMetricFamily("thalweg_host_handler_granted", text, labels=["handler", "controller"])
        for handler in self._handlers:
            for controller in handler.group.granted:
                family.add_metric([handler.name, controller], 1)
            for controller in handler.group.refused:
                family.add_metric([handler.name, controller], 0)
        return family


class Pages:
    """Makes each page from what is known, and waits for no handler. The main loop says with `beat` that it goes on."""

    def __init__(self, handlers: Sequence[HostedHandler]) -> None:
        self._handlers = {handler.name: handler for handler in handlers}
        self._registry = CollectorRegistry()
        self._registry.register(HostCollector(handlers))
        self._beat_s = time.monotonic()

    def beat(self) -> None:
        self._beat_s = time.monotonic()

    def get(self, path: str) -> tuple[int, str]:
        if path == "/metrics":
            return 200, self.metrics()
        if path == "/healthz":
            return _health(self._unhealthy())
        if path == "/readyz":
            return _health(self._not_ready())
        return 404, f"there is no {path}; there is /metrics, /healthz, /readyz, and POST /control/HANDLER/VERB\n"

    def control(self, path: str, body: bytes) -> tuple[int, str]:
        """Answers POST /control/HANDLER/VERB."""
        name, _, verb = path.removeprefix("/control/").rpartition("/")
        handler = self._handlers.get(unquote(name))
        if handler is None:
            return 404, f"there is no such handler here: POST /control/HANDLER/VERB, of {', '.join(self._handlers)}\n"
        if not _VERB.fullmatch(verb):
            return 404, "a verb is a word of a to z, such as /control/dh0/start\n"
        return handler.control(verb, body)

    def metrics(self) -> str:
        """Returns the host's own metrics and those of its handlers. What a process that has ended said is left out."""
        own = generate_latest(self._registry).decode()
        return joined([families_of(own), *(handler.seen.page for handler in self._handlers.values())])

    def _unhealthy(self) -> str:
        silent_s = time.monotonic() - self._beat_s
        return f"the main loop hangs since {silent_s:.0f} s" if silent_s > _HANGS_AFTER_S else ""

    def _not_ready(self) -> str:
        whys = {name: handler.not_ready() for name, handler in self._handlers.items()}
        return "\n".join(f"{name}: {why}" for name, why in whys.items() if why)


def _health(trouble: str) -> tuple[int, str]:
    return (503, f"{trouble}\n") if trouble else (200, "ok\n")
