"""The state that all parts of a round share."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kills import judge
from kills.plan import Plan
from kills.read import is_complete
from kills.reports import Reports
from kills.stage import Process, Say, Stage


class Context:
    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder, self.place = plan, folder, folder / "run"
        self.place.mkdir()
        self.chance = random.Random(f"{plan.seed}/context")
        self.reports, self.counts = Reports(), Counter[str]()
        self.stage = Stage(folder / "errors.txt", self.reports.hear)
        self.workers = 0  # started so far
        self.folders = 0

    @property
    def path(self) -> Path:
        """Returns the path for the recorder: files that follow each other get numbers."""
        return self.place / f"run{self.plan.extension}"

    def files(self) -> list[Path]:
        return sorted(self.place.glob(f"run*{self.plan.extension}"))

    def new_folder(self, name: str) -> Path:
        self.folders += 1
        return self.folder / f"{name}{self.folders}"

    def kill(self, kind: str, processes: list[Process]) -> None:
        """Counts as one kill, however many processes they are, if one of them was alive."""
        killed = self.stage.kill(processes)
        self.counts["processes killed"] += killed
        self.counts[f"kills: {kind}"] += killed > 0

    def run(self, name: str, work: Callable[[Say], None], answers: tuple[str, ...]) -> list[Any]:
        """Runs a process with one task, and returns its line that begins with one of the answers."""
        self.stage.run(name, work)
        self.expect_no_failure()
        for answer in answers:
            if said := self.reports.take(answer):
                return said[-1]
        raise judge.WrongError(f"the process '{name}' died without a word")

    def judge(self, reports: Reports, paths: list[Path], demand: judge.Demand) -> None:
        def work(say: Say) -> None:
            if demand is judge.COMPLETE:
                for path in paths:
                    judge.require(is_complete(path), f"{path.name} is not complete")
            say("judged", *judge.judge(self.plan, reports, paths, demand))

        _, *numbers, lasts = self.run("judge", work, ("judged",))
        if demand.grows:
            judge.check_tried(reports, lasts)
        for name, number in zip(("rows judged", "units judged", "values judged"), numbers, strict=True):
            self.counts[name] += number

    def forgive_refusals(self) -> None:
        """Failures of workers for which the close of the run did not wait: a first unit needs a producer."""
        failures = self.reports.failures
        failures[:] = [each for each in failures if "the run is being closed" not in each[2]]

    def forgive_failures(self) -> None:
        """Failures of processes whose recorder was killed."""
        judge.require(not self.stage.crashed(), f"{self.stage.crashed()}")
        self.reports.failures.clear()

    def expect_no_failure(self) -> None:
        judge.require(not self.stage.crashed(), f"{self.stage.crashed()}")
        if self.reports.failures:
            raise judge.WrongError("; ".join(map(": ".join, self.reports.failures)))
