"""All measurements in rounds. Each round has everything once, in an order of its own, so that a drive or a machine that
changes its mind meets all layouts alike."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path

from layouts import generate, machine, occupy
from layouts.children import in_child
from layouts.products import SELECTIONS
from layouts.read import read
from layouts.settings import Case, Settings, cases, is_read
from layouts.table import Measurement, MeasurementTable
from layouts.write import plan_of, write

from thalweg._base.errors import UsageError

KEYS = ["round", "measured", "data", "layout", "mode", "producers", "columns", "cache"]
RESULTS = ["seconds", "GB_per_s", "rows_per_s", "rows", "raw_bytes", "file_bytes", "read_bytes", "cpu_s", "arrange_s"]
MEMORY = ["pss_MiB", "memory_MiB"]
CIRCUMSTANCES = ["resident_share", "other_cores", "stolen_cores"]
COLUMNS = [*KEYS, *RESULTS, *MEMORY, *CIRCUMSTANCES]
NUMBERS = ["round", "producers", *RESULTS, *MEMORY, *CIRCUMSTANCES]

Task = tuple[int, Case | str]  # a round, and what is measured in it: a case, or the memory that a layout needs


class Study:
    def __init__(self, settings: Settings, out: Path, files: Path, fresh: bool = False) -> None:
        """`out` gets the results, `files` the files that are written and read."""
        self.settings = settings
        self._files = files
        for folder in (out, files):
            folder.mkdir(parents=True, exist_ok=True)
        known, measurements = out / "settings.json", out / "measurements.csv"
        if fresh:
            for path in (known, measurements):
                path.unlink(missing_ok=True)
        if known.exists():
            settings.check_goes_with(known.read_text(), str(out))
        elif measurements.exists():
            raise UsageError(f"{measurements} is there, but not the settings it was made with: choose another --out")
        known.write_text(settings.to_json() + "\n")
        self.table = MeasurementTable(measurements, COLUMNS, NUMBERS)

    @cached_property
    def tasks(self) -> list[Task]:
        """That are not yet done, in their order."""
        done = {_task_of(row) for row in self.table.rows if self._is_last(row)}
        return [
            task for number in range(1, self.settings.rounds + 1) for task in self._round(number) if task not in done
        ]

    @property
    def target(self) -> Path:
        return self._files / f"layout.{self.settings.format}"

    def run(self) -> Iterator[Task]:
        """Yields each task that was done."""
        for task in self.tasks:
            number, what = task
            self._settle()
            before = machine.Moment.now()
            found = list(self._memory(what) if isinstance(what, str) else self._case(what))
            noise = machine.noise_since(before)
            self.table.append({"round": number, **each, **noise} for each in found)
            yield task
        self._settle()

    def _round(self, number: int) -> list[Task]:
        everything: list[Case | str] = [*cases(self.settings), *self.settings.layouts]
        random.Random(f"{self.settings.seed} {number}").shuffle(everything)
        return [(number, each) for each in everything]

    def _is_last(self, row: Measurement) -> bool:
        """Returns whether the row is the last one of its task: an interruption may have cut off later ones."""
        task = _task_of(row)[1]
        if isinstance(task, Case) and is_read(task, self.settings):
            return (row.get("columns"), row.get("cache")) == (list(SELECTIONS)[-1], "warm")
        return True

    def _case(self, case: Case) -> Iterator[Measurement]:
        data = self._data(case.data)
        of_case = {"data": case.data, "layout": case.layout, "mode": case.mode, "producers": case.producers}
        yield {"measured": "write", **of_case, **in_child(partial(write, self.target, case, data, self.settings))}
        if is_read(case, self.settings):
            plan = plan_of(case.layout, self.settings)
            for measured in in_child(lambda: list(read(self.target, plan, data.raw_bytes, self.settings.read_threads))):
                yield {"measured": "read", **of_case, **measured}

    def _memory(self, layout: str) -> Iterator[Measurement]:
        measured = occupy.measure(self.target, layout, self.settings)
        yield {
            "measured": "memory",
            "data": occupy.DATA,
            "layout": layout,
            "mode": "processes",
            "producers": 1,
            **measured,
        }

    def _data(self, kind: str) -> generate.Data:
        if kind not in self._made:
            self._made[kind] = generate.make(self.settings, kind)
        return self._made[kind]

    @cached_property
    def _made(self) -> dict[str, generate.Data]:
        return {}

    def _settle(self) -> None:
        """Removes what the last measurement left behind."""
        for path in self._files.glob(f"{self.target.name}*"):
            path.unlink()
        os.sync()


def _task_of(row: Measurement) -> Task:
    number = int(row["round"])
    if row["measured"] == "memory":
        return number, row["layout"]
    return number, Case(row["data"], row["layout"], row["mode"], int(row["producers"]))
