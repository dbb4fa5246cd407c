"""Which ranges are done in which output, which wait, and which have failed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from thalweg._derive.ranges import Plan, Range
from thalweg._derive.session import Task


class Fault(NamedTuple):
    reason: str
    text: str


class Books:
    def __init__(self, plan: Plan, outputs: int) -> None:
        self._plan = plan
        self._waiting = deque(plan.tasks)
        self.ranges = plan.ranges
        self.summaries: list[dict[int, bytes]] = [{} for _ in range(outputs)]
        """Of each output: what its commits have, by the numbers of their ranges."""
        self.faults: dict[int, Fault] = {}
        """The last one of each range that ever failed."""
        self.attempts: Counter[int] = Counter()
        """That failed, of each range."""
        self.skipped: set[int] = set()
        self.doing = 0
        """Tasks that a worker has."""

    def committed(self, output: int, number: int, summary: bytes) -> None:
        self.summaries[output][number] = summary

    def lost(self, commits: Iterable[tuple[int, int]]) -> set[int]:
        """Of outputs and ranges: they are not there any more, since a machine has died that had not made them durable.
        Returns the ranges, each of which is done again."""
        numbers = set()
        for output, number in commits:
            del self.summaries[output][number]
            numbers.add(number)
        self._waiting.extendleft((self.ranges[number],) for number in sorted(numbers))
        return numbers

    def take(self) -> Task | None:
        """The next task, for the outputs that lack it."""
        while self._waiting:
            if task := self._task_of(self._waiting.popleft()):
                self.doing += 1
                return task
        return None

    def give_back(self, task: Task) -> None:
        """It is done again, at once, where an output lacks it still."""
        self.doing -= 1
        self._waiting.appendleft(task.ranges)

    def done(self, task: Task) -> bool:
        """False where an output lacks some of it still: then it is done again."""
        if self._task_of(task.ranges):
            self.give_back(task)
            return False
        self.doing -= 1
        return True

    def failed(self, number: int, fault: Fault) -> int:
        """How often it has now failed."""
        self.faults[number] = fault
        self.attempts[number] += 1
        return self.attempts[number]

    def skip_what_is_missing(self, fault: Fault) -> None:
        """In groups that are committed nothing can be added any more."""
        for group in self._plan.tasks if self._plan.per_group else ():
            for summaries in self.summaries:
                numbers = {each.number for each in group}
                if numbers & summaries.keys():
                    for number in numbers - summaries.keys():
                        self.faults[number] = fault
                        self.skipped.add(number)

    def cannot_be_added(self, output: int, fault: Fault) -> None:
        """To a file that is complete."""
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
        """In all outputs."""
        first, *others = self.summaries
        return self.events_in(first.keys() if not others else set(first).intersection(*others))

    def lacking(self) -> Iterator[Range]:
        """Ranges that some output has not, whatever the reason."""
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
