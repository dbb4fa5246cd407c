"""Measures what the page of a run takes: .venv/bin/python studies/watching/page.py [NAME ...]

Names: viewers, browser, beside, computed, latency, attach; all without one. Each is a function below, which says what
it does.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import watched
from latency import pulse_to_page
from websockets.asyncio.client import connect

import thalweg as tw

RESULTS = Path(__file__).parent / "results" / "page.json"
# 30 spectra of 4096 bins, at 5 Hz.
CONFIG = 'isotope = "181Hf"\nplaces = "axes"\nrange = [-204.8, 204.8]\nbin = 0.1\ndelays = [0, 0, 0, 0, 0, 0]\n'
FEATURES = "[features]\nbits = 10\n"
HITS_AT_ONCE = ("--channels", 6, "--isotope", "181Hf", "--waveforms", "none")
HITS = (*HITS_AT_ONCE, "--rate", "5000/s")
OFTEN = ("--set", "flush_interval=0.2s")
PHASE_S = 20
WINDOW_S = 2
COMPUTED_S = 3
NORMAL = ("--priority", "normal")
LATENCY_PAGES = 2_000_000
ATTACH_HITS = 150_000_000


def quartiles(values: list[float]) -> list[float]:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return [round(float(each), 4) for each in (middle, low, high)]


async def view(url: str, is_stalled: bool, came: list[tuple[float, dict[str, Any]]]) -> None:
    """Keeps when messages came, and the status in them. One that is stalled takes a message in three seconds."""
    async with connect(url, compression=None, max_size=None, max_queue=1 if is_stalled else 16) as socket:
        async for message in socket:
            assert isinstance(message, bytes)
            length = int.from_bytes(message[:4], "little")
            came.append((time.time(), json.loads(message[4 : 4 + length]).get("status", {})))
            if is_stalled:
                await asyncio.sleep(3)


async def views(url: str, viewers: int, stalled: int, seconds: float) -> list[list[tuple[float, dict[str, Any]]]]:
    came: list[list[tuple[float, dict[str, Any]]]] = [[] for _ in range(viewers)]
    tasks = [asyncio.create_task(view(url, i < stalled, each)) for i, each in enumerate(came)]
    await asyncio.sleep(seconds)
    ended = [each for each in tasks if each.done()]
    for each in tasks:
        each.cancel()
    assert not ended, "a viewer was sent away"
    return came


def viewers(folder: Path) -> dict[str, Any]:
    """The server's CPU as a share of a core, and its memory: without viewers, with 50 of which 10 stall, and with 9."""
    found: dict[str, list[float]] = {"none": [], "50, 10 stalled": [], "9": [], "memory_MB": [], "updates of 9": []}
    with (
        watched.recording(folder / "run.h5", *HITS, *OFTEN),
        watched.watching(folder / "run.h5", config_in(folder), "--priority", "normal") as (url, pid),
    ):
        asyncio.run(views(url, 1, 0, 5))
        for _ in range(3):
            before = watched.memory_bytes(pid)
            for name, count, stalled in (("none", 0, 0), ("50, 10 stalled", 50, 10), ("9", 9, 0)):
                begin, cpu = time.monotonic(), watched.cpu_s([pid])
                came = asyncio.run(views(url, count, stalled, PHASE_S))
                found[name].append((watched.cpu_s([pid]) - cpu) / (time.monotonic() - begin))
                if count == 50:
                    found["memory_MB"].append((watched.memory_bytes(pid) - before) / 1e6)
            found["updates of 9"].append(min(len(each) for each in came) / PHASE_S)
    more = [with_viewers - none for with_viewers, none in zip(found["50, 10 stalled"], found["none"], strict=True)]
    return {name: quartiles(values) for name, values in found.items()} | {"50, less none": quartiles(more)}


def browser(folder: Path) -> dict[str, Any]:
    """The CPU of all processes of Chromium an update, less that of an empty page in the same time; first paint; the
    heap of the page half a minute apart."""
    with (
        watched.recording(folder / "run.h5", *HITS, *OFTEN),
        watched.watching(folder / "run.h5", config_in(folder), "--priority", "normal") as (url, _),
    ):
        found: dict[str, list[float]] = {
            "ms_an_update": [],
            "updates_a_second": [],
            "first_paint_ms": [],
            "heap_MB": [],
        }
        with watched.chromium(folder / "profile") as tab:
            for _ in range(3):
                tab.go("about:blank")
                empty, _ = tab.costs(PHASE_S)
                tab.go(url.replace("ws", "http", 1).removesuffix("live"))
                time.sleep(3)
                first = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
                found["first_paint_ms"].append(tab.until(first))
                cpu, updates = tab.costs(PHASE_S)
                found["ms_an_update"].append((cpu - empty) / updates * 1e3)
                found["updates_a_second"].append(updates / PHASE_S)
            for _ in range(2):
                time.sleep(30)
                found["heap_MB"].append(tab.heap_bytes() / 1e6)
    return {name: quartiles(values) for name, values in found.items() if name != "heap_MB"} | {
        "heap_MB": found["heap_MB"]
    }


def beside(folder: Path) -> dict[str, Any]:
    """A recording at full speed, of hits without samples, beside the page and a viewer, and with both stopped, in turn
    and on the same cores: CPU a row and rows a second of the one by those of the other."""
    path = folder / "run.h5"
    windows: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    with contextlib.ExitStack() as stack:
        recorder = stack.enter_context(watched.recording(path, *HITS_AT_ONCE))
        pids = watched.tree(recorder.pid)
        watched.signal_all(pids, signal.SIGSTOP)  # otherwise the page begins when the memory is full
        url, pid = stack.enter_context(watched.watching(path, config_in(folder)))
        viewer_pid = stack.enter_context(watched.viewer(sys.executable, __file__, url))
        run = stack.enter_context(tw.open(path))
        time.sleep(5)
        watched.signal_all(pids, signal.SIGCONT)
        for is_stopped in (False, True, True, False) * 4:
            watched.signal_all([*watched.tree(pid), viewer_pid], signal.SIGSTOP if is_stopped else signal.SIGCONT)
            time.sleep(1)
            begin, rows, cpu = time.monotonic(), run.status().rows or 0, watched.cpu_s(pids)
            time.sleep(WINDOW_S)
            seconds, new = time.monotonic() - begin, (run.status().rows or 0) - rows
            windows[is_stopped].append(((watched.cpu_s(pids) - cpu) / new, new / seconds))
        watched.signal_all([*watched.tree(pid), viewer_pid], signal.SIGCONT)
    pairs = list(zip(windows[False], windows[True], strict=True))
    return {
        "cpu_a_row": quartiles([with_page[0] / alone[0] for with_page, alone in pairs]),
        "throughput": quartiles([with_page[1] / alone[1] for with_page, alone in pairs]),
        "cpu_us_a_row_alone": quartiles([alone[0] * 1e6 for _, alone in pairs]),
        "pairs": len(pairs),
    }


def computed(folder: Path) -> dict[str, Any]:
    """The CPU that the page takes for a second of a run if energies are computed, in so many slices: six channels at
    5 kHz, with waveforms. What it takes without any is subtracted: 1 in 1,000,000 slices is the first one alone."""
    (folder / "physics.toml").write_text('places = "axes"\nactivity = 5000\n')
    own = ("--channels", 6, "--isotope", "181Hf", "--physics", folder / "physics.toml", "--records", 5000 * COMPUTED_S)
    watched.recorded(folder / "run.h5", *own)
    cpu: dict[str, list[float]] = {"1/1000000": [], "1/10": [], "all": []}
    for _, slices in itertools.product(range(5), cpu):
        page = watched.watching(folder / "run.h5", config_in(folder, FEATURES), "--slices", slices, *NORMAL)
        with page as (url, pid):
            asyncio.run(read_to_its_end(url))
            cpu[slices].append(watched.cpu_s([pid]))
    return {
        name: quartiles([(each - none) / COMPUTED_S for each, none in zip(values, cpu["1/1000000"], strict=True)])
        for name, values in cpu.items()
        if name != "1/1000000"
    }


async def read_to_its_end(url: str) -> None:
    async with connect(url, compression=None, max_size=None) as socket:
        async for message in socket:
            assert isinstance(message, bytes)
            head = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
            if head.get("status", {}).get("state") == "read to its end":
                return


def latency(folder: Path) -> dict[str, Any]:
    """See `pulse_to_page`."""
    return pulse_to_page(folder, config_in(folder), LATENCY_PAGES)


def attach(folder: Path) -> dict[str, Any]:
    """A run of so many hits that is complete: the time until a page that is opened late has counted it, the CPU time
    and the largest memory of the page; and the CPU time of `thalweg tdpac`."""
    path, config = folder / "run.h5", config_in(folder)
    watched.recorded(path, *HITS_AT_ONCE, "--records", ATTACH_HITS // 6)
    seconds, cpu, memory, analysed = [], [], [], []
    for _ in range(3):
        before = os.times()
        words = [str(watched.THALWEG), "tdpac", str(path), "--config", str(config)]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        analysed.append(after.children_user + after.children_system - before.children_user - before.children_system)
        with watched.watching(path, config, *NORMAL) as (url, pid):
            begin = time.monotonic()
            asyncio.run(read_to_its_end(url))
            seconds.append(time.monotonic() - begin)
            cpu.append(watched.cpu_s([pid]))
            memory.append(watched.largest_memory_bytes(pid) / 1e6)
    return {
        "hits": ATTACH_HITS,
        "seconds": quartiles(seconds),
        "cpu_s": quartiles(cpu),
        "largest_memory_MB": quartiles(memory),
        "tdpac_cpu_s": quartiles(analysed),
    }


def config_in(folder: Path, more: str = "") -> Path:
    path = folder / f"tdpac{len(more)}.toml"
    path.write_text(CONFIG + more)
    return path


@contextlib.contextmanager
def a_folder(name: str) -> Iterator[Path]:
    """Waveforms take more than memory has."""
    place = "/tmp" if name == "computed" else "/dev/shm"
    with tempfile.TemporaryDirectory(prefix="thalweg-page-", dir=place) as made:
        yield Path(made)


FIGURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    each.__name__: each for each in (viewers, browser, beside, computed, latency, attach)
}


def main() -> None:
    if sys.argv[1:2] == ["--view"]:
        asyncio.run(views(sys.argv[2], 1, 0, 1e6))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*FIGURES, []], metavar="NAME")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in parser.parse_args().names or FIGURES:
        before = os.getloadavg()[0]
        with a_folder(name) as folder:
            found = FIGURES[name](folder)
        loads = [round(each, 1) for each in (before, os.getloadavg()[0])]
        results[name] = {**found, "load": loads}
        print(name, json.dumps(results[name]), file=sys.stderr, flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
