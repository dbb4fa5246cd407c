"""Chooses in which share of the time slices features are computed, by the time that this takes."""

from __future__ import annotations

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""One of so many slices. With coarse steps the share is the same for a long time."""
_MOST_LOAD = 0.5
"""Seconds of computing for a second of the run, while the page keeps up with it. The rest of a core is for counting,
showing, and what else the machine does."""
_MOST_LOAD_BEHIND = 0.1
"""The same while the page is behind the run: so it catches up ten times as fast as the run was taken."""
_ROOM = 0.6
"""A larger share must leave so much of the limit, or the share would go to and fro."""
_LEAST_PS = 1_000_000_000_000
_LEAST_SLICES = 4
"""A load is measured over a second of the run at least, and over so many slices that were computed."""


class Load:
    def __init__(self, slice_ps: int) -> None:
        self._slice_ps = slice_ps
        self._since: tuple[float, int] | None = None

    def begin_anew(self) -> None:
        """Another pass over the run is measured from now on."""
        self._since = None

    def wanted(self, one_of: int, computing_s: float, newest_ps: int, is_behind: bool) -> int:
        """Returns of how many slices one should be computed; `one_of` until the load is known.

        one_of: of how many it is one now. computing_s: how long computing has taken so far, in time that has passed:
            so other processes that want the machine count, too. newest_ps: up to where the run was read. is_behind:
            whether the page is behind the run.
        """
        if self._since is None:
            self._since = computing_s, newest_ps
        passed_ps = newest_ps - self._since[1]
        if passed_ps < max(_LEAST_PS, _LEAST_SLICES * one_of * self._slice_ps):
            return one_of
        load = (computing_s - self._since[0]) / (passed_ps * 1e-12)
        self._since = computing_s, newest_ps
        return _step(one_of, load, _MOST_LOAD_BEHIND if is_behind else _MOST_LOAD)


def _step(one_of: int, load: float, most: float) -> int:
    if load > most:
        return next((each for each in STEPS if each > one_of and each >= one_of * load / most), max(one_of, STEPS[-1]))
    enough = (each for each in STEPS if each >= one_of * load / (_ROOM * most))
    return min(one_of, next(enough, one_of))
