"""Reads a run as it grows, and shows what it finds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import Error, UsageError
from thalweg._reading.follow import Pauses
from thalweg._reading.status import TableStatus
from thalweg._watching.alarms import Alarm, AlarmLog, Limits, alarms_of
from thalweg._watching.analyst import Analyst
from thalweg._watching.changes import Changes, Delays
from thalweg._watching.counting import Asked, Counting
from thalweg._watching.rescans import Rescans, catch_up
from thalweg._watching.writing import Writing

if TYPE_CHECKING:
    from thalweg._watching.coincidences import CountedPairs
    from thalweg.tdpac import Spectra

_SHOW_EVERY_S = 0.2
_AGES_EVERY_S = 1.0
_FIT_PAUSES = 3
"""A fit comes after so many times the time that the last one took, at the earliest, ..."""
_FIT_EVERY_S = 2.0
"""... and after so many seconds."""
_MOST_RECOUNTS = 3
_DELAY_PS = 5.0
"""Delays that are smaller are left in the times: they are in the fit of time zero, too."""


@dataclass
class Fit:
    """The newest fit, of so many coincidences, at a time of `time.monotonic`."""

    found: dict[str, Any]
    coincidences: int
    at_s: float


class Watcher:
    """`changed` is called in one of its threads when there is something new to show, and `failed` with the reason when
    the run cannot be read any more."""

    def __init__(
        self,
        asked: Asked,
        shown: Any,
        limits: Limits,
        interval_s: float,
        changed: Callable[[], None],
        failed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._asked, self._limits = asked, limits
        self._pauses = Pauses(interval_s)
        self.shown = shown
        self._changed = changed
        self._failed = failed
        self.counting = Counting(asked, Changes())
        self.log = AlarmLog()
        self._rescans = Rescans(asked, lambda: self.counting.rows, self.log.say)
        self.writing = Writing(self.log.say)
        self.fit: Fit | None = None
        self.failure = ""
        self.viewers = 0
        self.catches_up = True
        self.is_over = False
        """Whether a closed run was read to its end, and that is shown."""
        self._end = threading.Event()
        self._wanted: tuple[Counting, Spectra] | None = None
        self._recounts = 0
        self._last_news = time.monotonic()
        self._last_shown = 0.0
        self._fitting = threading.Condition()
        self._threads = [threading.Thread(target=self._read, name="read", daemon=True)]
        self._analyst = Analyst(asked.configuration)
        if asked.pairs is not None:
            self._threads.append(threading.Thread(target=self._fit, name="fit", daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._end.set()
        self._analyst.interrupt()
        with self._fitting:
            self._fitting.notify_all()
        self._rescans.stop()
        for thread in self._threads:
            thread.join()

    @property
    def data_age_s(self) -> float:
        """The time since the last new row was read."""
        return time.monotonic() - self._last_news

    def _read(self) -> None:
        try:
            self._follow()
        except _EndedError:
            return
        except Exception as error:
            self.failure = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
            self.log.say(f"reading has failed: {self.failure}")
            self._failed(self.failure)
        while not self._end.wait(_AGES_EVERY_S):  # the page says so, and ages go on
            self._show()

    def _follow(self) -> None:
        while not self._end.is_set():
            if (recounted := self._rescans.take()) is not None:
                self._show_instead(recounted)
            counting = self.counting
            if counting.is_over:
                pause = _AGES_EVERY_S
            else:
                if counting.look(self._show_now_and_then):
                    self._last_news = time.monotonic()
                self._follow_load()
                pause = self._pauses.after(counting.look_s)
            self.catches_up = False
            self._show()
            self._end.wait(pause)

    def _show_instead(self, counting: Counting) -> None:
        """Replaces the spectra by those of a pass that has caught up with them."""
        shown = self.counting
        catch_up(counting, lambda: shown.rows, self._check_end)
        before = shown.changes
        if counting.pairs is not None and counting.pairs.slices is not None:
            counting.pairs.slices.begin_anew()
        for name, each in counting.detectors.items():
            each.rate, each.arrival = shown.detectors[name].rate, shown.detectors[name].arrival
        with self._fitting:
            self.counting = counting
            if counting.changes.windows != before.windows:
                self.fit, self._wanted, self._recounts = None, None, 0
        if counting.changes.windows != before.windows:
            self.shown.tell({"fit": {}})
            self.log.say(f"the spectra are those of {self._windows_in_words(counting.changes)} now")
        if counting.changes.delays_ps != before.delays_ps:
            self.log.say("the delays of the detectors are subtracted from their times now")

    @staticmethod
    def _windows_in_words(changes: Changes) -> str:
        return "the windows of the configuration" if changes.windows is None else str(changes.windows)

    def _check_end(self) -> None:
        if self._end.is_set():
            raise _EndedError

    def _follow_load(self) -> None:
        if self.counting.follow_load() and (pairs := self.counting.pairs) is not None:
            self.log.say(f"features are computed of {pairs.slices}")

    def _show_now_and_then(self) -> None:
        self._check_end()
        self._follow_load()
        if time.monotonic() - self._last_shown > _SHOW_EVERY_S:
            self._show()

    def _show(self) -> None:
        self._last_shown = time.monotonic()
        counting = self.counting
        self.writing.ask(counting.following, counting.is_over or bool(self.failure))
        if not self.catches_up:
            self.log.note([*alarms_of(counting, self._limits), *self._own_alarms(counting)])
        spectra = counting.pairs.spectra() if counting.pairs else None
        if spectra is not None:
            with self._fitting:
                self._wanted = counting, spectra
                self._fitting.notify_all()
        scopes = {each.name: vars(each.scope) for each in counting.detectors.values() if each.scope}
        streams = {f"stream:{name}": news for name, news in counting.stream_news()}
        self.shown.update(blocks_of(counting, spectra), {"status": self.status(), "scopes": scopes, **streams})
        applied = self._rescans.latest.windows != counting.changes.windows
        self.is_over = counting.is_over and not self.catches_up and not applied
        self._changed()

    def _own_alarms(self, counting: Counting) -> list[Alarm]:
        if self.failure:
            return [Alarm("reading", "", f"the run is not read any more: {self.failure}")]
        if counting.is_over:
            return []
        if self.writing.is_left:
            text = "no process writes the run any more, and it is not closed: `thalweg recover` completes it"
            return [Alarm("not written", "", text)]
        found = [Alarm("refused", "", failure)] if (failure := self.writing.failure) else []
        if self.data_age_s > self._limits.silence_s:
            found.append(Alarm("no rows", "", "no rows have come for some time, and the run is not closed"))
        return found

    def proposal(self, given: Any) -> dict[str, Any]:
        """Returns the answer to a window that a viewer proposes, from any thread. Nothing is changed by it."""
        try:
            return self._pairs().proposal(given)
        except Error as error:
            return {"problem": str(error)}

    def apply(self, given: Any) -> dict[str, Any]:
        """Begins to count the run again with a window that a viewer gives, or with those of the configuration, behind
        what is shown, and returns the answer at once. From any thread."""
        try:
            if self.failure:
                raise UsageError(f"the run is not read any more: {self.failure}")
            pairs = self._pairs()
            changes = self._rescans.begin(lambda latest: self._with_window(latest, pairs, given))
        except Error as error:
            return {"problem": str(error)}
        words = self._windows_in_words(changes)
        self.log.say(f"a page applies {words}: the run is counted again, behind the spectra that are shown")
        return {"windows": words}

    def _with_window(self, latest: Changes, pairs: CountedPairs, given: Any) -> Changes:
        changes = replace(latest, windows=pairs.windows_with(given, latest.windows))
        if changes == latest:
            raise UsageError(f"the run has {self._windows_in_words(latest)} already: give other ones")
        return changes

    def _pairs(self) -> CountedPairs:
        pairs = self.counting.pairs
        if pairs is None:
            raise UsageError("no coincidences are counted: start `thalweg watch` with --config")
        return pairs

    def status(self) -> dict[str, Any]:
        counting = self.counting
        state = "read to its end" if counting.is_over else "catching up" if self.catches_up else "open"
        fit, appended, progress = self.fit, self.writing.tables(), self._rescans.progress()
        return {
            "file": counting.files[-1],
            "files": len(counting.files),
            "state": "failed" if self.failure else state,
            "data_age_s": round(self.data_age_s, 1),
            "writing": self.writing.as_json(),
            "rescan": progress.as_json() if progress else None,
            "applied": windows.toml if (windows := counting.changes.windows) else [],
            "computed": counting.pairs.computed_words() if counting.pairs else "",
            "calibrating": counting.calibrating(),
            "computed_pulses": counting.pairs.computed_pulses if counting.pairs else None,
            "slices": counting.pairs.newest_slices() if counting.pairs else None,
            "coincidences": counting.pairs.counts[0] if counting.pairs else None,
            "fit_age_s": None if fit is None or not fit.found.get("fits") else round(time.monotonic() - fit.at_s, 1),
            "fit_coincidences": None if fit is None else fit.coincidences,
            "tables": [self._table(counting, name, appended.get(name)) for name in counting.detectors],
            "alarms": self.log.as_json(),
            "log": list(self.log.lines),
        }

    def _table(self, counting: Counting, name: str, appended: TableStatus | None) -> dict[str, Any]:
        each = counting.detectors[name]
        rate = each.rate.per_second
        behind = counting.behind_s(each) if each.has_times else None
        return {
            "name": name,
            "rows": each.rows,
            "rate": None if rate is None else float(f"{rate:.4g}"),
            "behind_s": None if behind is None else round(behind, 3),
            "outside": each.energies.outside if each.energies else 0,
            "rejected": each.stored.rejected["all"] if each.stored else 0,
            "dead_time": appended.dead_time if appended else None,
            "lost": appended.counters.get("lost_triggers") if appended else None,
        }

    def _fit(self) -> None:
        while not self._end.is_set():
            if (wanted := self._next_spectra()) is not None:
                counting, spectra = wanted
                found = self._analyst.analyse(spectra)
                if not self._end.is_set():
                    self._take(counting, spectra, found)
        self._analyst.end()

    def _next_spectra(self) -> tuple[Counting, Spectra] | None:
        """Waits until there are more coincidences than in the last fit, and the last fit is old enough."""
        fit = self.fit
        if fit is not None:
            pause = max(_FIT_EVERY_S, _FIT_PAUSES * float(fit.found.get("took_s", 0)))
            self._end.wait(pause)
        with self._fitting:
            self._fitting.wait(1.0)
            wanted, self._wanted = self._wanted, None
        if wanted is None or (fit is not None and wanted[1].facts["coincidences"] == fit.coincidences):
            return None
        return wanted

    def _take(self, counting: Counting, spectra: Spectra, found: dict[str, Any]) -> None:
        delays = found.pop("delays", None)
        with self._fitting:
            if counting.changes.windows != self.counting.changes.windows:
                return  # its spectra were replaced meanwhile
            self.fit = Fit(found, spectra.facts["coincidences"], time.monotonic())
            self.shown.tell({"fit": found})
        self._changed()
        if delays is None or self._asked.has_delays or self._rescans.progress() or self._recounts >= _MOST_RECOUNTS:
            return
        if any(abs(value) > max(_DELAY_PS, 3 * error) for value, error in delays):
            subtracted = zip(spectra.delays_ps, delays, strict=True)
            self._recount(tuple(float(round(before + value)) for before, (value, _) in subtracted))

    def _recount(self, delays_ps: Delays) -> None:
        """Counts the run again with other delays, behind what is shown."""
        self._recounts += 1
        self._rescans.begin(lambda latest: replace(latest, delays_ps=delays_ps))


class _EndedError(Exception):
    """The command ends while a run is read."""


def blocks_of(counting: Counting, spectra: Spectra | None) -> list[tuple[dict[str, Any], npt.NDArray[Any]]]:
    """Returns the histograms of the page: the energies of each detector, and the coincidences of each pair."""
    blocks: list[tuple[dict[str, Any], npt.NDArray[Any]]] = []
    for name, each in counting.detectors.items():
        if each.energies is not None:
            describes = {"of": "energies", "table": name, "unit": each.energy_unit, "windows": each.windows}
            blocks.append(({**describes, "begin": 0.0, "width": each.energies.width}, each.energies.counts))
    if spectra is not None:
        for start, first in enumerate(spectra.tables):
            for stop, second in enumerate(spectra.tables):
                if start != stop:
                    describes_pair: dict[str, Any] = {
                        "of": "pair",
                        "start": first,
                        "stop": second,
                        "width": spectra.bin_ps * 1e-3,
                    }
                    counts = np.asarray(spectra.counts[start, stop])
                    blocks.append(({**describes_pair, "begin": spectra.begin_ps * 1e-3}, counts))
    return blocks
