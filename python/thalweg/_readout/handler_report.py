"""What is said of a run of a handler when it is over."""

from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._base.quantities import as_bytes, as_duration
from thalweg._readout.live import times

_FATES = ("cleared", "evicted", "skipped", "kept", "discarded")  # what became of fragments that were built
_ODD_GROUP_COUNTS = ("absent", "evicted", "timed_out", "overflows", "jumps", "hook_failures", "hook_overruns")
ODD_PATHS = ("duplicate", "late", "out_of_window", "orphaned")
_PATHS = ("delivered", *ODD_PATHS, "left")
_DAMAGES = (
    *("sequence_gaps", "lost_blocks", "bad_blocks", "dropped_chunks", "undefined"),
    *("crc_errors", "errors", "truncated", "busy", "deaths"),
)
WRONG_NUMBERS = "most packets are in no fragment: does `l1id_offset` in [trigger] lead to their event number?"
_TOO_SLOW = "collectors were too slow, or waited for another handler"
_ODD_BUILDER_COUNTS = ("foreign_blocks", "bad_headers", "bad_pointers")


@dataclass(frozen=True)
class HandlerReport:
    name: str
    seconds: float
    counts: _core.HandlerReport

    @property
    def streams(self) -> list[_core.StreamReport]:
        return [stream for group in self.counts.groups for stream in group.streams]

    @property
    def exit_code(self) -> int:
        """1 if fragments or payloads are lost, or the books do not balance. Evicted fragments are not lost: `when_full`
        wants it."""
        return 0 if self.counts.balances() and not self.lost and not self.of_groups("overflows") else 1

    @property
    def lost(self) -> int:
        return self.of_groups("skipped") + self._discarded

    @property
    def _discarded(self) -> int:
        """The discarded fragments, with those that were still kept when the end was cut short."""
        return self.of_groups("discarded") + self.of_groups("kept")

    def of_groups(self, count: str) -> int:
        return sum(getattr(group, count) for group in self.counts.groups)

    def of_streams(self, count: str) -> int:
        return sum(getattr(stream, count) for stream in self.streams)

    def sentences(self) -> list[str]:
        counts, seconds = self.counts, max(self.seconds, 1e-9)
        fragments = self.of_groups("complete") + self.of_groups("incomplete")
        packets = self.of_streams("packets")
        cores = (counts.builder.cpu_ns + counts.server_cpu_ns) / 1e9 / seconds
        said = [
            (
                f"{self.name}, run {counts.run}: {fragments:,} fragments of {packets:,} packets in "
                f"{as_duration(self.seconds)}, {self.of_groups('incomplete'):,} of them incomplete; "
                f"{counts.fragments_sent:,} sent ({as_bytes(counts.bytes_sent)}); {cores:.2f} cores"
            )
        ]
        if wrong := self.problems():
            said.append(f"problems: {', '.join(wrong)}")
        if counts.builder.foreign_blocks:
            said.append(f"blocks came of e-links that are in no group, such as {counts.builder.foreign_elink}")
        if sum(self.of_streams(path) for path in ODD_PATHS) > packets / 2:
            said.append(WRONG_NUMBERS)
        if counts.builder.busy_ns:
            busy = as_duration(counts.builder.busy_ns / 1e9)
            said.append(f"for {busy} nothing was read, because the index was full ({_TOO_SLOW})")
        if counts.cards_gone:
            said.append(f"the card stopped sending {times(counts.cards_gone)}")
        if skipped := self.of_groups("skipped"):
            said.append(f"{skipped:,} fragments were skipped (no collector requested their events in time)")
        if left_out := self.of_groups("overflows"):
            said.append(f"{left_out:,} payloads are in no fragment ({self._without_room}")
        if discarded := self._discarded:
            said.append(f"{discarded:,} fragments are discarded (the run is over, and {self._why_discarded}")
        said.append(self._books())
        return said

    @property
    def _without_room(self) -> str:
        groups = [hex(group.source_id) for group in self.counts.groups if group.overflows]
        return f"they do not fit into fragment_bytes of group {', '.join(groups)}): raise it"

    @property
    def _why_discarded(self) -> str:
        if not self.counts.fragments_sent:
            return "no collector has fetched any event): start a collector for each run, before it is over"
        return "no collector has fetched their events): stop collectors after handlers, or give them time with --drain"

    def problems(self) -> list[str]:
        """Returns each count of what should not be, with its name. The data are there and marked, or were never ours,
        so they do not change the exit code, but for `overflows`: these payloads are lost."""
        of_groups = [(count, self.of_groups(count)) for count in _ODD_GROUP_COUNTS]
        of_streams = [(count, self.of_streams(count)) for count in (*ODD_PATHS, *_DAMAGES)]
        builder = [(count, getattr(self.counts.builder, count)) for count in _ODD_BUILDER_COUNTS]
        return [f"{number:,} {count.replace('_', ' ')}" for count, number in of_groups + of_streams + builder if number]

    def _books(self) -> str:
        if self.counts.balances():
            fates = ", ".join(f"{self.of_groups(fate):,} {fate}" for fate in _FATES if self.of_groups(fate)) or "none"
            return f"the books balance: every packet and every fragment is accounted for once ({fates})"
        if not self.counts.ended:
            undecided = self.of_streams("packets") - sum(self.of_streams(path) for path in _PATHS)
            return f"a thread had not ended: {undecided:,} packets of events that it held are in no account"
        wrong = [f"e-link {stream.elink}" for stream in self.streams if not stream.balances()]
        wrong += [f"group {group.source_id:#x}" for group in self.counts.groups if not group.balances()]
        return f"the books do not balance for {', '.join(wrong)}: this is an error of Thalweg, please report it"

    def as_json(self) -> dict[str, Any]:
        counts = self.counts
        return {
            "handler": self.name,
            "run": counts.run,
            "seconds": self.seconds,
            "balances": counts.balances(),
            "lost": self.lost,
            "problems": self.problems(),
            "fragments_sent": counts.fragments_sent,
            "bytes_sent": counts.bytes_sent,
            "busy_s": counts.builder.busy_ns / 1e9,
            "build_cpu_s": counts.builder.cpu_ns / 1e9,
            "serve_cpu_s": counts.server_cpu_ns / 1e9,
            "cards_gone": counts.cards_gone,
            "foreign_blocks": counts.builder.foreign_blocks,
            "bad_headers": counts.builder.bad_headers,
            "bad_pointers": counts.builder.bad_pointers,
            "groups": [group.as_json() for group in counts.groups],
        }
