"""Compares what is in the files with what was promised."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kills import rows
from kills.plan import Plan
from kills.read import Unit, read_table, read_units
from kills.reports import Attempt, Reports
from kills.values import Array, values


class WrongError(AssertionError):
    """A file does not have what was promised."""


def require(condition: object, text: str) -> None:
    if not condition:
        raise WrongError(text)


@dataclass(frozen=True)
class Demand:
    """What must be there. Every value that is there must be right in any case."""

    everything: bool = True  # everything that was reported as safe is there, without gaps
    whole_units: bool = True
    grows: bool = False  # rows are appended while it is read


COMPLETE = Demand()
OF_A_LIVE_COPY = Demand(everything=False)
OF_AN_OPEN_FILE = Demand(everything=False, whole_units=False, grows=True)


@dataclass
class Found:
    """The content of all files together, in their order."""

    rows_of: dict[tuple[str, int], Array] = field(default_factory=dict)  # by table and writer
    rows: int = 0
    values: int = 0

    def take(self, plan: Plan, path: Path, table: str) -> Array:
        columns = plan.tables[table]
        who, row, stored = read_table(path, table, columns)
        require(len(who) == len(row), f"{path.name}: columns of table {table} have different lengths")
        for column, (lengths, items) in zip(columns, stored, strict=True):
            right_lengths, right = values(column, who, row)
            where = f"{path.name}: column {table}/{column.name} ({column.kind} of {column.dtype})"
            if lengths is not None and right_lengths is not None:
                require(np.array_equal(lengths, right_lengths), f"{where}: lengths are wrong")
            require(items.dtype == right.dtype, f"{where}: it is read as {items.dtype}")
            require(len(items) == len(right), f"{where}: it has {len(items)} items, and {len(right)} are right")
            wrong = np.flatnonzero(items != right)
            require(not len(wrong), f"{where}: {len(wrong)} of {len(right)} items are wrong, first item {wrong[:1]}")
            self.values += len(right)
        self.rows += len(who)
        order = np.argsort(who, kind="stable")
        writers, begins = np.unique(who[order], return_index=True)
        for writer, part in zip(writers.tolist(), np.split(row[order], begins[1:]), strict=False):
            before = self.rows_of.get((table, writer), np.empty(0, np.uint64))
            self.rows_of[table, writer] = np.concatenate([before, part])
        return who


LastRows = list[tuple[str, int, int]]  # table, worker and its last row


def judge(plan: Plan, reports: Reports, paths: list[Path], demand: Demand) -> tuple[int, int, int, LastRows]:
    """Rows, units and values that were found to be right, and the last rows. Raises WrongError."""
    found, units = Found(), 0
    for path in paths:
        writers = [found.take(plan, path, table) for table in plan.tables]
        if demand.whole_units:
            listed = [check_listed(plan, unit, writers, path) for unit in read_units(path)]
            require(len(listed) == len(set(listed)), f"{path.name}: units are listed twice")
            units += len(listed)
            if plan.keys_per_group:
                check_order(plan, listed, writers, path)
    check_streams(reports, found, demand)
    if demand.whole_units:
        there = check_units(plan, reports, found, demand)
        require(there == units, f"{units} units are listed, and rows of {there} are there")
    lasts = [(table, who, int(there[-1])) for (table, who), there in found.rows_of.items() if who < rows.UNITS]
    if not demand.grows:
        check_tried(reports, lasts)
    return found.rows, units, found.values, lasts


def check_tried(reports: Reports, lasts: LastRows) -> None:
    """Judges a growing file by what was reported until it had been read."""
    for table, worker, last in lasts:
        stream = reports.streams.get((table, worker))
        tried = stream.tried if stream else 0
        require(last < tried, f"worker {worker}, table {table}: row {last} is there, and {tried} were tried")


def check_streams(reports: Reports, found: Found, demand: Demand) -> None:
    for (table, writer), there in found.rows_of.items():
        if writer >= rows.UNITS:
            continue
        who = f"worker {writer}, table {table}"
        require(np.all(there[1:] > there[:-1]), f"{who}: rows are doubled or not in their order")
        if demand.everything and not reports.may_have_gaps:
            require(there[-1] == len(there) - 1, f"{who}: rows are missing before row {there[-1]}")
    if demand.everything:
        for (table, writer), stream in reports.streams.items():
            there = found.rows_of.get((table, writer), np.empty(0, np.uint64))
            lost = stream.safe - int(np.count_nonzero(there < stream.safe))
            require(not lost, f"worker {writer}, table {table}: {lost} of {stream.safe} rows are lost")


def check_listed(plan: Plan, unit: Unit, writers: list[Array], path: Path) -> int:
    """The number of its key. The table of units says the same as the rows."""
    key = number_of(plan, unit.key)
    where = f"{path.name}, unit {key}"
    there = {int(writer) for table, first, count in unit.ranges for writer in writers[table][first : first + count]}
    require(len(there) == 1, f"{where}: its rows as they are listed are of {there}")
    attempt = there.pop() - rows.unit_writer(key, 0)
    require(unit.summary == rows.summary(key, attempt), f"{where}: its summary is not that of attempt {attempt}")
    listed = sum(count for _, _, count in unit.ranges)
    right = sum(rows.unit_rows(plan, key, attempt).values())
    require(listed == right, f"{where}: {listed} rows are listed of {right}")
    return key


def check_order(plan: Plan, listed: list[int], writers: list[Array], path: Path) -> None:
    """Checks a run that is ordered by key: groups are complete, and everything has that order."""
    require(listed == sorted(listed), f"{path.name}: its units are not listed in the order of their keys: {listed}")
    size = plan.keys_per_group
    whole = [
        key for group in sorted({key // size for key in listed}) for key in range(group * size, (group + 1) * size)
    ]
    require(listed == whole, f"{path.name}: parts of groups are there: {sorted(set(whole) - set(listed))} are not")
    for table, who in zip(plan.tables, writers, strict=True):
        keys = (who - np.uint64(rows.UNITS)) // np.uint64(rows.TRIES)
        wrong = np.flatnonzero(keys[1:] < keys[:-1])
        require(not len(wrong), f"{path.name}, table {table}: rows behind {wrong[:1]} are not in the order of keys")


def number_of(plan: Plan, stored: int | bytes) -> int:
    numbers = {rows.stored_key(plan, key): key for key in range(plan.keys)}
    require(stored in numbers, f"no worker began a unit with the key {stored!r}")
    return numbers[stored]


def check_units(plan: Plan, reports: Reports, found: Found, demand: Demand) -> int:
    """Returns how many there are."""
    there: dict[int, set[int]] = {}
    for _, writer in found.rows_of:
        if writer >= rows.UNITS:
            there.setdefault((writer - rows.UNITS) // rows.TRIES, set()).add(writer % rows.TRIES)
    for key, attempts in there.items():
        said = reports.attempts.get(key, {})
        require(len(attempts) == 1, f"unit {key}: rows of the attempts {attempts} are there")
        for attempt in attempts:
            check_whole(plan, found, key, attempt, said.get(attempt))
    if demand.everything:
        for key, all_said in reports.attempts.items():
            check_promised(key, all_said, there.get(key, set()))
    return sum(map(len, there.values()))


def check_whole(plan: Plan, found: Found, key: int, attempt: int, said: Attempt | None) -> None:
    may_be = said and said.state in ("begun", "committed", "perhaps")
    require(may_be, f"unit {key}: rows of attempt {attempt} are there, of which was said: {said}")
    for table, right in rows.unit_rows(plan, key, attempt).items():
        rows_there = found.rows_of.get((table, rows.unit_writer(key, attempt)), np.empty(0, np.uint64))
        is_whole = np.array_equal(rows_there, np.arange(right))
        require(is_whole, f"unit {key}, attempt {attempt}: {len(rows_there)} of {right} rows are in table {table}")


def check_promised(key: int, attempts: dict[int, Attempt], there: set[int]) -> None:
    for attempt, said in attempts.items():
        if said.state == "committed":
            require(attempt in there, f"unit {key}: attempt {attempt} was committed, and {there or 'nothing'} is there")
        if said.state == "taken":
            require(there, f"unit {key}: its key was taken, and nothing is there")
