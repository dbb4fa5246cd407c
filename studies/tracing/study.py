"""study.py [--rounds N] [--only WORD]: what tracing costs the traced program, and what a call takes in the file.

Plain and traced runs of the same program alternate; ratios are of one round. Writes results/results.json.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from thalweg._trace import records
from thalweg._trace.names import Names
from thalweg._trace.tables import CallsTable, Clock, create_trace

HERE = Path(__file__).parent
THALWEG = Path(sys.executable).with_name("thalweg")


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def run(words: list[object]) -> float:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    return float(done.stdout)


def traced(folder: Path, words: list[object], *options: object) -> tuple[float, dict[str, object]]:
    out = folder / "t.root"
    took = run([THALWEG, "trace", "--force", "--out", out, *options, "--", *words])
    import thalweg as tw

    report = json.loads(tw.open(out).metadata["trace"])
    return took, report | {"bytes": out.stat().st_size}


def costs(folder: Path, program: Path, what: str, calls: int, rounds: int) -> dict[str, object]:
    plain, with_trace, dropped = [], [], 0
    for _ in range(rounds):
        words = [program, what, calls, folder / "data"]
        plain.append(run(words))
        took, report = traced(folder, words)
        with_trace.append(took)
        dropped += sum(report["dropped"].values())  # type: ignore[attr-defined]
    pairs = list(zip(plain, with_trace, strict=True))
    return {
        "calls": calls,
        "plain_ns": spread(plain),
        "traced_ns": spread(with_trace),
        "added_ns": spread([b - a for a, b in pairs]),
        "added_share": spread([b / a - 1 for a, b in pairs]),
        "dropped_share": dropped / calls / rounds,
    }


def bytes_a_call(folder: Path, program: Path) -> dict[str, float]:
    found = {}
    for what, resolution in (("write", 1), ("write", 10), ("write", 100), ("random", 10)):
        calls = 200_000 if what == "random" else 1_000_000
        words = [program, what, calls, folder / "data"]
        _, report = traced(folder, words, "--resolution", resolution)
        _, few = traced(folder, [program, what, 1, folder / "data"], "--resolution", resolution)
        kept = report["calls"]["posix"]  # type: ignore[index]
        found[f"{what}, {resolution} ns"] = (report["bytes"] - few["bytes"]) / kept  # type: ignore[operator]
    return found


def parameters_a_call(folder: Path, program: Path) -> float:
    """Returns the bytes of all columns except the two with times, for writes in order: the cost of a call without
    its time."""
    _, report = traced(folder, [program, "write", 1_000_000, folder / "data"])
    command = [str(THALWEG), "inspect", "--json", str(folder / "t.root")]
    facts = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    (table,) = [each for each in facts["tables"] if each["name"] == "posix"]
    columns = {name: each["stored_bytes"] for name, each in table["columns"].items()}
    kept: int = report["calls"]["posix"]  # type: ignore[index]
    return float(sum(size for name, size in columns.items() if name not in ("gap", "duration"))) / kept


H5PY = """
import sys, time, h5py, numpy as np
data = np.random.default_rng(1).normal(size=1 << 24)
with h5py.File(sys.argv[1], "w") as file:
    begin = time.thread_time()
    file.create_dataset("x", data=data, chunks=(1 << 17,))
    file.flush()
    print(time.thread_time() - begin)
"""


def chunks_of_h5py(folder: Path, rounds: int) -> dict[str, object]:
    """128 MiB in chunks of 1 MiB, plain and traced in turn: CPU seconds of the thread, and calls that were recorded."""
    plain, with_trace, calls = [], [], 0
    for _ in range(rounds):
        words = [sys.executable, "-c", H5PY, folder / "x.h5"]
        plain.append(run(words))
        took, report = traced(folder, words)
        with_trace.append(took)
        calls = sum(report["calls"].values())  # type: ignore[attr-defined]
    shares = [b / a - 1 for a, b in zip(plain, with_trace, strict=True)]
    return {"plain_s": spread(plain), "traced_s": spread(with_trace), "added_share": spread(shares), "calls": calls}


def drain(folder: Path, rounds: int) -> dict[str, float]:
    """Million calls a second of CPU of the whole tracer: from records to a file that is closed."""
    generator = np.random.default_rng(1)
    batch = 1 << 15
    rates = []
    for _ in range(rounds):
        calls = np.zeros(batch, records.RECORD)
        durations = generator.normal(2000, 200, batch).astype(np.uint64)
        calls["end"] = np.cumsum(durations + 100)
        calls["start"] = calls["end"] - durations
        calls["operation"] = next(i for i, each in enumerate(records.operations()) if each.name == "pwrite")
        calls["size"] = calls["result"] = 4096
        calls["offset"] = np.arange(batch) * 4096
        begin = time.process_time()
        with create_trace(str(folder / "drained.root"), 10, force=True) as out:
            tables, names = CallsTable(out, Clock((0, 0), 10)), Names()
            for _ in range(100):
                taken = names.learn(calls.copy(), 1, 0)
                tables.append(taken, names.rows(taken["file"]), {"process": 1, "thread": 0, "rank": -1})
                calls["start"] += calls["end"][-1]
                calls["end"] += calls["end"][-1]
        rates.append(100 * batch / (time.process_time() - begin) / 1e6)
    return spread(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="a word of what is measured again; the rest stays as it was")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="thalweg-study-") as name:
        folder = Path(name)
        program = folder / "calls"
        subprocess.run(["cc", "-O2", "-o", program, HERE / "calls.c"], check=True)
        measured: dict[str, Callable[[], object]] = {
            "seek": lambda: costs(folder, program, "seek", 1_000_000, rounds),
            "write": lambda: costs(folder, program, "write", 1_000_000, rounds),
            "bytes_a_call": lambda: bytes_a_call(folder, program),
            "bytes_of_parameters": lambda: parameters_a_call(folder, program),
            "h5py, chunks of 1 MiB": lambda: chunks_of_h5py(folder, 3 * rounds),
            "drain_million_a_second_of_cpu": lambda: drain(folder, 5),
        }
        before = json.loads((HERE / "results" / "results.json").read_text())
        results = {"cores": os.cpu_count(), "rounds": rounds} if not arguments.only else before
        results |= {key: measure() for key, measure in measured.items() if arguments.only in key}
    (HERE / "results" / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
