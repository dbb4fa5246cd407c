"""What a recording was promised when the log had a certain length, and what it had been given at all."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Promise:
    is_created: bool = False
    is_closing: bool = False
    is_closed: bool = False
    saved: int = -1  # the last step of which a save has returned
    rows: dict[int, int] = field(default_factory=dict)  # by producer: how many must be there
    tried: dict[int, int] = field(default_factory=dict)  # by producer: how many may be there
    units: set[int] = field(default_factory=set)
    tried_units: set[int] = field(default_factory=set)
    dropped_units: set[int] = field(default_factory=set)
    is_ordered: bool = True  # units of a run that is ordered by key: in a file that is complete

    def without_rows(self) -> "Promise":
        """Returns what holds of a file that is read before it is complete: anything may be missing."""
        return Promise(
            tried=self.tried, tried_units=self.tried_units, dropped_units=self.dropped_units, is_ordered=False
        )


class Said:
    def __init__(self, path: Path) -> None:
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]

    def first_length(self) -> int:
        return next(int(line["log"]) for line in self.lines if line["what"] == "begin")

    def failures(self) -> list[str]:
        return [line["error"] for line in self.lines if line["what"] == "failed"]

    def at(self, length: int) -> Promise:
        promise, rows_at, units_at = Promise(), dict[int, float](), dict[int, float]()
        closed_nodes, nodes = set(), {line["node"] for line in self.lines if line["what"] == "created"}
        for line in self.lines:
            if line.get("log", 0) > length:
                continue
            what, node = line["what"], line["node"]
            if what == "durable":
                rows_at[node] = max(rows_at.get(node, 0), line["rows_at"])
                units_at[node] = max(units_at.get(node, 0), line["units_at"])
            elif what == "created":
                promise.is_created = True
            elif what == "closing":
                promise.is_closing = True
            elif what == "closed":
                closed_nodes.add(node)
            elif what == "saved":
                promise.saved = line["step"]
        promise.is_closed = bool(nodes) and closed_nodes == nodes
        for line in self.lines:
            what, node = line["what"], line["node"]
            if what == "trying":
                promise.tried[line["producer"]] = line["rows"]
            elif what == "appended" and (promise.is_closed or line["at"] < rows_at.get(node, 0)):
                promise.rows[line["producer"]] = line["rows"]
            elif what == "trying unit":
                promise.tried_units.add(line["key"])
            elif what == "dropped":
                promise.dropped_units.add(line["key"])
            elif what == "unit" and line["is_committed"] and (promise.is_closed or line["at"] < units_at.get(node, 0)):
                promise.units.add(line["key"])
        return promise
