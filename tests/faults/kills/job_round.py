"""What the rounds of jobs have in common: the processes of a job, and what these have said since it began."""

from collections import Counter
from pathlib import Path
from typing import Any, Generic, TypeVar

from kills.judge import require
from kills.stage import Stage

AnyPlan = TypeVar("AnyPlan")


class JobRound(Generic[AnyPlan]):
    def __init__(self, plan: AnyPlan, folder: Path, keep: bool = False) -> None:
        self.plan, self.folder, self.keep = plan, folder, keep
        self.counts = Counter[str]()
        self.stage = Stage(folder / "errors.txt", self._hear)
        self._said: list[list[Any]] = []

    def end(self) -> None:
        self.stage.end()

    def save_reports(self, path: Path) -> None:
        path.write_text("\n".join(map(str, self._said)) + "\n")

    def _hear(self, words: list[Any]) -> None:
        self._said.append(words)

    def _has_said(self, word: str, first: int = 0) -> bool:
        return any(words[0] == word for words in self._said[first:])

    def _expect_no_failure(self) -> None:
        failures = [": ".join(map(str, words[1:])) for words in self._said if words[0] == "failed"]
        require(not failures, f"{failures}")
        require(not self.stage.crashed(), f"{self.stage.crashed()}")
