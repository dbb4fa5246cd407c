"""Keeps account of ranges: which outputs have each of them, which ones wait, and which ones have failed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from thalweg._derive.ranges import Range, RangePlan
from thalweg._derive.session import Task

_LOOK_AHEAD = 64  # tasks among which one is looked for whose file is open


class Fault(NamedTuple):
    reason: str
    text: str


class Books:
    def __init__(self, plan: RangePlan, outputs: int) -> None:
        self._plan = plan
        self._waiting = deque(plan.tasks)
        self.ranges = plan.ranges
        self.summaries: list[dict[int, bytes]] = [{} for _ in range(outputs)]
        """The summaries of the committed ranges of each output, by range number."""
        self.faults: dict[int, Fault] = {}
        """The last fault of each range that has failed at least once."""
        self.attempts: Counter[int] = Counter()
        """The number of failed attempts of each range."""
        self.skipped: set[int] = set()
        self.doing = 0
        """The number of tasks that workers are doing."""

    def committed(self, output: int, number: int, summary: bytes) -> None:
        self.summaries[output][number] = summary

    def lost(self, commits: Iterable[tuple[int, int]]) -> set[int]:
        """Notes that commits, as pairs of output and range, are lost with a machine that had not made them durable.

        Returns the ranges, which will be done again."""
        numbers = set()
        for output, number in commits:
            del self.summaries[output][number]
            numbers.add(number)
        self._waiting.extendleft((self.ranges[number],) for number in sorted(numbers))
        return numbers

    def take(self, file: int | None = None, others: Collection[int] = ()) -> Task | None:
        """Returns the next task, for the outputs that lack it, or None if no task waits.

        file: the file that the worker has open: one of the next tasks is preferred that reads it.
        others: the files that other workers have open: one of the next tasks is preferred that reads none of them.
        """
        while self._waiting:
            if task := self._task_of(self._next(file, others)):
                self.doing += 1
                return task
        return None

    def _next(self, file: int | None, others: Collection[int]) -> Sequence[Range]:
        if not self._plan.per_group:  # otherwise the order is that of the output
            files = [group[0].file for group in islice(self._waiting, _LOOK_AHEAD)]
            for is_better in (lambda each: each == file, lambda each: each not in others):
                for position, each in enumerate(files):
                    if is_better(each):
                        found = self._waiting[position]
                        del self._waiting[position]
                        return found
        return self._waiting.popleft()

    def give_back(self, task: Task) -> None:
        """Puts a task first in the queue. It is done again if an output still lacks it."""
        self.doing -= 1
        self._waiting.appendleft(task.ranges)

    def done(self, task: Task) -> bool:
        """Notes that a task is done. Returns False if an output still lacks a part of it; it is then done again."""
        if self._task_of(task.ranges):
            self.give_back(task)
            return False
        self.doing -= 1
        return True

    def failed(self, number: int, fault: Fault) -> int:
        """Notes a fault of a range. Returns the number of its failed attempts."""
        self.faults[number] = fault
        self.attempts[number] += 1
        return self.attempts[number]

    def skip_what_is_missing(self, fault: Fault) -> None:
        """Skips the missing ranges of groups that are committed, since nothing can be added to those."""
        for group in self._plan.tasks if self._plan.per_group else ():
            for summaries in self.summaries:
                numbers = {each.number for each in group}
                if numbers & summaries.keys():
                    for number in numbers - summaries.keys():
                        self.faults[number] = fault
                        self.skipped.add(number)

    def cannot_be_added(self, output: int, fault: Fault) -> None:
        """Skips the ranges that an output lacks if its file is complete."""
        for each in self.ranges:
            if each.number not in self.summaries[output]:
                self.faults[each.number] = fault
                self.skipped.add(each.number)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def is_done(self) -> bool:
        return not self.doing and not any(self._task_of(group) for group in self._waiting)

    def events_in(self, numbers: Iterable[int]) -> int:
        return sum(len(self.ranges[number]) for number in numbers)

    def events_done(self) -> int:
        """Returns the number of events that all outputs have."""
        first, *others = self.summaries
        return self.events_in(first.keys() if not others else set(first).intersection(*others))

    def lacking(self) -> Iterator[Range]:
        """Yields the ranges that at least one output lacks, for whatever reason."""
        return (each for each in self.ranges if any(each.number not in known for known in self.summaries))

    def _task_of(self, group: Sequence[Range]) -> Task | None:
        ranges = tuple(each for each in group if each.number not in self.skipped)
        lacking = (
            output for output, known in enumerate(self.summaries) if any(each.number not in known for each in ranges)
        )
        outputs = tuple(lacking)
        if not ranges or not outputs:
            return None
        return Task(self._plan.number_of(group), ranges, outputs, self._plan.per_group > 0)
