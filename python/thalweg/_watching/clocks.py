"""Which detectors have a clock that is not that of the others, and which have no hits any more."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from thalweg._hits.side_by_side import EARLIEST_PS
from thalweg._watching.detectors import Detector


@dataclass(frozen=True)
class Clocks:
    """The detectors with hits, by their clocks."""

    usual: list[Detector]
    """Those of the clock that most have, or whose clock cannot be told."""
    others: list[Detector]
    """Their timestamps are ahead of those of the usual ones, or behind them, while hits of both come."""

    @property
    def newest_ps(self) -> int | None:
        """The newest hit of the usual ones."""
        return max((each.newest_ps for each in self.usual if each.newest_ps is not None), default=None)


def clocks_of(detectors: Sequence[Detector], silence_s: float) -> Clocks:
    """Tells a clock that differs from silence: a detector that is behind is not silent if hits of it come.

    silence_s: by so much timestamps of hits that come together may differ.
    """
    behind = [each for each in detectors if _comes_behind(each, silence_s)]
    rest = [each for each in detectors if each not in behind]
    newest_ps = max((_newest_ps(each) for each in behind), default=EARLIEST_PS)
    ahead = [each for each in rest if behind and _newest_ps(each) - newest_ps > silence_s * 1e12]
    if len(ahead) > len(behind):
        return Clocks(rest, behind)
    return Clocks([each for each in detectors if each not in ahead], ahead)


def _comes_behind(each: Detector, silence_s: float) -> bool:
    since = time.monotonic() - silence_s
    return each.arrival is not None and each.arrival.at_s > since and each.arrival.behind_s > silence_s


def _newest_ps(each: Detector) -> int:
    return EARLIEST_PS if each.newest_ps is None else each.newest_ps
