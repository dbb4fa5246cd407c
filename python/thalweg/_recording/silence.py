"""Notices that a process of producers or of a device does nothing any more."""

import time
from dataclasses import dataclass

from thalweg._devices.board import Board

DEADLINE_S = 10.0
# While the recorder itself stands still (Ctrl-Z, a debugger), the others have no time to answer either.
_MOST_STEP_S = 0.5


@dataclass
class _Lane:
    count: int = -1
    waited_s: float = 0.0


class Silence:
    """Reads a board now and then. `lanes`: how many of them may be in a call."""

    def __init__(self, board: Board, deadline_s: float = DEADLINE_S, lanes: int = 1) -> None:
        self._board, self._deadline_s = board, deadline_s
        self._lanes = [_Lane() for _ in range(lanes)]
        self._beats, self._quiet_s = 0, 0.0
        self._looked_s = time.monotonic()

    def missed(self) -> str:
        """Returns which deadline has passed, as the predicate of a sentence, or an empty text. A call within its own
        deadline may hold the interpreter, and then no other sign of life comes."""
        now_s = time.monotonic()
        step_s, self._looked_s = min(now_s - self._looked_s, _MOST_STEP_S), now_s
        calls = False
        for number, lane in enumerate(self._lanes):
            count, call, limit_s = self._board.call_of(number)
            lane.waited_s = lane.waited_s + step_s if count == lane.count else 0.0
            lane.count = count
            if call and lane.waited_s > limit_s:
                return f"did not return from {call} within {limit_s:g} s"
            calls = calls or bool(call)
        beats = self._board.beats
        self._quiet_s = self._quiet_s + step_s if beats == self._beats and beats and not calls else 0.0
        self._beats = beats
        return f"has given no sign of life for {self._deadline_s:g} s" if self._quiet_s > self._deadline_s else ""
