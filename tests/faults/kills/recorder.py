"""The process that creates a run, or resumes it, watches it, begins the next file when one is due, and closes."""

import select
import time
from pathlib import Path

import thalweg as tw
from kills.plan import Plan
from kills.rows import stored_key
from kills.stage import LIMIT_S, Say
from kills.worker import schema_of
from thalweg import _core
from thalweg._recording.files import FilePlan, Files, RunFile

TICK_S = 0.005


class OneFile:
    def __init__(self, say: Say, out: tw.Writer) -> None:
        self.say, self.out = say, out
        say("open", str(out.path), out.handle)

    def statuses(self) -> list[tuple[float, int, float]]:
        """Durable lag, how many units are not durable, and the age of the oldest of these: of each open file."""
        status = self.out.status()
        return [(status.durable_lag, status.units_not_durable, status.oldest_unit_age)]

    def step(self) -> None:
        """Does nothing while it is open."""

    def complete(self) -> None:
        report = self.out.close(LIMIT_S)
        self.say("closed", report.rows, report.lost_rows)


class ManyFiles(Files):
    """Returns the paths of the files one after the other, as `thalweg record` makes them."""

    def __init__(self, say: Say, plan: FilePlan) -> None:
        self.say = say
        super().__init__(plan)
        self.start(_core.monotonic_ns())

    def _create(self, number: int, before: RunFile | None = None) -> RunFile:
        if before:
            self.say("rotating", str(self.plan.path_of(number)))
        file = super()._create(number, before)
        self.say("open", str(file.path), file.writer.handle)
        return file

    def statuses(self) -> list[tuple[float, int, float]]:
        all_ = [file.writer.status() for file in self.all if not file.is_closed]
        return [(s.durable_lag, s.units_not_durable, s.oldest_unit_age) for s in all_]

    def step(self) -> None:
        self.rotate_if_due()

    def complete(self) -> None:
        self.close()
        while not self.closed():
            time.sleep(0.001)
        if self.errors():
            raise tw.Error(" ".join(self.errors()))
        reports = [file.result.report for file in self.all if file.result]
        tables = [table for report in reports for table in report.tables]
        self.say("closed", sum(table.rows for table in tables), sum(table.lost_rows for table in tables))


def create(say: Say, plan: Plan, path: Path) -> OneFile | ManyFiles:
    if not plan.max_bytes:
        order, size = ("key", plan.keys_per_group) if plan.keys_per_group else (None, None)
        tuning = tw.Tuning(plan.tuning)
        return OneFile(say, tw.create(path, schema_of(plan), tuning=tuning, order=order, keys_per_group=size))
    options = _core.CreateOptions()
    options.keys_per_group = plan.keys_per_group
    tw.Tuning(plan.tuning).apply(options)
    schema = schema_of(plan).to_json()
    return ManyFiles(say, FilePlan(path, schema, list(plan.tables), options, {}, max_bytes=plan.max_bytes))


def create_in_place(say: Say, plan: Plan, path: Path, first: Path) -> OneFile | ManyFiles:
    """Handles what a killed creation left: it is removed, or recovered, and has no rows."""
    try:
        return create(say, plan, path)
    except tw.UsageError as error:
        if "unfinished run" not in str(error):
            raise
    report = tw.recover(first)
    assert report.rows == report.lost_rows == 0, f"a run whose creation was killed has {report.rows} rows"
    first.unlink()
    return create(say, plan, path)


def resume(say: Say, plan: Plan, path: Path, sure_keys: list[int]) -> OneFile | None:
    """Resumes a run. Returns nothing if the run was complete except for its journal, or was only begun."""
    try:
        out = tw.create(path, resume=True, tuning=tw.Tuning(plan.tuning))
    except tw.UsageError as error:
        if "it is complete" not in str(error) and "died before anything was recorded" not in str(error):
            raise
        say("complete", str(path))
        return None
    there = set(out.committed_keys())
    missing = [key for key in sure_keys if stored_key(plan, key) not in there]
    assert not missing, f"the resumed run does not know the committed keys {missing[:10]}"
    return OneFile(say, out)


def attend(say: Say, file: OneFile | ManyFiles, close: int) -> None:
    """Reports until it is told to close. The clock is read before the status, so that no report claims too much."""
    is_closing = False
    while not is_closing:
        now_s = time.monotonic()
        statuses = file.statuses()
        rows_s = min(now_s - lag for lag, _, _ in statuses)
        units_s = min(now_s - age if count else now_s for _, count, age in statuses)
        say("durable", int(rows_s * 1e9), int(units_s * 1e9))
        file.step()
        is_closing = bool(select.select([close], [], [], TICK_S)[0])
    say("closing")
    file.complete()
