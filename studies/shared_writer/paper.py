"""paper.py FOLDER [--events 25000]: table 1 and figures 1 and 2 of the paper, with ours beside them.

Outputs are of the weights of DAOD_PHYS and PHYSLITE (`sample.py`). Each run is kept in results/paper.json when done.
Without a folder nothing is run: tables and figures are made of what is there.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
from harness.machine import busy_now
from shared_writer.material import RANGE
from shared_writer.model import PAPER

matplotlib.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
WAYS = ("legacy", "shared", "own", "merge", "serial")
COLOURS = dict(zip(WAYS, ("tab:orange", "tab:blue", "tab:green", "tab:purple", "tab:red"), strict=True))
WORKERS = (1, 2, 4)
FLUSHES = (1000, 4000, 12_500)  # N_AutoFlush, of `shared`
CHEAP = "legacy, compression does not matter"

DELTAS = {4: (21, 9), 8: (70, 13), 16: (216, 25)}  # percent, as the paper prints them: of rates, and of memory

Runs = dict[str, dict[str, Any]]


def plan() -> dict[str, list[Any]]:
    """Returns the arguments of ways.py by name. Runs with two workers come first, because the figures need them."""
    sample = ["--sample"]
    runs: dict[str, list[Any]] = {f"{way}, 2 workers": [way, *sample, "--workers", 2] for way in WAYS}
    runs[CHEAP] = ["legacy", "--cheap", "--workers", 2]
    for count in (1, 4):
        runs |= {f"{way}, {count} workers": [way, *sample, "--workers", count] for way in WAYS[:3]}
    for events in FLUSHES:
        if events != 4000:
            runs[f"shared, N_AutoFlush {events}"] = ["shared", *sample, "--workers", 2, "--auto-flush", events]
    return runs


def measure(folder: Path, words: list[Any], events: int) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    way, *rest = words
    command = [sys.executable, HERE / "ways.py", way, folder, "--ranges", events // RANGE, "--watch", *rest]
    path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH", "")]))
    busy = busy_now()
    done = subprocess.run(
        list(map(str, command)), env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE
    )
    shutil.rmtree(folder)
    return {**json.loads(done.stdout), "events": events, "other_work_cores": busy}


def table(runs: Runs) -> str:
    """Table 1, every cell: the paper's, and ours."""
    lines = [
        "| | workers | legacy, events/s | new | Δ | legacy, memory a worker | new | Δ |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for workers, (old, new, old_gb, new_gb) in PAPER.items():
        more = DELTAS[workers]
        lines.append(
            f"| the paper | {workers} | {old} | {new} | +{more[0]}% | {old_gb} GB | {new_gb:.2f} GB | +{more[1]}% |"
        )
    for name in ("shared", "own"):
        for workers in WORKERS:
            old_run, new_run = (runs.get(f"{way}, {workers} workers") for way in ("legacy", name))
            if not old_run or not new_run:
                continue
            memory = [each["worker_most_pss_MiB"] for each in (old_run, new_run)]
            rates = [round(each["events_per_s"]) for each in (old_run, new_run)]
            lines.append(row(f"`{name}`", workers, *rates, *(f"{each:.0f} MiB" for each in memory), *memory))
    return "\n".join(lines)


def row(who: str, workers: int, old: float, new: float, old_text: str, new_text: str, a: float, b: float) -> str:
    return f"| {who} | {workers} | {old} | {new} | {new / old - 1:+.0%} | {old_text} | {new_text} | {b / a - 1:+.0%} |"


def ways_table(runs: Runs) -> str:
    heads = (
        "events/s",
        "CPU, µs an event",
        "most PSS of a worker, MiB",
        "of who writes",
        "merge at the end, s",
        "file, MB",
    )
    lines = ["| two workers | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name in [f"{way}, 2 workers" for way in WAYS] + [each for each in runs if "N_AutoFlush" in each]:
        if not (each := runs.get(name)):
            continue
        cells = [
            f"{each[key]:.0f}"
            for key in ("events_per_s", "cpu_us_per_event", "worker_most_pss_MiB", "writer_most_pss_MiB")
        ]
        cells += [f"{each.get('merge_s', 0):.1f}", f"{each['file_bytes'] / 1e6:.0f}"]
        lines.append(f"| {name.removesuffix(', 2 workers')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw_cpu(runs: Runs) -> None:
    """Figure 1: who uses how many cores while the job goes on."""
    ways = [way for way in WAYS if f"{way}, 2 workers" in runs]
    figure, axes = plt.subplots(1, len(ways), figsize=(3.2 * len(ways), 3), sharey=True, squeeze=False)
    for axis, way in zip(axes[0], ways, strict=True):
        seen = smoothed(runs[f"{way}, 2 workers"]["cpu_over_time"])
        times, writer, workers = (list(each) for each in zip(*seen, strict=True))
        axis.stackplot(times, workers, writer, labels=("workers", "who writes"), colors=("tab:blue", "tab:orange"))
        axis.set_title(way)
        axis.set_xlabel("wall time, s")
    axes[0][0].set_ylabel("cores")
    axes[0][0].set_ylim(top=2.6)  # room for the legend above two cores
    axes[0][0].legend(loc="upper left", fontsize=8, ncols=2)
    figure.tight_layout()
    figure.savefig(RESULTS / "paper_cpu.png", dpi=110)


def smoothed(seen: list[list[float]]) -> list[list[float]]:
    """Means over a twentieth of the time, half a second at least: the kernel counts CPU in hundredths."""
    over_s = max(0.5, seen[-1][0] / 20)
    groups: dict[int, list[list[float]]] = {}
    for each in seen:
        groups.setdefault(int(each[0] / over_s), []).append(each)
    return [[sum(values) / len(group) for values in zip(*group, strict=True)] for group in groups.values()]


def draw_events(runs: Runs) -> None:
    """Figure 2, events of a worker over those of the first: here of one beside others over one alone. Workers take
    ranges when they are free, so that each has as many as the others, and all of them fewer where they wait."""
    figure, axis = plt.subplots(figsize=(5, 3.2))
    for way in WAYS[:3]:
        rates = [runs[name]["events_per_s"] / count for count in WORKERS if (name := f"{way}, {count} workers") in runs]
        counts = [count for count in WORKERS if f"{way}, {count} workers" in runs]
        if rates:
            axis.plot(counts, [each / rates[0] for each in rates], "o-", label=way, color=COLOURS[way])
    axis.set_xlabel("workers (two cores)")
    axis.set_ylabel("events a worker, normalised")
    axis.set_ylim(bottom=0)
    axis.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "paper_events.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--events", type=int, default=25_000)
    parser.add_argument("--only", help="runs with this in their name")
    options = parser.parse_args()
    kept = RESULTS / "paper.json"
    runs: Runs = json.loads(kept.read_text()) if kept.exists() else {}
    for name, words in plan().items() if options.folder else ():
        if options.only and options.only not in name:
            continue
        runs[name] = measure(options.folder / "paper", words, options.events)
        kept.write_text(json.dumps(runs) + "\n")
        print(f"{name}: {runs[name]['events_per_s']:.0f} events/s", file=sys.stderr, flush=True)
    print(f"{table(runs)}\n\n{ways_table(runs)}")
    draw_cpu(runs)
    draw_events(runs)


if __name__ == "__main__":
    main()
