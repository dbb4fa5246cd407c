import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import programs
from harness.figures import Best, Figure, Measure, Round, of_one
from harness.programs import STUDIES, Measurement, call
from harness.study import Study
from shared_writer.model import RATIOS, on_two_cores

HERE = Path(__file__).resolve().parent
WAYS = ("own", "shared", "legacy", "merge")
LOOP = "loop in C++, 1 x 1"
REWRITE = "rewrite, 2"
OF_ROOT = "hadd -ff and Snapshot"
MANY_PAGES = "own, pages of 1 KiB"
LONG = "own, p/c = 3.5, a job four times as long"
LOOPS = ((1, 1), (2, 1), (1, 2), (2, 2))  # processes, and threads of each
ROOT = programs.REPOSITORY / "build/root"
SINGLE = ("slim, copied", "slim, decoded", "append, columns", "append, awkward", "merge", "copy")


@dataclass
class Programs(programs.Programs):
    encoding_s: float = 0.0  # the c of the arithmetic: CPU that encoding an event takes

    @property
    def ranges(self) -> int:
        return 40 if self.page_count <= 100_000 else 400

    def build(self) -> None:
        super().build()
        if not (ROOT / "installed").exists():
            self.missing[OF_ROOT] = "ROOT is not installed (make test-root does that)"

    def python(self, script: str, *words: object) -> Measurement:
        path = os.pathsep.join(filter(None, [str(STUDIES), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, str(HERE / script), *map(str, words)]
        return dict(json.loads(call(command, {"PYTHONPATH": path})))

    def hadd(self) -> Measurement:
        """Copies the same three files as `merge`, equally durable."""
        self.require(OF_ROOT)
        program = next(ROOT.glob("lib/python3*/site-packages/ROOT/bin/hadd"))
        target = self.files / "target-hadd.root"
        target.unlink(missing_ok=True)
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        call([str(program), "-ff", str(target), *(str(self.files / f"input-{i}.root") for i in range(3))])
        with target.open("rb+") as file:
            os.fsync(file.fileno())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"seconds": time.monotonic() - begin, "cpu_s": took, "bytes": target.stat().st_size}

    def snapshot(self, threads: int) -> Measurement:
        self.require(OF_ROOT)
        files = [self.files / "input-wide.root", self.files / "target-snapshot.root"]
        command = [ROOT / "bin/python", "-W", "ignore", HERE / "root_snapshot.py", *files, threads]
        return dict(json.loads(call([str(word) for word in command])))

    def uproot_loop(self) -> Measurement:
        files = [self.files / "input-wide.root", self.files / "target-uproot.root"]
        return self.python("uproot_loop.py", *files)

    def way(self, way: str, processing_s: float, *words: object, times: int = 1) -> Measurement:
        options = ("--ranges", times * self.ranges, "--processing", processing_s)
        return self.python("ways.py", way, self.files, *options, *words)

    def loop(self, workers: int, threads: int) -> Measurement:
        """In C++, with as much processing as encoding. Its input is written the first time."""
        options = {"events": 2000 * self.ranges, "processing_ns": round(self.encoding_s * 1e9)}
        return self.study("event-loop", folder=self.files, workers=workers, threads=threads, **options)

    def prepare_files(self) -> None:
        self.python("single.py", "write", self.files, self.ranges)
        each = {way: self.way(way, 0, "--workers", 1)["worker_cpu_us_per_event"] for way in ("own", "alone")}
        self.encoding_s = (each["own"] - each["alone"]) / 1e6

    def versions(self) -> dict[str, str]:
        return {"python": sys.version.split()[0], "encoding an event": f"{self.encoding_s * 1e6:.1f} µs of CPU"}

    def two_jobs(self, ratio: float) -> Measurement:
        """Runs two jobs of one worker each at once: one job with two workers cannot be faster."""
        folders = [self.files / f"target-job{i}" for i in range(2)]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        options = ("--ranges", self.ranges // 2, "--processing", ratio * self.encoding_s, "--workers", 1)
        words = [" ".join(map(str, ("ways.py", "own", folder, *options))) for folder in folders]
        both = self.python("both.py", *words)
        for folder in folders:
            shutil.rmtree(folder)
        return both


def of_way(way: str, ratio: float, *words: object) -> Callable[[Programs], Measurement]:
    return lambda each: each.way(way, ratio * each.encoding_s, *words)


def of_single(what: str, *words: object) -> Callable[[Programs], Measurement]:
    return lambda each: each.python("single.py", what, each.files, *words)


def of_loop(workers: int, threads: int) -> Callable[[Programs], Measurement]:
    return lambda each: each.loop(workers, threads)


def of_snapshot(threads: int) -> Callable[[Programs], Measurement]:
    return lambda each: each.snapshot(threads)


VARIANTS = {
    **{f"{way}, p/c = {ratio}": of_way(way, ratio) for ratio in RATIOS for way in WAYS},
    **{f"{way}, compression does not matter": of_way(way, 1.0, "--cheap") for way in ("own", "legacy")},
    LONG: lambda each: each.way("own", 3.5 * each.encoding_s, times=4),
    MANY_PAGES: of_way("own", 1.0, "--page-bytes", 1024),
    "processing alone": of_way("alone", 1.0),
    "two jobs, p/c = 1.0": lambda each: each.two_jobs(1.0),
    **{what: of_single(what) for what in SINGLE},
    "hadd -ff": lambda each: each.hadd(),
    **{f"rewrite, {count}": of_single("rewrite", count) for count in (1, 2)},
    **{f"Snapshot, {count}": of_snapshot(count) for count in (1, 2)},
    "uproot loop": lambda each: each.uproot_loop(),
    **{f"loop in C++, {processes} x {threads}": of_loop(processes, threads) for processes, threads in LOOPS},
}


def ratio_of(name: str, target: str, key: str, over: str, under: str) -> Figure:
    return Figure(name, target, lambda each: each[over][key] / each[under][key], (over, under))


def all_figures(_: Best) -> list[Figure]:
    figures = []
    for p in RATIOS:
        name = f"p/c = {p}"
        rate = f"rate, own / legacy, 2 workers, {name} (arithmetic: {on_two_cores(p):.2f})"
        own, old = f"own, {name}", f"legacy, {name}"
        figures += [
            ratio_of(rate, "≥ 1.5" if p == RATIOS[0] else "", "events_per_s", own, old),
            ratio_of(f"CPU of all processes, legacy / own, {name}", "≥ 1", "cpu_us_per_event", old, own),
            ratio_of(f"rate, own / shared, {name}", "", "events_per_s", own, f"shared, {name}"),
            ratio_of(f"rate, own / merge, {name}", "", "events_per_s", own, f"merge, {name}"),
        ]
    cheap = "compression does not matter"
    plain = "own, p/c = 1.0"
    figures += [
        ratio_of(f"rate, own / legacy, {cheap}", "", "events_per_s", f"own, {cheap}", f"legacy, {cheap}"),
        ratio_of("rate, 2 workers / two jobs of one worker", "≥ 0.95", "events_per_s", plain, "two jobs, p/c = 1.0"),
        of_one("the process that commits, of the job's CPU, p/c = 3.5", "≤ 0.02", "own, p/c = 3.5", "writer_cpu_share"),
        of_one("the same, of a job four times as long", "≤ 0.02", LONG, "writer_cpu_share"),
        Figure("its close, CPU for each page more, µs", "≤ 2", close_us, (MANY_PAGES, plain)),
        Figure(
            "memory of a worker over processing alone, MiB",
            "≤ 128",
            lambda each: each[plain]["worker_pss_MiB"] - each["processing alone"]["worker_pss_MiB"],
            (plain, "processing alone"),
        ),
        Figure("idle tail of derive / time of a range, 2 workers", "≤ 1", tail, (REWRITE,)),
        ratio_of("slim by page copy / decode and encode, CPU of workers", "≤ 0.1", "worker_cpu_s", *SINGLE[:2]),
        ratio_of("append of nested arrays / append_columns", "≤ 1.5", "append_us_per_event", SINGLE[3], SINGLE[2]),
        ratio_of("merge of three files / cp and sync, wall", "≤ 1.25", "seconds", "merge", "copy"),
        ratio_of("merge of three files / hadd -ff, CPU", "≤ 0.5", "cpu_s", "merge", "hadd -ff"),
        ratio_of("file of 701 columns, ours / of Snapshot", "≤ 1.03", "bytes", "rewrite, 1", "Snapshot, 1"),
        ratio_of(
            "all of it read and written, Snapshot / ours, wall, 1 thread", "", "seconds", "Snapshot, 1", "rewrite, 1"
        ),
        ratio_of("the same, 2 threads, 2 workers", "", "seconds", "Snapshot, 2", "rewrite, 2"),
        ratio_of("the same, CPU, 1 thread", "", "cpu_s", "Snapshot, 1", "rewrite, 1"),
        ratio_of("the same, CPU, a loop with uproot / ours", "", "cpu_s", "uproot loop", "rewrite, 1"),
        *(
            ratio_of(f"{what} of a loop in C++, {a} x {b} / 1 x 1", "", key, f"loop in C++, {a} x {b}", LOOP)
            for a, b in LOOPS[1:]
            for what, key in (("rate", "events_per_s"), ("memory", "pss_MiB"))
        ),
    ]
    return figures


def close_us(each: Round) -> float:
    """Returns the CPU time of a close per page, in µs, without what every close costs."""
    many, few = each[MANY_PAGES], each["own, p/c = 1.0"]
    return float((many["close_cpu_s"] - few["close_cpu_s"]) / (many["pages"] - few["pages"]) * 1e6)


def tail(each: Round) -> float:
    """The longest that a worker had no range left, where ranges are clusters of the input."""
    return each[REWRITE]["idle_s"] / each[REWRITE]["range_s"]


STUDY = Study(
    "shared_writer",
    1,
    Programs,
    VARIANTS,
    all_figures,
    (),
    measure=Measure("events_per_s", "events/s", "events/s (dots: the rounds)", "two workers, two outputs"),
    columns=("seconds", "events_per_s", "cpu_us_per_event", "writer_cpu_share", "worker_pss_MiB", "tail_s"),
    told=("events_per_s", "cpu_us_per_event", "writer_cpu_share", "cpu_s", "append_us_per_event"),
    ours=("own", "slim, copied", "merge"),
    rounds=5,
)
