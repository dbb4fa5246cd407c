"""prices.py [--rounds N] [--calls N]: what a traced call and a traced fork cost, and what `explain` needs for a call.

Plain and traced calls alternate in one process; plain and traced forks alternate run by run. All times are of the CPU.
Writes results/prices.json and the table of README.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from study import THALWEG, run, traced

HERE = Path(__file__).parent
MARKS = ("<!-- prices -->", "<!-- end of prices -->")
WANTED = {
    "seek": ("`lseek`: added by tracing", " ns", "15"),
    "write": ("`pwrite` of 4 KiB to tmpfs: added by tracing", " ns", "25"),
    "seek, untraced": ("`lseek`: the same measured without trace", " ns", "0"),
    "write, untraced": ("`pwrite`: the same measured without trace", " ns", "0"),
    "fork": ("fork, open, read, close, exit: times as long", "", "1.3"),
    "explain, bytes a call": ("memory of `explain` for a call", " B", "100"),
    "explain, MB": ("memory of `explain` in all", " MB", "1000"),
    "explain, seconds": ("time of `explain` on one core", " s", "60"),
}
EXPLAIN = (
    "import sys; from thalweg._explain.verdict import explain; import resource; "
    "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; lines = explain(sys.argv[1]).lines(); "
    "used = resource.getrusage(resource.RUSAGE_SELF); "
    "print(base, used.ru_maxrss, used.ru_utime + used.ru_stime, len(lines))"
)


def spread(values: list[float]) -> dict[str, Any]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "runs": len(values)}


def added(folder: Path, program: Path, what: str, *, is_traced: bool) -> tuple[float, float]:
    """Returns the median time of a plain call, and what a traced one takes more, in nanoseconds."""
    words = [str(program), what, "300", str(folder / "data")]
    if is_traced:
        words = [str(THALWEG), "trace", "--force", "--out", f"{folder}/t.root", "--", *words]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = np.array([line.split() for line in told.splitlines()], float)
    return float(np.median(rows[:, 0])), float(np.median(rows[:, 1] - rows[:, 0]))


def fork(folder: Path, program: Path) -> tuple[float, float]:
    """Returns the time of a plain fork in microseconds, and how many times as long a traced one takes."""
    words = [program, "fork", 1000, folder / "data"]
    plain = run(words)
    return plain / 1e3, traced(folder, words)[0] / plain


def explained(path: Path, calls: int) -> dict[str, float]:
    """Runs explain on one core, and returns its memory and time."""
    core = min(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(core), sys.executable, "-c", EXPLAIN, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    base, most = int(told[0]) * 1024, int(told[1]) * 1024
    return {"bytes a call": (most - base) / calls, "MB": most / 1e6, "seconds": float(told[2])}


def measure(rounds: int, calls: int) -> dict[str, Any]:
    results: dict[str, Any] = {"calls": calls, "load": [os.getloadavg()[0]]}
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="thalweg-study-") as name:
        folder = Path(name)
        for each in ("calls", "pairs"):
            subprocess.run(["cc", "-O2", "-o", folder / each, HERE / f"{each}.c"], check=True)
        found: dict[str, list[float]] = {}
        for _ in range(rounds):
            for what in ("seek", "write"):
                for is_traced in (True, False):
                    plain, more = added(folder, folder / "pairs", what, is_traced=is_traced)
                    found.setdefault(what if is_traced else f"{what}, untraced", []).append(more)
                    found.setdefault(f"{what}, plain ns", []).append(plain)
            plain, ratio = fork(folder, folder / "calls")
            found.setdefault("fork", []).append(ratio)
            found.setdefault("fork, plain us", []).append(plain)
            results["load"].append(os.getloadavg()[0])
        # Rules leave files in memory out.
        with tempfile.TemporaryDirectory(prefix="thalweg-study-") as on_disk:
            place = Path(on_disk)
            _, report = traced(place, [folder / "calls", "write", calls, place / "data"])
            results["explained calls"] = recorded = report["calls"]["posix"]  # type: ignore[index]
            for _ in range(3):
                for key, value in explained(place / "t.root", recorded).items():
                    found.setdefault(f"explain, {key}", []).append(value)
        results["load"].append(os.getloadavg()[0])
    return results | {key: spread(values) for key, values in found.items()}


def table(results: dict[str, Any]) -> str:
    lines = ["| figure | measured | wanted |", "|---|---|---|"]
    for key, (what, unit, wanted) in WANTED.items():
        each = results[key]
        lines.append(f"| {what} | {each['median']:.3g}{unit} ({each['least']:.3g} to {each['most']:.3g}) | {wanted} |")
    plain = [("lseek", "seek, plain ns", "ns"), ("pwrite", "write, plain ns", "ns"), ("fork", "fork, plain us", "us")]
    times = ", ".join(f"{name} {results[key]['median']:.0f} {unit}" for name, key, unit in plain)
    load, runs = results["load"], results["fork"]["runs"]
    told = (
        f"Without trace: {times}. {runs} runs (`explain`: 3, of {results['explained calls']:,} calls), load average "
        f"{min(load):.0f} to {max(load):.0f}. Medians, with the range."
    )
    return "\n".join([*lines, "", told])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=10_000_000)
    options = parser.parse_args()
    results = measure(options.rounds, options.calls)
    (HERE / "results" / "prices.json").write_text(json.dumps(results, indent=1) + "\n")
    before, _, rest = (HERE / "README.md").read_text().partition(MARKS[0])
    text = f"{before}{MARKS[0]}\n{table(results)}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}"
    (HERE / "README.md").write_text(text)
    print(table(results))


if __name__ == "__main__":
    main()
