"""What the processes of a round have reported, and what that promises."""

from __future__ import annotations

import bisect
import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Stream:
    """The plain rows of one worker in one table."""

    said: int = 0  # rows whose append has returned
    tried: int = 0  # with those of the append that was under way
    safe: int = 0  # that must be there
    times: list[tuple[int, int]] = field(default_factory=list)  # when how many rows had been said


@dataclass
class Attempt:
    """One worker's attempt at a work unit."""

    state: str  # begun, committed, taken or dropped
    at_ns: int


@dataclass
class Reports:
    streams: dict[tuple[str, int], Stream] = field(default_factory=dict)  # by table and worker
    attempts: dict[int, dict[int, Attempt]] = field(default_factory=dict)  # by key and number of the attempt
    handle: str = ""  # of the newest file
    handles: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)  # paths
    lost_memory: bool = False
    durable_ns: int = 0  # rows that append had taken by then survive all memory
    durable_units_ns: int = 0
    workers: dict[int, str] = field(default_factory=dict)  # attached, late or finished
    failures: list[tuple[str, str, str]] = field(default_factory=list)  # process, kind, text
    said: dict[str, list[list[Any]]] = field(default_factory=dict)  # everything else, by its first word
    may_have_gaps: bool = False

    def hear(self, words: list[Any]) -> None:
        match words:
            case ["rows", table, worker, done, trying, now_ns]:
                stream = self.streams.setdefault((table, worker), Stream())
                stream.said = stream.safe = done
                stream.tried = trying
                stream.times.append((now_ns, done))
            case ["unit", key, attempt, state, now_ns]:
                self.attempts.setdefault(key, {})[attempt] = Attempt(state, now_ns)
            case ["durable", rows_ns, units_ns]:
                self.durable_ns = max(self.durable_ns, rows_ns)
                self.durable_units_ns = max(self.durable_units_ns, units_ns)
            case ["worker", worker, state]:
                self.workers[worker] = state
            case ["failed", name, kind, text]:
                self.failures.append((name, kind, text))
            case ["open", path, handle]:
                self.handle = handle
                self.handles.append(handle)
                self.opened.append(path)
                self.said.setdefault("open", []).append(words)
            case _:
                self.said.setdefault(words[0], []).append(words)

    def take(self, word: str) -> list[list[Any]]:
        """Returns what was reported with that word since the last call."""
        return self.said.pop(word, [])

    def memory_lost(self) -> None:
        """Drops promises of rows that were only in memory. If a run has several files, each one loses its end."""
        self.lost_memory = True
        self.may_have_gaps = len({Path(path).name for path in self.opened}) > 1
        for stream in self.streams.values():
            known = bisect.bisect_right(stream.times, (self.durable_ns, 1 << 62))
            stream.safe = min(stream.safe, stream.times[known - 1][1] if known else 0)
        for attempts in self.attempts.values():
            for attempt in attempts.values():
                if attempt.state == "taken" or attempt.at_ns > self.durable_units_ns:
                    attempt.state = {"committed": "perhaps", "taken": "lost"}.get(attempt.state, attempt.state)

    def without_memory(self) -> Reports:
        """Returns what is promised of a copy, which does not include the memory."""
        other = copy.deepcopy(self)
        other.memory_lost()
        return other

    def sure_keys(self) -> list[int]:
        return [
            key for key, attempts in self.attempts.items() if any(a.state == "committed" for a in attempts.values())
        ]

    def taken_over(self, now_ns: int) -> None:
        """A run was resumed: everything that is left of it is in files now."""
        self.durable_ns = self.durable_units_ns = now_ns

    def save(self, path: Path) -> None:
        path.write_text("\n".join(f"{name} = {value}" for name, value in vars(self).items()) + "\n")
