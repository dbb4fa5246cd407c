"""The panels that a user looks at first. All other metrics follow in a row of their own, one panel each."""

from dataclasses import dataclass, field

RATE = "$__rate_interval"


@dataclass(frozen=True)
class Panel:
    title: str
    queries: dict[str, str]  # legend -> query
    unit: str = "short"
    kind: str = "timeseries"
    help: str = ""  # beside the help of the metrics
    mappings: dict[str, str] = field(default_factory=dict)


def _rate(metric: str, by: str = "handler") -> str:
    return f"sum by ({by}) (rate({metric}{{{OF_HANDLER}}}[{RATE}]))"


OF_HANDLER = 'handler=~"$handler"'
OF_RUN = 'instance=~"$instance"'
R = "thalweg_readout_"
STATES = {"0": "initial", "1": "configured", "2": "running", "3": "paused", "4": "stopped"}


def _of_run(metric: str, by: str = "channel") -> str:
    return f"sum by ({by}) (rate(thalweg_{metric}{{{OF_RUN}}}[{RATE}]))"


READOUT = {
    "State": [
        Panel("Handlers", {"{{handler}}": f"{R}state{{{OF_HANDLER}}}"}, kind="stat", mappings=STATES),
        Panel("Run", {"{{handler}}": f"{R}run{{{OF_HANDLER}}}"}, kind="stat"),
        Panel("Connected clients", {"{{handler}}": f"{R}connections{{{OF_HANDLER}}}"}, kind="stat"),
        Panel(
            "Silent links", {"{{handler}}": f"count by (handler) ({R}link_live{{{OF_HANDLER}}} == 0) or "
                             f"0 * count by (handler) ({R}link_live{{{OF_HANDLER}}})"}, kind="stat",
        ),
    ],
    "Data": [
        Panel("Packets", {"{{handler}}": _rate(f"{R}packets_total")}, "pps"),
        Panel("Payload", {"{{handler}}": _rate(f"{R}payload_bytes_total")}, "Bps"),
        Panel("Fragments", {
            "{{handler}} complete": _rate(f"{R}fragments_complete_total"),
            "{{handler}} incomplete": _rate(f"{R}fragments_incomplete_total"),
        }, "ops"),
        Panel("Sent to clients", {"{{handler}}": _rate(f"{R}sent_bytes_total")}, "Bps"),
    ],
    "Do collectors keep up?": [
        Panel("Index", {"{{handler}} {{source_id}}": f"{R}index_fill_ratio{{{OF_HANDLER}}}"}, "percentunit"),
        Panel("Reading stopped", {"{{handler}}": _rate(f"{R}busy_seconds_total")}, "percentunit"),
        Panel("What became of fragments", {
            "{{handler}} cleared": _rate(f"{R}fragments_cleared_total"),
            "{{handler}} evicted": _rate(f"{R}fragments_evicted_total"),
            "{{handler}} skipped": _rate(f"{R}fragments_skipped_total"),
            "{{handler}} discarded": _rate(f"{R}fragments_discarded_total"),
        }, "ops"),
        Panel("Time to an answer", {
            f"{{{{handler}}}} {share}": f"histogram_quantile({number}, "
            + _rate(f"{R}request_seconds_bucket", "handler, le") + ")"
            for share, number in (("median", "0.5"), ("99 %", "0.99"))
        }, "s"),
    ],
    "What is missing, and why": [
        Panel("Packets that went into no fragment", {
            f"{{{{handler}}}} {what}": _rate(f"{R}packets_{what}_total")
            for what in ("late", "duplicate", "out_of_window", "orphaned")
        }, "pps"),
        Panel("Lost or damaged blocks", {
            f"{{{{handler}}}} {what}": _rate(f"{R}{what}_blocks_total") for what in ("lost", "bad")
        }, "ops"),
        Panel("Errors of the front-end", {
            f"{{{{handler}}}} {what}": _rate(f"{R}{what}_total")
            for what in ("crc_errors", "packet_errors", "truncated", "busy")
        }, "pps"),
        Panel("Processors", {
            "{{handler}} build": _rate(f"{R}build_cpu_seconds_total"),
            "{{handler}} serve": _rate(f"{R}serve_cpu_seconds_total"),
        }, "short", help="In cores."),
    ],
}  # fmt: skip

H = "thalweg_host_handler_"
HOST = {
    "State": [
        Panel("Up", {"{{handler}}": f"{H}up{{{OF_HANDLER}}}"}, kind="stat", mappings={"0": "no", "1": "yes"}),
        Panel("Given up", {"{{handler}}": f"{H}given_up{{{OF_HANDLER}}}"}, kind="stat",
              mappings={"0": "no", "1": "yes"}),
        Panel("Control groups", {"{{handler}} {{controller}}": f"{H}granted{{{OF_HANDLER}}}"}, kind="stat",
              mappings={"0": "refused", "1": "its own"}),
        Panel("Age of what is shown", {"{{handler}}": f"{H}age_seconds{{{OF_HANDLER}}}"}, "s"),
    ],
    "Processes that ended": [
        Panel("Ends by themselves in an hour", {
            "{{handler}} {{why}}": f"sum by (handler, why) (increase({H}failures_total{{{OF_HANDLER}}}[1h]))"
        }),
        Panel("Starts in an hour", {
            "{{handler}}": f"sum by (handler) (increase({H}starts_total{{{OF_HANDLER}}}[1h]))"
        }),
    ],
}  # fmt: skip

RECORD = {
    "State": [
        Panel("State", {"{{state}}": f"thalweg_state{{{OF_RUN}}} == 1"}, kind="stat"),
        Panel("Failed", {"{{instance}}": f"thalweg_failed{{{OF_RUN}}}"}, kind="stat"),
        Panel("Durable lag", {"{{instance}}": f"thalweg_durable_lag_seconds{{{OF_RUN}}}"}, "s"),
        Panel("Free space", {"{{instance}}": f"thalweg_disk_free_bytes{{{OF_RUN}}}"}, "bytes"),
    ],
    "Data": [
        Panel("Records", {"{{channel}}": _of_run("records_total")}, "ops"),
        Panel("Data before compression", {"{{channel}}": _of_run("raw_bytes_total")}, "Bps"),
        Panel("Data on disk", {"{{channel}}": _of_run("stored_bytes_total")}, "Bps"),
        Panel("Memory of the producers", {"{{channel}}": f"thalweg_queue_fill_ratio{{{OF_RUN}}}"}, "percentunit"),
    ],
    "The device": [
        Panel("Lost triggers", {"{{channel}}": _of_run("lost_triggers_total")}, "ops"),
        Panel("Dead time", {
            "{{channel}}": f"{_of_run('dead_time_seconds_total')} / ({_of_run('dead_time_seconds_total')} + "
            f"{_of_run('live_time_seconds_total')})"
        }, "percentunit"),
        Panel("Memory on board", {
            "{{channel}}": f"thalweg_onboard_bytes{{{OF_RUN}}} / thalweg_onboard_limit_bytes{{{OF_RUN}}}"
        }, "percentunit"),
        Panel("Problems", {"{{instance}}": f"thalweg_problems_total{{{OF_RUN}}}"}),
    ],
}  # fmt: skip

ROWS = {"readout": READOUT, "host": HOST, "record": RECORD}
