"""For each alert, series for which it fires and series for which it is silent, in the notation of promtool.

`a+bxN` begins at a and grows by b, N times; a sample is 30 s apart from the next one.
"""

from dataclasses import dataclass

Series = dict[str, str]
N = 80  # samples: 40 minutes


@dataclass(frozen=True)
class Case:
    fires: Series
    silent: Series


def flat(value: float) -> str:
    return f"{value}x{N}"


def growing(by: float) -> str:
    return f"0+{by}x{N}"


H, L, RUN, C = '{handler="a"}', '{handler="a",elink="3"}', '{instance="a"}', '{instance="a",channel="ch0"}'
R, HOSTED = "thalweg_readout_", "thalweg_host_handler_"
OF_HOST, ENDS = '{instance="a",handler="b"}', '{instance="a",handler="b",why="memory"}'
RUNS = {f"{R}state{H}": flat(2)}
RECORDS = {'thalweg_state{instance="a",state="recording"}': flat(1)}


def grows(metric: str, labels: str = H, by: float = 1) -> Case:
    """Fires if the counter grows at all."""
    return Case({f"{R}{metric}{labels}": growing(by)}, {f"{R}{metric}{labels}": flat(7)})


def above(metric: str, labels: str, too_much: float, fine: float) -> Case:
    return Case({f"{metric}{labels}": flat(too_much)}, {f"{metric}{labels}": flat(fine)})


def share(part: str, whole: str, labels: str, too_much: float, fine: float) -> Case:
    """Fires if the part grows by too much for each 1000 of the whole."""
    one = {f"{whole}{labels}": growing(1000)}
    return Case(one | {f"{part}{labels}": growing(too_much)}, one | {f"{part}{labels}": growing(fine)})


def also(case: Case, more: Series) -> Case:
    return Case(case.fires | more, case.silent | more)


ENABLED = RUNS | {f"{R}link_enabled{L}": flat(1)}
CASES = {
    "ThalwegHandlerDown": above("up", '{job="thalweg-readout"}', 0, 1),
    "ThalwegHandlerHasNoRun": above(f"{R}state", H, 1, 2),
    "ThalwegCardGone": Case({f"{R}cards_gone_total{H}": f"0x65 1x{N}"}, {f"{R}cards_gone_total{H}": flat(1)}),
    "ThalwegNoPackets": also(Case({f"{R}packets_total{L}": flat(9)}, {f"{R}packets_total{L}": growing(1)}), RUNS),
    "ThalwegNoCollector": also(
        Case({f"{R}fragments_cleared_total{H}": flat(5)}, {f"{R}fragments_cleared_total{H}": growing(1)}),
        {f"{R}fragments_kept{H}": flat(100)},
    ),
    "ThalwegIndexFills": above(f"{R}index_fill_ratio", H, 0.9, 0.7),
    "ThalwegReadingStopped": Case(
        {f"{R}busy_seconds_total{H}": growing(3)}, {f"{R}busy_seconds_total{H}": growing(0.1)}
    ),
    "ThalwegFragmentsLost": also(grows("fragments_skipped_total"), {f"{R}fragments_discarded_total{H}": flat(4)}),
    "ThalwegFragmentsEvicted": grows("fragments_evicted_total"),
    "ThalwegLinkSilent": also(above(f"{R}link_live", L, 0, 1), ENABLED),
    "ThalwegStreamLags": share(f"{R}packets_late_total", f"{R}packets_total", L, 5, 0.1),
    "ThalwegEventsIncomplete": share(f"{R}fragments_incomplete_total", f"{R}fragments_complete_total", H, 50, 1),
    "ThalwegBlocksLost": also(grows("lost_blocks_total", L), {f"{R}bad_blocks_total{L}": flat(0)}),
    "ThalwegFrontEndErrors": also(
        share(f"{R}crc_errors_total", f"{R}packets_total", L, 5, 0.1),
        {f"{R}packet_errors_total{L}": flat(0), f"{R}truncated_total{L}": flat(0)},
    ),
    "ThalwegCardMakesNoSense": also(grows("bad_pointers_total"), {f"{R}bad_headers_total{H}": flat(0)}),
    "ThalwegHookFails": grows("hook_failures_total"),
    "ThalwegCollectorSlow": above(f"{R}queued_bytes", H, 9e7, 1e6),
    "ThalwegClientsRefused": Case(
        {f'{R}refusals_total{{handler="a",why="not_allowed"}}': growing(1)},
        {f'{R}refusals_total{{handler="a",why="not_allowed"}}': flat(3),
         f'{R}refusals_total{{handler="a",why="busy"}}': growing(1)},
    ),
    "ThalwegHandlerOutOfDescriptors": grows("accept_failures_total"),
    "ThalwegHostDown": above("up", '{job="thalweg-host"}', 0, 1),
    "ThalwegHostedHandlerNotUp": also(above(f"{HOSTED}up", OF_HOST, 0, 1), {f"{HOSTED}given_up{OF_HOST}": flat(0)}),
    "ThalwegHostedHandlerGivenUp": above(f"{HOSTED}given_up", OF_HOST, 1, 0),
    "ThalwegHostedHandlerFails": Case(
        {f"{HOSTED}failures_total{ENDS}": f"0x65 1x{N}"}, {f"{HOSTED}failures_total{ENDS}": flat(2)}
    ),
    "ThalwegHostedHandlerNotGranted": above(f"{HOSTED}granted", '{instance="a",handler="b",controller="memory"}', 0, 1),
    "ThalwegRecordDown": above("up", '{job="thalweg-record"}', 0, 1),
    "ThalwegRecordFailed": above("thalweg_failed", RUN, 1, 0),
    "ThalwegRecordProblems": Case(
        {f"thalweg_problems_total{RUN}": f"0x65 1x{N}"}, {f"thalweg_problems_total{RUN}": flat(3)}
    ),
    "ThalwegDurableLag": above("thalweg_durable_lag_seconds", RUN, 12, 1.2),
    "ThalwegDiskFillsSoon": Case(
        {f"thalweg_disk_free_bytes{RUN}": f"200000000000-1000000000x{N}"}, {f"thalweg_disk_free_bytes{RUN}": flat(1e10)}
    ),
    "ThalwegDiskNearlyFull": above("thalweg_disk_free_bytes", RUN, 1e9, 1e10),
    "ThalwegDiskUnknown": Case(
        {f"thalweg_disk_free_bytes{RUN}": "NaN " * N}, {f"thalweg_disk_free_bytes{RUN}": flat(1)}
    ),
    "ThalwegNoRecords": also(
        Case({f"thalweg_records_total{C}": flat(8)}, {f"thalweg_records_total{C}": growing(1)}), RECORDS
    ),
    "ThalwegChannelSilent": also(
        Case(
            {f"thalweg_records_total{C}": flat(8), 'thalweg_records_total{instance="a",channel="ch1"}': growing(1)},
            {f"thalweg_records_total{C}": growing(1)},
        ),
        RECORDS,
    ),
    "ThalwegTriggersLost": share("thalweg_lost_triggers_total", "thalweg_triggers_total", C, 5, 0.1),
    "ThalwegDeadTime": share("thalweg_dead_time_seconds_total", "thalweg_live_time_seconds_total", C, 400, 100),
    "ThalwegQueueFull": above("thalweg_queue_fill_ratio", C, 0.95, 0.5),
    "ThalwegOnboardMemoryFills": also(
        above("thalweg_onboard_bytes", C, 90, 50), {f"thalweg_onboard_limit_bytes{C}": flat(100)}
    ),
    "ThalwegPaused": above("thalweg_paused", RUN, 1, 0),
}  # fmt: skip

# What a second condition is for: series of the first alone do not fire.
SILENT_TOO = {
    "ThalwegNoPackets": {f"{R}packets_total{L}": flat(9), f"{R}state{H}": flat(3)},  # paused
    "ThalwegNoCollector": {f"{R}fragments_cleared_total{H}": flat(5), f"{R}fragments_kept{H}": flat(0)},  # no events
    "ThalwegLinkSilent": RUNS | {f"{R}link_live{L}": flat(0), f"{R}link_enabled{L}": flat(0)},  # disabled
    "ThalwegHostedHandlerNotUp": {f"{HOSTED}up{OF_HOST}": flat(0), f"{HOSTED}given_up{OF_HOST}": flat(1)},  # told so
    "ThalwegNoRecords": {f"thalweg_records_total{C}": flat(8)},  # paused
    "ThalwegChannelSilent": {f"thalweg_records_total{C}": flat(8)},
}
