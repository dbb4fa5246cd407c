"""Asks who writes the run that is watched, and what its producers count, once a second, in the memory of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from thalweg._base.errors import Error
from thalweg._reading.follow import LEAST_PAUSES, Following
from thalweg._reading.status import RunStatus, TableStatus

_EVERY_S = 1.0


class Writing:
    """`say` is called if there is no answer, once for each reason."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._problem = ""
        self._next = 0.0
        self.status: RunStatus | None = None
        """The newest answer. It is None if there was none, or if the run was read to its end."""

    def ask(self, following: Following, is_over: bool) -> None:
        begin = time.monotonic()
        if is_over:
            self.status = None
        elif begin >= self._next:
            self._ask(following)
            now = time.monotonic()
            self._next = now + max(_EVERY_S, LEAST_PAUSES * (now - begin))

    def _ask(self, following: Following) -> None:
        try:
            self.status, problem = following.status(), ""
        except Error as error:  # a question that is not answered ends nothing
            self.status, problem = None, str(error)
        if problem and problem != self._problem:
            self._say(f"it is not known who writes the run: {problem}")
        self._problem = problem

    @property
    def is_left(self) -> bool:
        """Whether all processes that wrote the run have ended without closing it."""
        return self.status is not None and self.status.state == "left"

    @property
    def failure(self) -> str:
        """Why the run takes no more rows, or an empty text."""
        return self.status.failure if self.status else ""

    @property
    def durable_lag_s(self) -> float | None:
        return self.status.durable_lag if self.status else None

    def tables(self) -> dict[str, TableStatus]:
        return {each.table: each for each in self.status.tables} if self.status else {}

    def as_json(self) -> dict[str, Any] | None:
        if self.status is None:
            return None
        lag = self.durable_lag_s
        return {
            "state": self.status.state,
            "why": next((node.why for node in self.status.nodes if node.why), ""),
            "pids": [node.pid for node in self.status.nodes if node.pid is not None],
            "durable_lag_s": None if lag is None else round(lag, 2),
        }
