"""study.py [--rounds N] [--raw MB] [--loop]: how large are the requests that reach the disk? Needs root.

Every round records the same pulses in all ways, in random order, in a file of its own on the disk of build/bench, or,
with --loop, on a loop device whose image lies there. Writes results/summary.json and the tables of README.md.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the folder of all studies, which are no package

from device_requests.block_trace import BlockTrace, Request, requests_of_file  # noqa: E402
from device_requests.table import SUMMARY, with_results  # noqa: E402
from harness import machine  # noqa: E402
from harness.programs import REPOSITORY, WORK  # noqa: E402

HERE = Path(__file__).resolve().parent
RECORD = Path(__file__).with_name("recording.py")
LARGE = 1 << 20


@dataclass(frozen=True)
class Way:
    codec: str
    """Empty: the default."""
    pages: str
    """huge: of 2 MiB, if the system gives them; small: of 4 KiB."""
    engine: str

    def __str__(self) -> str:
        engine = "through the page cache" if self.engine == "posix" else f"direct, {self.engine}"
        return f"{'encoded' if not self.codec else 'raw'}, {self.pages} pages, {engine}"


WAYS = [
    Way(codec, pages, engine)
    for codec in ("", "none")
    for pages in ("huge", "small")
    for engine in ("uring", "threads")
] + [Way("", "huge", "posix")]


@contextmanager
def folder_on_disk(*, on_loop: bool) -> Iterator[tuple[Path, Path]]:
    """Gives a folder, and the disk on which its files lie directly."""
    WORK.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=WORK, prefix="requests-") as name:
        folder = Path(name)
        if not on_loop:
            yield folder, Path(_said("findmnt", "-no", "SOURCE", "-T", name))
            return
        image, mounted = folder / "image", folder / "mounted"
        mounted.mkdir()
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 4 << 30)
        disk = _said("losetup", "--find", "--show", "--direct-io=on", str(image))
        try:
            subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk], check=True)
            subprocess.run(["mount", disk, str(mounted)], check=True)
            try:
                yield mounted, Path(disk)
            finally:
                subprocess.run(["umount", str(mounted)], check=True)
        finally:
            subprocess.run(["losetup", "--detach", disk], check=True)


def _said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def measured(way: Way, folder: Path, disk: Path, raw_mb: int) -> dict[str, Any]:
    path = folder / "run.h5"
    path.unlink(missing_ok=True)
    os.sync()
    words = [sys.executable, str(RECORD), str(path), way.codec or "default", way.pages, way.engine, str(raw_mb)]
    with BlockTrace(disk).taken() as requests:
        said = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        os.sync()
    mine = requests_of_file(requests, path)
    missing = path.stat().st_size - sum(each.bytes for each in mine)
    if missing > 0:
        raise RuntimeError(f"{missing:,} bytes of the run are in no request")
    return said | _sizes(mine) | {"stored_mb": path.stat().st_size / 1e6, "load": os.getloadavg()[0]}


def _sizes(requests: list[Request]) -> dict[str, float]:
    sizes = [each.bytes for each in requests]
    large = sum(size for size in sizes if size >= LARGE)
    return {
        "mean_mb": statistics.fmean(sizes) / 1e6,
        "median_mb": statistics.median(sizes) / 1e6,
        "requests": len(sizes),
        "written_mb": sum(sizes) / 1e6,
        "share_of_large": large / sum(sizes),
    }


def limits_of(disk: Path) -> dict[str, int]:
    queue = Path("/sys/block") / disk.name / "queue"
    return {name: int((queue / name).read_text()) for name in ("max_sectors_kb", "max_segments", "max_segment_size")}


def spread(values: list[float]) -> list[float]:
    return [float(f"{each:.4g}") for each in (statistics.median(values), min(values), max(values))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--raw", type=int, default=512, help="MB of raw data in a run (default: %(default)s)")
    parser.add_argument("--loop", action="store_true", help="on a loop device of its own")
    parser.add_argument("--draw", action="store_true", help="measure nothing: write README.md again")
    options = parser.parse_args()
    readme = HERE / "README.md"
    kept = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
    if not options.draw:
        kept["a loop device" if options.loop else "the disk"] = _measure(options)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in kept.items())
        SUMMARY.write_text(f"{{\n{lines}\n}}\n")
    readme.write_text(with_results(readme.read_text(), kept))


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {str(way): [] for way in WAYS}
    with folder_on_disk(on_loop=options.loop) as (folder, disk):
        limits = limits_of(disk)
        for index in range(options.rounds):
            for way in random.Random(index).sample(WAYS, len(WAYS)):
                found[str(way)].append(measured(way, folder, disk, options.raw))
                one = found[str(way)][-1]
                print(f"{index} {way}: mean {one['mean_mb']:.2f} MB, {one['requests']} requests", file=sys.stderr)
    names = ("mean_mb", "median_mb", "share_of_large", "huge_mb", "seconds", "requests", "written_mb", "stored_mb")
    return {
        "ways": {way: {name: spread([each[name] for each in all_]) for name in names} for way, all_ in found.items()},
        "limits": limits,
        "rounds": options.rounds,
        "raw_mb": options.raw,
        "machine": machine.describe(HERE, REPOSITORY),
        "load": spread([each["load"] for all_ in found.values() for each in all_]),
    }


if __name__ == "__main__":
    main()
