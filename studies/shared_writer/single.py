"""single.py WHAT FOLDER: what one process costs: slimming and appending both ways, a merge and a copy of files."""

import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

import awkward as ak
import numpy as np
from shared_writer.material import RANGE, Output, train, wide

import thalweg as tw


def cpu() -> float:
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def write(path: Path, output: Output, first: int, ranges: int) -> None:
    with (
        tw.create(path, {"Events": output.schema}, codec="zstd-5", force=True) as out,
        out.producer("Events") as producer,
    ):
        for number in range(first, first + ranges):
            producer.append_columns(RANGE, output.columns(number))


def slim(folder: Path, copy: bool) -> dict[str, float]:
    """Half of the columns."""
    keep = ["event", *(f"number{i}" for i in range(0, 500, 2)), *(f"list{i}" for i in range(0, 100, 2))]
    derivation = tw.Derivation(folder / "target-slim.root", keep=keep, copy_pages=copy)
    before, begin = cpu(), time.monotonic()
    report = tw.derive(folder / "input-wide.root", [derivation], workers=1, force=True).run()
    workers = sum(each.cpu for each in report.workers)
    return {"seconds": time.monotonic() - begin, "cpu_s": cpu() - before, "worker_cpu_s": workers}


def rewrite(folder: Path, workers: int) -> dict[str, float]:
    """All columns, decoded and encoded."""
    target = folder / "target-rewritten.root"
    derivation = tw.Derivation(target, keep="*", codec="zstd-5", copy_pages=False)
    before, begin = cpu(), time.monotonic()
    report = tw.derive(folder / "input-wide.root", [derivation], workers=workers, force=True).run()
    seconds, done = time.monotonic() - begin, report.workers
    return {
        "seconds": seconds,
        "cpu_s": cpu() - before,
        "bytes": float(target.stat().st_size),
        "idle_s": max(each.idle for each in done),
        "range_s": sum(each.busy for each in done) / sum(each.ranges for each in done),
    }


def append(awkward: bool) -> dict[str, float]:
    """Nested arrays in memory, or the same as flat columns, 251 of them."""
    random = np.random.default_rng(1)
    count, rounds = 2000, 20
    schema = {"event": tw.uint64} | {f"number{i}": tw.float32 for i in range(50)}
    schema |= {f"list{i}": tw.list_(tw.float32) for i in range(70)}
    schema |= {f"jet{i}": tw.list_({"pt": tw.float32, "eta": tw.float32}) for i in range(20)}
    flat, nested = [np.arange(count, dtype=np.uint64)], {}
    nested["event"] = flat[0]
    for name in list(schema)[1:]:
        lengths = random.poisson(3, count)
        parts = [random.exponential(20, lengths.sum()).astype(np.float32) for _ in range(2)]
        if name.startswith("number"):
            nested[name] = random.exponential(20, count).astype(np.float32)
            flat.append(nested[name])
        elif name.startswith("list"):
            nested[name] = ak.unflatten(parts[0], lengths)
            flat += [lengths.astype(np.uint64), parts[0]]
        else:
            nested[name] = ak.unflatten(ak.zip({"pt": parts[0], "eta": parts[1]}), lengths)
            flat += [lengths.astype(np.uint64), *parts]
    rows, took = ak.zip(nested, depth_limit=1), 0.0
    path = Path(sys.argv[2]) / "target-append.root"
    with tw.create(path, {"Events": schema}, force=True) as out, out.producer("Events") as producer:
        for _ in range(rounds):
            before = time.thread_time()
            producer.append(rows) if awkward else producer.append_columns(count, flat)
            took += time.thread_time() - before
    return {"append_us_per_event": took / rounds / count * 1e6, "columns": len(flat)}


def merge(folder: Path) -> dict[str, float]:
    before, begin = cpu(), time.monotonic()
    tw.merge([folder / f"input-{i}.root" for i in range(3)], folder / "target-merged.root", force=True)
    return {"seconds": time.monotonic() - begin, "cpu_s": cpu() - before}


def copy(folder: Path) -> dict[str, float]:
    """Copies the same three files, equally durable, as a merge does."""
    before, begin = cpu(), time.monotonic()
    for i in range(3):
        shutil.copyfile(folder / f"input-{i}.root", folder / f"target-copy-{i}.root")
        with (folder / f"target-copy-{i}.root").open("rb+") as file:
            os.fsync(file.fileno())
    return {"seconds": time.monotonic() - begin, "cpu_s": cpu() - before}


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "write":
        ranges = int(sys.argv[3])
        for i in range(3):
            write(folder / f"input-{i}.root", train()[0], i * ranges, ranges)
        write(folder / "input-wide.root", wide(), 0, ranges)
        measured = {"bytes": float((folder / "input-0.root").stat().st_size)}
    elif what.startswith("slim"):
        measured = slim(folder, what.endswith("copied"))
    elif what.startswith("rewrite"):
        measured = rewrite(folder, int(sys.argv[3]))
    elif what.startswith("append"):
        measured = append(what.endswith("awkward"))
    else:
        measured = {"merge": merge, "copy": copy}[what](folder)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
