"""Measurements in a CSV file, one a row, written as soon as they are made."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Measurement: TypeAlias = dict[str, Any]


class MeasurementTable:
    """Keeps the rows that are already in the file, except a last line that an interruption has cut."""

    def __init__(self, path: Path, columns: Sequence[str], numbers: Sequence[str]) -> None:
        self._path = path
        self._columns = list(columns)
        self._numbers = set(numbers)
        self.rows: list[Measurement] = []
        if path.exists():
            self._load()
        else:
            with path.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(self._columns)

    def append(self, measurements: Iterable[Mapping[str, Any]]) -> None:
        """All of them or, after an interruption, at most a part of the first of their lines."""
        with self._path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self._columns, restval="", lineterminator="\n")
            for measurement in measurements:
                writer.writerow({name: _rounded(value) for name, value in measurement.items()})
                self.rows.append(dict(measurement))
            file.flush()
            os.fsync(file.fileno())

    def _load(self) -> None:
        text = self._path.read_text()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._path.write_text(whole)
        for row in csv.DictReader(whole.splitlines()):
            self.rows.append({name: self._value(name, value) for name, value in row.items() if value})

    def _value(self, name: str, text: str) -> Any:
        return float(text) if name in self._numbers else text


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
