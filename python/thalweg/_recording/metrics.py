"""The live numbers in Prometheus' text form, over HTTP."""

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from thalweg._errors import SystemError, UsageError  # noqa: A004
from thalweg._recording.counts import Channel
from thalweg._recording.snapshot import Snapshot

_COUNTERS: dict[str, tuple[str, Callable[[Channel], float]]] = {
    "records": ("Records in the run", lambda it: it.rows),
    "raw_bytes": ("Bytes of these records", lambda it: it.raw_bytes),
    "stored_bytes": ("Bytes of their pages as they are stored", lambda it: it.stored_bytes),
    "triggers": ("Triggers seen by the source", lambda it: it.triggers),
    "lost_triggers": ("Triggers that found the on-board memory full", lambda it: it.lost_triggers),
    "dead_time_seconds": ("Time during which the on-board memory was full", lambda it: it.dead_time_ns * 1e-9),
    "live_time_seconds": ("Time during which it was not", lambda it: it.live_time_ns * 1e-9),
}
_GAUGES: dict[str, tuple[str, Callable[[Channel], float]]] = {
    "onboard_bytes": ("Records that wait on board", lambda it: it.onboard_bytes),
    "queue_fill_ratio": ("Of the memory of the producer", lambda it: it.queue_fill),
}
_OF_RUN: dict[str, tuple[str, Callable[[Snapshot], float]]] = {
    "elapsed_seconds": ("Since the run began", lambda it: it.elapsed_s),
    "durable_lag_seconds": ("What a power cut would cost", lambda it: it.durable_lag_s),
    "disk_free_bytes": ("Where the file is", lambda it: it.free_bytes),
    "file_number": ("Of the file that is written now", lambda it: it.file_number),
    "producers": ("Producer processes that run", lambda it: it.producers),
    "paused": ("1 while the run is paused", lambda it: it.state == "paused"),
}


class RunCollector(Collector):
    def __init__(self, look: Callable[[], Snapshot]) -> None:
        self._look = look

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        snapshot = self._look()
        for name, (text, value) in _COUNTERS.items():
            yield _by_channel(CounterMetricFamily(f"thalweg_{name}", text, labels=["channel"]), snapshot, value)
        for name, (text, value) in _GAUGES.items():
            yield _by_channel(GaugeMetricFamily(f"thalweg_{name}", text, labels=["channel"]), snapshot, value)
        for name, (text, of_run) in _OF_RUN.items():
            yield GaugeMetricFamily(f"thalweg_{name}", text, value=float(of_run(snapshot)))


def _by_channel(family: Any, snapshot: Snapshot, value: Callable[[Channel], float]) -> Any:
    for name, channel in snapshot.channels.items():
        family.add_metric([name], value(channel))
    return family


class MetricsServer:
    def __init__(self, address: str, look: Callable[[], Snapshot]) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise UsageError(f"--metrics {address} is no address; say 7790, 0.0.0.0:7790 or [::]:7790")
        is_bracketed = host.startswith("[") and host.endswith("]")
        if ":" in host and not is_bracketed:
            raise UsageError(f"--metrics {address} is no address (an IPv6 address has brackets); say [{host}]:{port}")
        host = host.strip("[]")
        registry = CollectorRegistry()
        registry.register(RunCollector(look))
        try:
            self._server, self._thread = start_http_server(int(port), host or "127.0.0.1", registry)
        except OSError as error:
            raise SystemError(error.errno, f"cannot serve metrics on {address} ({error.strerror})") from None
        shown = f"[{host}]" if is_bracketed else host or "127.0.0.1"
        self.url = f"http://{shown}:{self._server.server_port}/metrics"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
