"""A process that appends rows. It reports each append that has returned, and what became of each unit."""

import random
import select
import time
from collections.abc import Callable

import thalweg as tw
from kills import rows
from kills.plan import Plan, Worker
from kills.stage import Say
from kills.values import Array, Column, values
from thalweg._writing.work_unit import UnitOfGroup

MOST_BYTES = 4 << 20  # of one worker; afterwards it only waits
BATCH_BYTES = 256 << 10


def schema_of(plan: Plan) -> tw.Schema:
    fixed = {"who": tw.uint64, "row": tw.uint64}
    return tw.schema(
        {name: {**fixed, **{c.name: type_of(c) for c in columns}} for name, columns in plan.tables.items()}
    )


def type_of(column: Column) -> tw.Type:
    if column.kind == "text":
        return tw.string
    scalar: tw.Type = getattr(tw, "bool_" if column.dtype == "bool" else column.dtype)
    if column.kind == "list":
        return tw.list_(scalar)
    return tw.array(scalar, *column.shape) if column.shape else scalar


def flat_columns(columns: tuple[Column, ...], who: int, first: int, count: int) -> list[Array]:
    """Returns the columns as `append_columns` takes them."""
    writers, numbers = rows.numbers(who, first, count)
    flat: list[Array] = [writers, numbers]
    for column in columns:
        lengths, items = values(column, writers, numbers)
        flat += [items.reshape(count, *column.shape)] if lengths is None else [lengths, items]
    return flat


class Work:
    def __init__(self, say: Say, plan: Plan, worker: Worker, number: int, run: tw.Attached) -> None:
        self.say, self.plan, self.worker, self.number, self.run = say, plan, worker, number, run
        self.chance = random.Random(f"{plan.seed}/worker/{number}")
        self.bytes = 0
        self.done = dict.fromkeys(plan.tables, 0)
        self.next_key = self.chance.randrange(plan.keys)
        self.keys_left, self.attempts = plan.keys, 0
        self.producers = {t: run.producer(t) for t in plan.tables} if worker.has_plain_rows else {}

    def batch(self, table: str) -> int:
        most = max(1, BATCH_BYTES // rows.row_bytes(self.plan.tables[table]))
        return self.chance.randint(1, min(self.worker.batch_rows, most))

    def _append(self, append: Callable[..., None], table: str, who: int, first: int, count: int) -> None:
        columns = self.plan.tables[table]
        append(count, flat_columns(columns, who, first, count))
        self.bytes += count * rows.row_bytes(columns)

    def plain(self) -> None:
        table = self.chance.choice(list(self.plan.tables))
        done, count = self.done[table], self.batch(table)
        self.say("rows", table, self.number, done, done + count, time.monotonic_ns())
        self._append(self.producers[table].append_columns, table, self.number, done, count)
        self.done[table] += count
        self.say("rows", table, self.number, done + count, done + count, time.monotonic_ns())

    def unit(self) -> None:
        """Returns the next key that no worker has taken."""
        key, self.next_key = self.next_key, (self.next_key + 1) % self.plan.keys
        self.keys_left -= 1
        stored = rows.stored_key(self.plan, key)
        attempt, self.attempts = self.number * 256 + self.attempts % 256, self.attempts + 1
        if self.chance.random() < 0.7 and self.run.is_committed(stored):
            self.say("unit", key, attempt, "taken", time.monotonic_ns())
            return
        self.say("unit", key, attempt, "begun", time.monotonic_ns())
        unit = self.run.work_unit(stored, summary=rows.summary(key, attempt))
        self._fill(unit, key, attempt)
        if self.chance.random() < 0.1:
            unit.drop()
            state = "dropped"
        else:
            state = "committed" if unit.commit() else "taken"
        self.say("unit", key, attempt, state, time.monotonic_ns())

    def _fill(self, unit: tw.WorkUnit | UnitOfGroup, key: int, attempt: int) -> None:
        for table, count in rows.unit_rows(self.plan, key, attempt).items():
            first = 0
            while first < count:
                part = min(self.batch(table), count - first)
                self._append(unit[table].append_columns, table, rows.unit_writer(key, attempt), first, part)
                first += part

    def group(self) -> None:
        """Returns the next group of keys that no worker has taken."""
        size = self.plan.keys_per_group
        first = self.next_key // size * size
        self.next_key = (first + size) % self.plan.keys
        self.keys_left -= size
        keys = range(first, first + size)
        attempt, self.attempts = self.number * 256 + self.attempts % 256, self.attempts + 1

        def say(state: str) -> None:
            for key in keys:
                self.say("unit", key, attempt, state, time.monotonic_ns())

        if self.chance.random() < 0.7 and self.run.is_committed(rows.stored_key(self.plan, first)):
            return say("taken")
        say("begun")
        group = self.run.work_group((rows.first_key(self.plan) + first) // size)
        for key in keys:
            with group.work_unit(rows.first_key(self.plan) + key, summary=rows.summary(key, attempt)) as unit:
                self._fill(unit, key, attempt)
        if self.chance.random() < 0.1:
            group.drop()
            return say("dropped")
        return say("committed" if group.commit() else "taken")

    def step(self) -> None:
        if self.bytes > MOST_BYTES:
            return
        if self.producers and (not self.worker.has_units or not self.keys_left or self.chance.random() < 0.7):
            self.plain()
        elif self.worker.has_units and self.keys_left > 0:
            (self.group if self.plan.keys_per_group else self.unit)()


def work(say: Say, plan: Plan, worker: Worker, number: int, handle: str, stop: int) -> None:
    try:
        run = tw.attach(handle)
        todo = Work(say, plan, worker, number, run)
    except tw.UsageError:
        if not plan.max_bytes:
            raise
        say("worker", number, "late")  # the file is closed, and another one has taken its place
        return
    say("worker", number, "attached")
    while not select.select([stop], [], [], worker.pace_s)[0]:
        todo.step()
    if worker.finishes:
        run.finish()
    say("worker", number, "finished")
