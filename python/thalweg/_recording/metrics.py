"""Serves the live figures of a run over HTTP in the text format of Prometheus."""

import math
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref import simple_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from thalweg._base.address import host_and_port, url_of
from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._recording.counts import GAUGES, Channel
from thalweg._recording.snapshot import STATES, RecordingSnapshot

_PAUSE_S = 0.1
_COUNTERS: dict[str, tuple[str, Callable[[Channel], float]]] = {
    "records": ("Number of records in the run", lambda it: it.rows),
    "raw_bytes": ("Size of all records before compression, in bytes", lambda it: it.raw_bytes),
    "stored_bytes": ("Size of all pages after compression, in bytes", lambda it: it.stored_bytes),
}
_GAUGES: dict[str, tuple[str, Callable[[Channel], float]]] = {
    "queue_fill_ratio": ("Used fraction of the memory of the producer, from 0 to 1", lambda it: it.queue_fill),
}
# What these counters of devices mean. Those that are not here are shown as thalweg_device_NAME.
_OF_DEVICE = {
    "triggers": "Number of triggers that the source has seen",
    "lost_triggers": "Number of triggers that the device has lost",
    "dead_time_ns": "Time in which the device took no triggers, in seconds",
    "live_time_ns": "Time in which the device took triggers, in seconds",
    "onboard_bytes": "Size of the records that wait in the on-board memory, in bytes",
    "onboard_limit_bytes": "Size of the on-board memory, in bytes",
}
_OF_RUN: dict[str, tuple[str, Callable[[RecordingSnapshot], float]]] = {
    "elapsed_seconds": ("Time since the run began, in seconds", lambda it: it.elapsed_s),
    "durable_lag_seconds": (
        "Age of the oldest data that a power cut would lose, in seconds",
        lambda it: it.durable_lag_s,
    ),
    "disk_free_bytes": (
        "Free space on the file system of the file, in bytes; NaN if the file system does not say",
        lambda it: math.nan if it.free_bytes is None else it.free_bytes,
    ),
    "file_number": ("Number of the file that is being written", lambda it: it.file_number),
    "producers": ("Number of running producer processes", lambda it: it.producers),
    "paused": ("1 if the run is paused, otherwise 0", lambda it: it.state == "paused"),
    "failed": ("1 if something has failed: the command says it on stderr, otherwise 0", lambda it: it.failed),
}


class RunCollector(Collector):
    def __init__(self, look: Callable[[], RecordingSnapshot]) -> None:
        self._look = look

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        snapshot = self._look()
        for name, (text, value) in _COUNTERS.items():
            yield _by_channel(CounterMetricFamily(f"thalweg_{name}", text, labels=["channel"]), snapshot, value)
        for name, (text, value) in _GAUGES.items():
            yield _by_channel(GaugeMetricFamily(f"thalweg_{name}", text, labels=["channel"]), snapshot, value)
        for name in dict.fromkeys(name for channel in snapshot.channels.values() for name in channel.counts):
            yield _of_device(name, snapshot)
        for name, (text, of_run) in _OF_RUN.items():
            yield GaugeMetricFamily(f"thalweg_{name}", text, value=float(of_run(snapshot)))
        yield CounterMetricFamily("thalweg_problems", "Number of problems said on stderr", value=snapshot.problems)
        states = GaugeMetricFamily("thalweg_state", "1 for the state of the run, 0 for the others", labels=["state"])
        for state in STATES:
            states.add_metric([state], float(state == snapshot.state))
        yield states


def _of_device(name: str, snapshot: RecordingSnapshot) -> CounterMetricFamily | GaugeMetricFamily:
    """Returns the metric for what devices count under this name. Times are shown in seconds."""
    unit = 1e-9 if name.endswith("_ns") else 1
    shown = f"{name.removesuffix('_ns')}_seconds" if name.endswith("_ns") else name
    text = _OF_DEVICE.get(name, f"What the device counts as {name}" + (", in seconds" if unit != 1 else ""))
    family = GaugeMetricFamily if name in GAUGES else CounterMetricFamily
    metric = family(f"thalweg_{'' if name in _OF_DEVICE else 'device_'}{shown}", text, labels=["channel"])
    for channel, counted in snapshot.channels.items():
        if name in counted.counts:
            metric.add_metric([channel], counted.counts[name] * unit)
    return metric


def _by_channel(family: Any, snapshot: RecordingSnapshot, value: Callable[[Channel], float]) -> Any:
    for name, channel in snapshot.channels.items():
        family.add_metric([name], value(channel))
    return family


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is no error of the run."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(simple_server.WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""


class MetricsServer:
    def __init__(self, address: str, look: Callable[[], RecordingSnapshot]) -> None:
        host, port = host_and_port(address, "--metrics")
        registry = CollectorRegistry()
        registry.register(RunCollector(look))
        try:
            kind = _Server6 if ":" in host else _Server
            self._server = simple_server.make_server(host, port, make_wsgi_app(registry), kind, _Handler)
        except OSError as error:
            raise SystemError(error.errno, f"cannot serve metrics on {address} ({error.strerror})") from None
        self.url = f"{url_of(host, self._server.server_port)}/metrics"
        self.problem = ""  # that serving had last
        self._ends = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._ends:
            try:
                self._server.serve_forever()
            except Exception as error:  # whatever it is: the run goes on, and so do its metrics
                self.problem = f"{self.url} was not served for a moment ({error}): it is served again"
                time.sleep(_PAUSE_S)

    def close(self) -> None:
        self._ends = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
