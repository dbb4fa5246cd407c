"""ways.py WAY ...: one job, whose workers write their outputs together in one of four ways; tells what it took.

own     workers write extents of the outputs themselves, as `tw.derive` has it
shared  workers write small files in memory, and one process copies their clusters (the paper's new mode)
legacy  workers send rows, and one process encodes and writes them (the paper's old mode)
merge   workers write files of their own, which are merged at the end
serial  the same, and one process reads and writes all rows again at the end: plain workers, the paper's worst case
"""

import argparse
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shared_writer.material import RANGE, Output, train
from shared_writer.sample import sampled_train
from shared_writer.watch import Watch, pss_mib

import thalweg as tw
from thalweg import _core
from thalweg._derive.kept import kept_columns

AUTO_FLUSH = 4000  # events of a file in memory
WAYS = ("own", "shared", "legacy", "merge", "serial")
CODEC = "zstd-5"
_context = multiprocessing.get_context("fork")


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    use = resource.getrusage(who)
    return use.ru_utime + use.ru_stime


def work(seconds: float) -> None:
    """Uses the CPU time that processing a range would take."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Job:
    """`processing`: seconds of CPU an event, before its rows are appended."""

    def __init__(self, folder: Path, outputs: list[Output], workers: int, ranges: int, processing: float) -> None:
        self.folder, self.outputs, self.workers, self.ranges = folder, outputs, workers, ranges
        self.processing = processing
        self.next = _context.Value("q", 0)
        self.ends = _context.Queue()
        self.per_file = max(1, AUTO_FLUSH // RANGE)
        self.taken = 0  # ranges, by this process
        self.tuning: dict[str, Any] = {}

    def path(self, output: Output) -> Path:
        return self.folder / f"target-{output.name}.root"

    def create(self, path: Path, output: Output, **options: Any) -> tw.Writer:
        return tw.create(path, {"Events": output.schema}, codec=CODEC, force=True, tuning=self.tuning, **options)

    def take(self) -> int | None:
        """Takes the next range and processes it. Returns its number, or None if there is no range left."""
        with self.next.get_lock():
            number, self.next.value = self.next.value, self.next.value + 1
        if number >= self.ranges:
            return None
        work(self.processing * RANGE)
        self.taken += 1
        return number

    def start(self, run: Callable[[int], None]) -> list[Any]:
        def main(index: int) -> None:
            run(index)
            self.ends.put((time.monotonic(), pss_mib(), self.taken * RANGE, index))

        processes = [_context.Process(target=main, args=(index,)) for index in range(self.workers)]
        for process in processes:
            process.start()
        return processes

    def join(self, processes: list[Any]) -> None:
        self.told = [self.ends.get() for _ in processes]
        for process in processes:
            process.join()
            if process.exitcode != 0:
                raise RuntimeError(f"a worker ended with code {process.exitcode}")


def own(job: Job) -> dict[str, float]:
    writers = [job.create(job.path(output), output) for output in job.outputs]

    def run(_: int) -> None:
        attached = [tw.attach(writer.handle) for writer in writers]
        while (number := job.take()) is not None:
            for output, each in zip(job.outputs, attached, strict=True):
                with each.work_unit(number) as unit:
                    unit["Events"].append_columns(RANGE, output.columns(number))
        for each in attached:
            each.finish()

    begin = time.monotonic()
    job.join(job.start(run))
    return closed(writers, begin)


def closed(writers: list[tw.Writer], begin: float) -> dict[str, float]:
    end, before = time.monotonic(), cpu()
    pages = sum(writer.status().pages for writer in writers)
    for writer in writers:
        writer.close()
    return {"begin": begin, "end": end, "close_cpu_s": cpu() - before, "pages": pages}


def legacy(job: Job) -> dict[str, float]:
    pipes = [_context.Pipe(duplex=False) for _ in range(job.workers)]

    def run(index: int) -> None:
        pipe = pipes[index][1]
        while (number := job.take()) is not None:
            pipe.send([output.columns(number) for output in job.outputs])
        pipe.send(None)

    processes = job.start(run)
    writers = [job.create(job.path(output), output) for output in job.outputs]
    producers = [writer.producer("Events") for writer in writers]
    begin = time.monotonic()
    for rows in received([pipe for pipe, _ in pipes]):
        for producer, columns in zip(producers, rows, strict=True):
            producer.append_columns(RANGE, columns)
    for producer in producers:
        producer.finish()
    job.join(processes)
    return closed(writers, begin)


def received(pipes: list[Any]) -> Any:
    """Yields what workers send, until each has sent None."""
    while pipes:
        for ready in multiprocessing.connection.wait(pipes):
            if (message := ready.recv()) is None:
                pipes.remove(ready)
            else:
                yield message


def shared(job: Job) -> dict[str, float]:
    pipes = [_context.Pipe(duplex=False) for _ in range(job.workers)]
    memory = Path("/dev/shm") / f"thalweg-shared-writer-{os.getpid()}"
    memory.mkdir()

    def run(index: int) -> None:
        pipe, count, going = pipes[index][1], 0, True
        while going:
            paths = [memory / f"{index}-{count}-{output.name}.root" for output in job.outputs]
            files = [job.create(path, output) for path, output in zip(paths, job.outputs, strict=True)]
            producers = [file.producer("Events") for file in files]
            rows = 0
            for _ in range(job.per_file):
                if (number := job.take()) is None:
                    going = False
                    break
                rows += RANGE
                for producer, output in zip(producers, job.outputs, strict=True):
                    producer.append_columns(RANGE, output.columns(number))
            for producer, file in zip(producers, files, strict=True):
                producer.finish()
                file.close()
            pipe.send((rows, list(map(str, paths))))
            count += 1
        pipe.send(None)

    processes = job.start(run)
    writers = [job.create(job.path(output), output) for output in job.outputs]
    attached = [tw.attach(writer.handle) for writer in writers]
    begin = time.monotonic()
    for number, (rows, paths) in enumerate(received([pipe for pipe, _ in pipes])):
        for output, each, path in zip(job.outputs, attached, paths, strict=True):
            if rows:
                reader = _core.Reader.open(path)
                table = tw.open(path)["Events"]
                stored = _core.stored_clusters(reader, 0)
                kept = kept_columns(each, table, stored, "Events", list(output.schema), True)
                assert kept is not None
                with each.work_unit(number) as unit:
                    unit["Events"].append_kept(kept, 0, reader.rows(0), None, [])
            os.unlink(path)
    for each in attached:
        each.finish()
    job.join(processes)
    memory.rmdir()
    return closed(writers, begin)


def merged(job: Job) -> Callable[[list[Path], Output], None]:
    return lambda parts, output: tw.merge(parts, job.path(output), force=True) and None


def merge(job: Job, into_one: Callable[[list[Path], Output], None] | None = None) -> dict[str, float]:
    def path(output: Output, index: int) -> Path:
        return job.folder / f"target-part{index}-{output.name}.root"

    def run(index: int) -> None:
        files = [job.create(path(output, index), output) for output in job.outputs]
        producers = [file.producer("Events") for file in files]
        while (number := job.take()) is not None:
            for producer, output in zip(producers, job.outputs, strict=True):
                producer.append_columns(RANGE, output.columns(number))
        for producer, file in zip(producers, files, strict=True):
            producer.finish()
            file.close()

    begin = time.monotonic()
    job.join(job.start(run))
    merging, before = time.monotonic(), cpu()
    for output in job.outputs:
        parts = [path(output, index) for index in range(job.workers)]
        (into_one or merged(job))(parts, output)
        for part in parts:
            part.unlink()
    end = time.monotonic()
    return {"begin": begin, "end": end, "merge_s": end - merging, "close_cpu_s": cpu() - before}


def serial(job: Job) -> dict[str, float]:
    def rewritten(parts: list[Path], output: Output) -> None:
        with job.create(job.path(output), output) as out, out.producer("Events") as producer:
            for part in parts:
                for rows in tw.open(part)["Events"].iterate(step_size=job.per_file * RANGE):
                    producer.append(rows)

    return merge(job, rewritten)


def alone(job: Job) -> dict[str, float]:
    """Processing, and the making of columns, without any output."""

    def run(_: int) -> None:
        while (number := job.take()) is not None:
            for output in job.outputs:
                output.columns(number)

    begin = time.monotonic()
    job.join(job.start(run))
    return {"begin": begin, "end": time.monotonic()}


def told(job: Job, way: Callable[[Job], dict[str, float]], watch: bool = False) -> dict[str, Any]:
    """Does the job in that way. Seconds do not count start and close, CPU does.

    watch: a process of its own looks at the others now and then, and its CPU counts, too.
    """
    before, children = cpu(), cpu(resource.RUSAGE_CHILDREN)
    watching = Watch() if watch else None
    measured = way(job)
    seen = watching.end() if watching else {}
    own_cpu, workers = cpu() - before, cpu(resource.RUSAGE_CHILDREN) - children
    begin, end = measured.pop("begin"), measured.pop("end")
    events, ends = job.ranges * RANGE, sorted(each[0] for each in job.told)
    return {
        **measured,
        **seen,
        "seconds": end - begin,
        "events_per_s": events / (end - begin),
        "cpu_us_per_event": (own_cpu + workers) / events * 1e6,
        "worker_cpu_us_per_event": workers / events * 1e6,
        "writer_cpu_share": own_cpu / (own_cpu + workers),
        "worker_pss_MiB": max(each[1] for each in job.told),
        "events_of_workers": [events for *_, events, _ in sorted(job.told, key=lambda each: each[3])],
        "tail_s": ends[-1] - ends[0],
        "file_bytes": sum(path.stat().st_size for output in job.outputs if (path := job.path(output)).exists()),
    }


def encoding_seconds(folder: Path, outputs: list[Output], ranges: int = 16) -> float:
    """CPU that encoding and writing an event takes: the c of the arithmetic."""
    job = Job(folder, outputs, 1, ranges, 0)
    measured, without = told(job, own), told(Job(folder, outputs, 1, ranges, 0), alone)
    return (measured["worker_cpu_us_per_event"] - without["worker_cpu_us_per_event"]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("way", choices=(*WAYS, "alone"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ranges", type=int, default=50)
    parser.add_argument("--processing", type=float, default=0.0, help="seconds of CPU an event")
    parser.add_argument("--cheap", action="store_true", help="an output for which compression is nothing")
    parser.add_argument("--sample", action="store_true", help="outputs like those of a PHYSLITE file")
    parser.add_argument("--auto-flush", type=int, default=AUTO_FLUSH, help="events of a file in memory (shared)")
    parser.add_argument("--watch", action="store_true", help="tell CPU over time, and the most memory of each process")
    parser.add_argument("--page-bytes", type=int, help="so that there are many pages")
    options = parser.parse_args()
    ways = {"own": own, "shared": shared, "legacy": legacy, "merge": merge, "serial": serial, "alone": alone}
    outputs = sampled_train() if options.sample else train(options.cheap)
    job = Job(options.folder, outputs, options.workers, options.ranges, options.processing)
    job.per_file = max(1, options.auto_flush // RANGE)
    if options.page_bytes:
        job.tuning = {"narrow_page_bytes": options.page_bytes}
    print(json.dumps(told(job, ways[options.way], options.watch)))


if __name__ == "__main__":
    main()
