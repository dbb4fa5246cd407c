"""The alerts: when each fires, what it means, and what to do. Names of metrics are checked against the table."""

from dataclasses import dataclass

CRITICAL, WARNING = "critical", "warning"


@dataclass(frozen=True)
class Alert:
    name: str
    value: str  # a query that always has an answer while the program runs
    bound: str  # what the value must not be, such as "> 0.8"
    wait: str  # for how long before it fires
    severity: str
    says: str  # the summary of a notification; may have labels
    means: str
    do: str
    while_: str = ""  # a second query and its bound, which must hold, too; joined by the labels `joined`
    joined: str = "handler"

    @property
    def expression(self) -> str:
        if not self.while_:
            return f"{self.value} {self.bound}"
        return f"{self.value} {self.bound} and on ({self.joined}) {self.while_}"

    @property
    def queries(self) -> list[str]:
        """The queries that must have an answer whether the alert fires or not."""
        return [self.value, *([self.while_.rsplit(" ", 2)[0]] if self.while_ else [])]


def _sum(metric: str, window: str, what: str = "increase") -> str:
    return f"sum by (handler) ({what}(thalweg_readout_{metric}[{window}]))"


RUNNING = "thalweg_readout_state == 2"

READOUT = [
    Alert(
        "ThalwegHandlerDown", 'up{job="thalweg-readout"}', "== 0", "1m", CRITICAL,
        "the handler at {{ $labels.instance }} does not answer",
        "Prometheus cannot read /metrics of this handler: its process has ended, or the network or `allow` is in the "
        "way. Its card waits as soon as its buffer is full.",
        "Look at the journal of the handler. systemd and Kubernetes start it again, unless the exit code was 2 (the "
        "configuration is wrong: the last line says where).",
    ),
    Alert(
        "ThalwegHandlerHasNoRun", "thalweg_readout_state", "!= 2", "5m", WARNING,
        "handler {{ $labels.handler }} is in state {{ $value }}, not 2 (running)",
        "The handler is there and reads nothing: it waits for its card or for POST /control/start, it is paused, or "
        "its run is over.",
        "`GET /readyz` says which of these. Start the card, or send `start` or `resume`.",
    ),
    Alert(
        "ThalwegCardGone", _sum("cards_gone_total", "5m"), "> 0", "0m", CRITICAL,
        "the card of handler {{ $labels.handler }} is gone",
        "The heartbeat of the card stopped for a second or longer. The handler has built what the card had written, "
        "and waits for a new card.",
        "Look at the program of the card and at its host. After it is back, events are in the next epoch; if several "
        "cards serve one readout, begin a new run.",
    ),
    Alert(
        "ThalwegNoPackets", _sum("packets_total", "2m", "rate"), "== 0", "2m", CRITICAL,
        "no packets come to handler {{ $labels.handler }}",
        "The handler runs and no packet came for two minutes: there are no triggers, the card is gone, or the handler "
        "reads nothing because its index is full.",
        "If ThalwegNoCollector or ThalwegReadingStopped fires, too, begin there. Otherwise `GET /readyz` says whether "
        "the card lives.",
        RUNNING,
    ),
    Alert(
        "ThalwegNoCollector", _sum("fragments_cleared_total", "2m", "rate"), "== 0", "1m", CRITICAL,
        "no collector takes the events of handler {{ $labels.handler }}",
        "Fragments wait, and no collector has said for two minutes that events are durable: no collector is there, it "
        "hangs, or its disk is full.",
        "Start a collector, or look at the ones that run: their lines of progress say for what they wait. Nothing is "
        "lost while `when_full` is `busy`; the card waits when its buffer is full.",
        "sum by (handler) (thalweg_readout_fragments_kept) > 0",
    ),
    Alert(
        "ThalwegIndexFills", "max by (handler) (thalweg_readout_index_fill_ratio)", "> 0.8", "1m", WARNING,
        "the index of handler {{ $labels.handler }} is {{ $value | humanizePercentage }} full",
        "Collectors take events more slowly than the card sends them, or hold them for long before they are durable.",
        "Start another collector, or look for the slow one: its disk, its network, its processors.",
    ),
    Alert(
        "ThalwegReadingStopped", _sum("busy_seconds_total", "2m", "rate"), "> 0.01", "1m", CRITICAL,
        "handler {{ $labels.handler }} does not read for {{ $value | humanizePercentage }} of the time",
        "The index is full, and `when_full` is `busy`: the handler does not read, and the card has to wait, which is "
        "dead time of the experiment.",
        "As for ThalwegIndexFills. A deeper index (`index.events`) only helps for short delays.",
    ),
    Alert(
        "ThalwegFragmentsLost",
        f"{_sum('fragments_skipped_total', '10m')} + {_sum('fragments_discarded_total', '10m')}", "> 0", "0m", CRITICAL,
        "handler {{ $labels.handler }} has lost {{ $value }} fragments",
        "No collector asked for these fragments in time (skipped), or their run ended and no collector came within "
        "`--drain` (discarded).",
        "Stop collectors after handlers, and give handlers a longer `--drain`. During a run: see whether one handler "
        "is far behind the others, or began its run later.",
    ),
    Alert(
        "ThalwegFragmentsEvicted", _sum("fragments_evicted_total", "10m"), "> 0", "0m", WARNING,
        "handler {{ $labels.handler }} has evicted {{ $value }} fragments",
        "`when_full` is `evict`, and the index was full: the oldest fragments made room before a collector had them.",
        "As for ThalwegIndexFills. If no fragment may be lost, set `when_full` to `busy`.",
    ),
    Alert(
        "ThalwegLinkSilent", "thalweg_readout_link_live", "== 0", "1m", WARNING,
        "e-link {{ $labels.elink }} of handler {{ $labels.handler }} is silent",
        "No packet came over this link, while others of its group sent. Its events are closed without it.",
        "Look at the front-end and at the fibre. If it stays off, put the link into `disabled` of its group before the "
        "next run.",
        "thalweg_readout_link_enabled * on (handler) group_left () thalweg_readout_state == 2", "handler, elink",
    ),
    Alert(
        "ThalwegStreamLags",
        "increase(thalweg_readout_packets_late_total[5m]) / increase(thalweg_readout_packets_total[5m])", "> 0.001",
        "0m", WARNING,
        "e-link {{ $labels.elink }} of handler {{ $labels.handler }} is behind the others",
        "Packets of this link come after their events were closed. They are counted, and are in no fragment.",
        "If a link lags by a known time, raise `close_after_events` and `close_after`. Otherwise its front-end or card "
        "delays it.",
    ),
    Alert(
        "ThalwegEventsIncomplete",
        f"{_sum('fragments_incomplete_total', '5m', 'rate')} / ({_sum('fragments_incomplete_total', '5m', 'rate')} + "
        f"{_sum('fragments_complete_total', '5m', 'rate')})", "> 0.01", "2m", WARNING,
        "{{ $value | humanizePercentage }} of the fragments of handler {{ $labels.handler }} are incomplete",
        "Streams are missing in more than one of a hundred fragments.",
        "The status bits of the fragments say why (docs/readout.md): a dead link, a lagging one, or lost packets. "
        "ThalwegLinkSilent, ThalwegStreamLags and ThalwegBlocksLost name the link.",
    ),
    Alert(
        "ThalwegBlocksLost",
        "increase(thalweg_readout_lost_blocks_total[10m]) + increase(thalweg_readout_bad_blocks_total[10m])", "> 0",
        "0m", WARNING,
        "blocks of e-link {{ $labels.elink }} of handler {{ $labels.handler }} were lost or damaged",
        "The sequence numbers of the blocks have gaps, or blocks could not be decoded: data were lost between the link "
        "and the handler, before anything of ours counts them.",
        "Look at the card and its driver. On a host that is too slow, the card itself may drop blocks.",
    ),
    Alert(
        "ThalwegFrontEndErrors",
        "(increase(thalweg_readout_crc_errors_total[5m]) + increase(thalweg_readout_packet_errors_total[5m]) + "
        "increase(thalweg_readout_truncated_total[5m])) / increase(thalweg_readout_packets_total[5m])", "> 0.001",
        "2m", WARNING,
        "{{ $value | humanizePercentage }} of the packets of e-link {{ $labels.elink }} have errors",
        "The card has set a flag in these packets: a wrong CRC, an error of the protocol, or a packet that was cut.",
        "Look at the link: optical power, its encoding, the clock of the front-end.",
    ),
    Alert(
        "ThalwegCardMakesNoSense",
        f"{_sum('bad_pointers_total', '10m')} + {_sum('bad_headers_total', '10m')}", "> 0", "0m", CRITICAL,
        "the card of handler {{ $labels.handler }} writes pointers or blocks that make no sense",
        "The write pointer was outside the buffer or more than a lap ahead, or a block has another magic.",
        "Compare the firmware and the program of the card with docs/readout-card.md.",
    ),
    Alert(
        "ThalwegHookFails", _sum("hook_failures_total", "10m"), "> 0", "0m", WARNING,
        "the hook of handler {{ $labels.handler }} has refused {{ $value }} packets or fragments",
        "The library in `[hook]` returned an error.", "Its own log says why.",
    ),
    Alert(
        "ThalwegCollectorSlow", "sum by (handler) (thalweg_readout_queued_bytes)", "> 64e6", "1m", WARNING,
        "{{ $value | humanize1024 }}B of answers wait at handler {{ $labels.handler }}",
        "Collectors asked for events and do not take the answers.",
        "Look at the network between handler and collectors, and at their processors.",
    ),
    Alert(
        "ThalwegClientsRefused",
        'sum by (handler) (increase(thalweg_readout_refusals_total{why=~"malformed|not_allowed|wrong_run"}[10m]))',
        "> 0", "0m", WARNING,
        "handler {{ $labels.handler }} has refused {{ $value }} requests",
        "A client has the wrong token, speaks another protocol, or asks for another run.",
        "After the token is changed: restart the collectors, too. After an upgrade: see docs/readout-deployment.md.",
    ),
    Alert(
        "ThalwegHandlerOutOfDescriptors", _sum("accept_failures_total", "10m"), "> 0", "0m", CRITICAL,
        "handler {{ $labels.handler }} cannot take connections",
        "The machine gives no more file descriptors or memory.",
        "Raise the limits (LimitNOFILE, the memory limit of the container), or `max_connections` is too high.",
    ),
]  # fmt: skip

HOST = [
    Alert(
        "ThalwegHostDown", 'up{job="thalweg-host"}', "== 0", "1m", CRITICAL,
        "the host of handlers at {{ $labels.instance }} does not answer",
        "Prometheus cannot read /metrics of `thalweg readout host`: the command has ended, and with it all its "
        "handlers, or the network or `allow` is in the way.",
        "Look at its journal. If it was killed, start it again: what its handlers held is lost, and cards wait.",
    ),
    Alert(
        "ThalwegHostedHandlerNotUp", "thalweg_host_handler_up", "== 0", "1m", CRITICAL,
        "handler {{ $labels.handler }} on {{ $labels.instance }} does not run, or does not answer",
        "The process of this handler has ended, hangs or is stopped. Its other metrics are those of before, or are "
        "missing. Its card waits as soon as its buffer is full.",
        "`GET /readyz` of the host says which it is, how it ended, and what it said last. One that hangs is not ended "
        "by the host: kill it, and it is started again.",
        "thalweg_host_handler_given_up == 0", "instance, handler",
    ),
    Alert(
        "ThalwegHostedHandlerGivenUp", "thalweg_host_handler_given_up", "== 1", "0m", CRITICAL,
        "handler {{ $labels.handler }} on {{ $labels.instance }} is given up",
        "It failed `--failures` times within `--within`, or its request is wrong. The host does not start it again.",
        "`GET /readyz` of the host says why. Mend that, and start the command again, which drains its other handlers.",
    ),
    Alert(
        "ThalwegHostedHandlerFails",
        "sum by (instance, handler, why) (increase(thalweg_host_handler_failures_total[10m]))", "> 0", "0m", WARNING,
        "a process of handler {{ $labels.handler }} on {{ $labels.instance }} has ended by itself ({{ $labels.why }})",
        "It was started again, or given up; events that it held and no collector had are lost. `memory`: the kernel "
        "has killed it because its control group was full; `signal`: it crashed, or was killed; `exit`: it gave up.",
        "The journal of the host has its last lines. For `memory`, compare `--memory` with the index, `queued_total` "
        "and what the hook takes.",
    ),
    Alert(
        "ThalwegHostedHandlerNotGranted", "thalweg_host_handler_granted", "== 0", "5m", WARNING,
        "handler {{ $labels.handler }} on {{ $labels.instance }} has no control group for {{ $labels.controller }}",
        "The machine has refused it. The handler runs, but may take processors or memory of its neighbours.",
        "The host says why when it starts; docs/readout-deployment.md says what it needs (`Delegate=yes`). "
        "`--no-control-groups` does without, and this alert is silent.",
    ),
]  # fmt: skip

RECORDING = 'thalweg_state{state="recording"} == 1'

RECORD = [
    Alert(
        "ThalwegRecordDown", 'up{job="thalweg-record"}', "== 0", "1m", CRITICAL,
        "the recorder at {{ $labels.instance }} does not answer",
        "Prometheus cannot read /metrics of the recorder. A run that has ended serves none.",
        "Look at the journal of the recorder. `thalweg recover` completes a file that a crash has left; `--continue` "
        "does that by itself.",
    ),
    Alert(
        "ThalwegRecordFailed", "thalweg_failed", "== 1", "0m", CRITICAL,
        "the recording at {{ $labels.instance }} has failed, or its file is not where it was",
        "Something failed for which the exit code will be 1, the file was moved or removed, or the next file cannot be "
        "begun.",
        "The journal says what; docs/unattended.md says for each case what is to be done.",
    ),
    Alert(
        "ThalwegRecordProblems", "increase(thalweg_problems_total[10m])", "> 0", "0m", WARNING,
        "the recording at {{ $labels.instance }} has said {{ $value }} problems",
        "The recorder met a problem with which it goes on.",
        "The journal says which: lines that begin with `thalweg:`.",
    ),
    Alert(
        "ThalwegDurableLag", "thalweg_durable_lag_seconds", "> 10", "1m", WARNING,
        "a power cut would lose the last {{ $value | humanizeDuration }} of the recording at {{ $labels.instance }}",
        "The disk takes longer to make data durable than they take to come.",
        "Look at the disk: what else writes to it, and whether it is worn or rebuilds. Data are not lost unless the "
        "power fails.",
    ),
    Alert(
        "ThalwegDiskFillsSoon", "predict_linear(thalweg_disk_free_bytes[15m], 4 * 3600)", "< 0", "5m", WARNING,
        "the disk of the recording at {{ $labels.instance }} is full within four hours",
        "At the rate of the last quarter of an hour there will be no free space in four hours.",
        "Move finished files away, or go on on another disk.",
    ),
    Alert(
        "ThalwegDiskNearlyFull", "thalweg_disk_free_bytes", "< 5e9", "0m", CRITICAL,
        "the disk of the recording at {{ $labels.instance }} has {{ $value | humanize1024 }}B left",
        "There are less than 5 GB of free space. When nothing is left, the file is completed with what it has, and the "
        "run ends.",
        "Move finished files away now. docs/full-disk.md says what happens otherwise.",
    ),
    Alert(
        "ThalwegDiskUnknown", "thalweg_disk_free_bytes", "!= thalweg_disk_free_bytes", "5m", WARNING,
        "the free space of the recording at {{ $labels.instance }} is not known",
        "The file system does not say how much is free (the metric is NaN), so the other alerts about it are silent.",
        "Look at the file system: a mount that hangs or is gone.",
    ),
    Alert(
        "ThalwegNoRecords", "sum by (instance) (rate(thalweg_records_total[2m]))", "== 0", "2m", CRITICAL,
        "the recording at {{ $labels.instance }} records nothing",
        "The run goes on, and no record came for two minutes.",
        "Look at the trigger and at the device. A run of which this is expected is better paused.",
        RECORDING, "instance",
    ),
    Alert(
        "ThalwegChannelSilent", "sum by (instance, channel) (rate(thalweg_records_total[10m]))", "== 0", "5m", WARNING,
        "channel {{ $labels.channel }} of {{ $labels.instance }} records nothing",
        "No record of this channel came for ten minutes.", "Look at its detector, its threshold and its cable.",
        RECORDING, "instance",
    ),
    Alert(
        "ThalwegTriggersLost",
        "increase(thalweg_lost_triggers_total[5m]) / increase(thalweg_triggers_total[5m])", "> 0.001", "2m", WARNING,
        "channel {{ $labels.channel }} of {{ $labels.instance }} loses {{ $value | humanizePercentage }} of triggers",
        "The device had no room for these triggers: it is read too slowly, or the rate is beyond it.",
        "If ThalwegQueueFull fires, too, the disk or the codec is too slow; `thalweg explain` says which. Otherwise "
        "lower the rate, or record shorter waveforms.",
    ),
    Alert(
        "ThalwegDeadTime",
        "rate(thalweg_dead_time_seconds_total[5m]) / (rate(thalweg_dead_time_seconds_total[5m]) + "
        "rate(thalweg_live_time_seconds_total[5m]))", "> 0.2", "5m", WARNING,
        "channel {{ $labels.channel }} of {{ $labels.instance }} is dead {{ $value | humanizePercentage }} of the time",
        "In more than a fifth of the time the device took no triggers.", "As for ThalwegTriggersLost.",
    ),
    Alert(
        "ThalwegQueueFull", "max by (instance) (thalweg_queue_fill_ratio)", "> 0.9", "1m", WARNING,
        "the memory of a producer of {{ $labels.instance }} is {{ $value | humanizePercentage }} full",
        "Pages wait to be compressed or written. When the memory is full, the device waits, and may lose triggers.",
        "`thalweg explain` says whether the disk or the processors are the limit.",
    ),
    Alert(
        "ThalwegOnboardMemoryFills", "thalweg_onboard_bytes / thalweg_onboard_limit_bytes", "> 0.8", "1m", WARNING,
        "the memory of the device behind {{ $labels.channel }} is {{ $value | humanizePercentage }} full",
        "The device is read more slowly than it records.", "As for ThalwegTriggersLost.",
    ),
    Alert(
        "ThalwegPaused", "thalweg_paused", "== 1", "30m", WARNING,
        "the recording at {{ $labels.instance }} is paused for half an hour",
        "A user or SIGUSR1 paused it.", "SIGUSR2 continues it.",
    ),
]  # fmt: skip

ALERTS = {"readout": READOUT, "host": HOST, "record": RECORD}
