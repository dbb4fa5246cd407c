"""A clock that jumps: only the times in messages and files depend on it."""

import subprocess
from pathlib import Path

import needed
import pytest
from readout_programs import THALWEG, Make, Program, Readout, stop_all, wait_for
from readout_test import expect_all_events, expect_balance

from thalweg._readout.live import ClockWatch

# Adds to the clock what a file says, for a program that loads it first.
SHIFTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long offset(void) {
    long seconds = 0;
    FILE* file = fopen(getenv("CLOCK_OFFSET"), "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
    return seconds;
}

int clock_gettime(clockid_t id, struct timespec* now) {
    int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
    int const result = real(id, now);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) now->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval* now, void* zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now != NULL) *now = exact.tv_sec;
    return exact.tv_sec;
}
"""


class Clock:
    def __init__(self, folder: Path) -> None:
        self._offset, self._library = folder / "offset", folder / "shifted.so"
        self.set(0)
        words = [needed.program("cc"), "-shared", "-fPIC", "-o", self._library, "-x", "c", "-", "-ldl"]
        subprocess.run([*map(str, words)], input=SHIFTED, text=True, check=True)

    def set(self, seconds: int) -> None:
        self._offset.write_text(str(seconds))

    def start(self, readout: Readout, *words: object) -> Program:
        shifted = [f"LD_PRELOAD={self._library}", f"CLOCK_OFFSET={self._offset}", THALWEG]
        return readout.start(*shifted, *words, program="env")


def test_a_clock_that_jumps_is_said_and_changes_nothing(make: Make, tmp_path: Path) -> None:
    readout, clock = make(lease="2s"), Clock(tmp_path)
    card = readout.card("--tally", readout.folder / "tally.json")
    handler = clock.start(readout, "readout", "serve", "--config", readout.config, "--handler", "dh0", "--json")
    collector = clock.start(readout, *readout.collect(readout.folder / "run.root"))
    readout.wait_for_clears()
    for seconds, words in ((2 * 86_400, "set forward by 2 d 0 h"), (-3600, "set back by 2 d 1 h")):
        clock.set(seconds)
        for each in (handler, collector):
            wait_for(lambda each=each, words=words: words in each.said, "it says so")  # type: ignore[misc]
        readout.wait_for_clears(5)
    stop_all(card, handler, collector)
    expect_balance(handler)
    expect_all_events(readout, "run.root")
    counters = collector.answer["counters"]
    assert counters["reconnects"] == counters["again"] == counters["duplicates"] == 0
    assert collector.answer["seconds"] < 600
    assert handler.answer[0]["seconds"] < 600


@pytest.mark.parametrize(
    ("wall_s", "steady_s", "said"),
    [
        (101.0, 51.0, ""),
        (100.5, 51.0, ""),  # slewed, or a look that took long
        (4000.0, 51.0, "set forward by 1 h 04 min"),
        (40.0, 51.0, "set back by 1 min 01 s"),
    ],
)
def test_what_is_said_of_a_clock(wall_s: float, steady_s: float, said: str) -> None:
    walls, steadies = iter([100.0, wall_s, wall_s + 1]), iter([50.0, steady_s, steady_s + 1])
    watch = ClockWatch(lambda: next(walls), lambda: next(steadies))
    first = watch.look()
    assert said in first
    assert bool(first) == bool(said)
    assert watch.look() == "", "it is said once"
