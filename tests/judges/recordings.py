"""What is recorded on the logged device: one program for each subject. The choices follow from a seed.

    python recordings.py CHOICES FOLDER LOG SAID    (choices as JSON)

The program reports to the file SAID, which lies outside of the device, what it is about to do, what has been done and
what it was promised. A report that promises something names the length that the log has: a cut at that length or later
must keep the promise.
"""

import dataclasses
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import controls
import expected
from derivation import DERIVED_RANGE_BYTES, derivation

SUBJECTS = ("records", "units", "resume", "nodes", "checkpoints", "rotation", "derive", "recover")
GROUP = 4  # keys
SECOND_LIFE, SECOND_NODE = 1000, 100  # the first producers of a resumed run, and of the second node
CODECS = ("none", "none", "shuffle+deflate-1", "lz4")
STEPS, SHAPE = 1000, (300, 200)
CLOSE_S = 60
LEAST_FREE = 0.4  # of the disk of a recording


@dataclass(frozen=True)
class Choices:
    subject: str
    extension: str = ".h5"
    seconds: float = 1.2
    producers: int = 2
    batches: tuple[int, ...] = (3,)  # rows that a producer appends at once
    pauses_s: tuple[float, ...] = (0.01,)
    has_lists: bool = False
    has_groups: bool = False  # work units are in the order of their keys
    has_processes: bool = False  # producers are processes, not threads
    codec: str = "none"
    tuning: tuple[tuple[str, Any], ...] = ()

    @property
    def file(self) -> str:
        return f"run{self.extension}"

    @property
    def has_units(self) -> bool:
        return self.subject == "units"


def choose(seed: int, subject: str = "") -> Choices:
    """Returns what is recorded; controls always record the same."""
    if subject in controls.CONTROLS:
        return Choices(subject, controls.CONTROLS[subject], tuning=(("engine", "posix"), ("flush_interval", 0.1)))
    any_ = random.Random(seed)
    subject = subject or any_.choice(SUBJECTS)
    extension = any_.choice([".h5", ".root"]) if subject != "checkpoints" else ".h5"
    tuning: dict[str, Any] = {"flush_interval": any_.choice([0.05, 0.1, 0.2]), "allocate_ahead_bytes": 4 << 20}
    tuning["engine"] = any_.choice(["auto", "auto", "posix", "threads"])
    if any_.random() < 0.4:
        tuning |= {"narrow_page_bytes": any_.choice([2048, 4096]), "extent_bytes": any_.choice([4096, 16384])}
    if subject == "units" and any_.random() < 0.5:
        tuning["journal_units"] = False
    codec = any_.choice(CODECS) if extension == ".h5" else any_.choice(["zstd", "lz4", "none"])
    return Choices(
        subject,
        extension,
        seconds=any_.choice([0.8, 1.2, 1.6]),
        producers=any_.choice([1, 2, 3, 4]),
        batches=any_.choice([(1,), (7,), (2, 50), (1, 400), (300, 700)]),
        pauses_s=any_.choice([(0.003,), (0.01,), (0.03, 0.01)]),
        has_lists=any_.random() < 0.3 and subject not in ("nodes", "derive", "checkpoints"),
        has_groups=subject == "units" and extension == ".root" and any_.random() < 0.4,
        has_processes=subject == "records" and any_.random() < 0.3,
        codec=codec,
        tuning=tuple(tuning.items()),
    )


def from_json(text: str) -> Choices:
    fields = json.loads(text)
    tuples = {name: tuple(fields[name]) for name in ("batches", "pauses_s")}
    return Choices(**fields | tuples | {"tuning": tuple(map(tuple, fields["tuning"]))})


def to_json(choices: Choices) -> str:
    return json.dumps(dataclasses.asdict(choices))


class Recorder:
    def __init__(self, choices: Choices, folder: Path, log: Path, said: Path) -> None:
        self.choices, self.log = choices, log
        self.path = folder / choices.file
        self.said = os.open(said, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.stop = threading.Event()
        self.node = 1
        self.most_bytes = 0  # that a producer appends
        self.rows(0, 0, 1)  # what this imports takes no time of the recording

    def say(self, what: str, **facts: Any) -> None:
        os.write(self.said, (json.dumps({"what": what, "node": self.node, **facts}) + "\n").encode())

    def promise(self, what: str, **facts: Any) -> None:
        self.say(what, log=self.log.stat().st_size, **facts)

    def schema(self) -> Any:
        return expected.schema(self.choices.has_lists)

    def options(self) -> dict[str, Any]:
        order = {"order": "key", "keys_per_group": GROUP} if self.choices.has_groups else {}
        return {"codec": self.choices.codec, "tuning": dict(self.choices.tuning), **order}

    def rows(self, producer: int, begin: int, end: int) -> expected.Columns:
        return expected.rows(producer, begin, end, self.choices.has_lists)

    def produce(self, out: Any, number: int) -> None:
        """Appends rows until it is told to stop. An error is reported, and ends this producer alone."""
        choices, end, appended_bytes = self.choices, 0, 0
        step = choices.batches[number % len(choices.batches)]
        try:
            with out.producer("events") as producer:
                while not self.stop.is_set() and appended_bytes < self.most_bytes:
                    self.say("trying", producer=number, rows=end + step)
                    columns = self.rows(number, end, end + step)
                    producer.append(**columns)
                    end += step
                    appended_bytes += sum(column.nbytes for column in columns.values())
                    self.say("appended", producer=number, rows=end, at=time.monotonic())
                    time.sleep(choices.pauses_s[number % len(choices.pauses_s)])
        except Exception as error:
            self.say("failed", error=f"{type(error).__name__}: {error}")

    def do_units(self, out: Any, number: int) -> None:
        count = 0
        while not self.stop.is_set():
            key = count * 16 + number
            count += 1
            self.say("trying unit", key=key)
            try:
                with out.work_unit(key, summary=f"unit {key}") as unit:
                    for begin in range(0, expected.rows_of_unit(key), 4):
                        unit["events"].append(**self.rows(key, begin, begin + 4))
                    if key % 11 == 5:
                        raise KeyError(key)
                self.say("unit", key=key, is_committed=bool(unit.committed), at=time.monotonic())
            except KeyError:
                self.say("dropped", key=key)
            time.sleep(self.choices.pauses_s[0])

    def do_groups(self, out: Any, number: int) -> None:
        for count in range(1_000_000):
            if self.stop.is_set():
                break
            with out.work_group(count * self.choices.producers + number) as group:
                for key in group.keys:
                    self.say("trying unit", key=key)
                    with group.work_unit(key, summary=f"unit {key}") as unit:
                        unit["events"].append(**self.rows(key, 0, expected.rows_of_unit(key)))
            for key in group.keys:
                self.say("unit", key=key, is_committed=True, at=time.monotonic())
            time.sleep(self.choices.pauses_s[0])

    def work(self) -> Callable[[Any, int], None]:
        if self.choices.has_groups:
            return self.do_groups
        return self.do_units if self.choices.has_units else self.produce

    def watch(self, status: Callable[[], tuple[float, float]]) -> None:
        """Reports what is durable, for the time of the recording. The clock is read before the status is."""
        end_s = time.monotonic() + self.choices.seconds
        while time.monotonic() < end_s and self._room_bytes() > 0:
            rows_at, units_at = status()
            self.promise("durable", rows_at=rows_at, units_at=units_at)
            time.sleep(0.01)

    def _share_room(self) -> None:
        """What is appended may be on the disk much later, where the machine has much else to do."""
        nodes = 2 if self.choices.subject == "nodes" else 1
        self.most_bytes = self._room_bytes() // self.choices.producers // nodes

    def _room_bytes(self) -> int:
        """A run that fills its disk cannot be recovered there, which it says: that is not what cuts are to find."""
        disk = os.statvfs(self.path.parent)
        return int(disk.f_bavail - LEAST_FREE * disk.f_blocks) * disk.f_frsize

    def status_of(self, out: Any) -> Callable[[], tuple[float, float]]:
        def status() -> tuple[float, float]:
            now = time.monotonic()
            found = out.status()
            if found.failure or found.file_problem:
                self.say("failed", error=found.failure or found.file_problem)
            return now - found.durable_lag, now - (found.oldest_unit_age if found.units_not_durable else 0)

        return status

    def live(self, out: Any, first: int = 0, dies: bool = False) -> None:
        self.promise("created")
        self._share_room()
        numbers = range(first, first + self.choices.producers)
        if self.choices.has_processes:
            self._work_in_processes(out, numbers)
        else:
            threads = [threading.Thread(target=self.work(), args=(out, number), daemon=True) for number in numbers]
            for thread in threads:
                thread.start()
            self.watch(self.status_of(out))
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            self.stop.set()
            for thread in threads:
                thread.join()
        self.promise("closing")
        report = out.close(CLOSE_S)
        self.promise("closed", rows=report.rows, lost=report.lost_rows)

    def _work_in_processes(self, out: Any, numbers: range) -> None:
        import thalweg as tw

        children = []
        for number in numbers:
            children.append(os.fork())
            if children[-1] == 0:
                threading.Timer(self.choices.seconds, self.stop.set).start()
                with tw.attach(out.handle) as attached:
                    self.work()(attached, number)
                os._exit(0)
        self.watch(self.status_of(out))
        for child in children:
            os.waitpid(child, 0)

    def record(self, dies: bool = False) -> None:
        import thalweg as tw

        self.live(tw.create(self.path, self.schema(), **self.options()), dies=dies)

    def resume(self) -> None:
        import thalweg as tw

        self.live(tw.create(self.path, resume=True), SECOND_LIFE)

    def recover(self) -> None:
        import thalweg as tw

        self.promise("closing")
        report = tw.recover(self.path)
        self.promise("closed", rows=report.rows, lost=report.lost_rows)

    def record_on_nodes(self) -> None:
        """Lets two processes be two nodes."""
        import thalweg as tw

        if os.fork() == 0:
            self.node = 2
            self.live(join(self.path), SECOND_NODE)
            os._exit(0)
        self.live(tw.create(self.path, self.schema(), nodes=2, node_timeout=30, **self.options()))
        os.wait()

    def derive(self) -> None:
        import thalweg as tw

        self.promise("created")
        report = tw.derive(*derivation(self.path), workers=2, range_bytes=DERIVED_RANGE_BYTES).run()
        assert report.is_whole, report
        self.promise("closed", rows=report.outputs[0].rows, lost=0)

    def save(self) -> None:
        """Saves checkpoints, one after the other."""
        from thalweg.checkpoint import save

        end_s, step = time.monotonic() + self.choices.seconds, 0
        while time.monotonic() < end_s:
            self.say("saving", step=step)
            save(self.path, blocks_of(step), attributes={"step": step}, codec=codec_of_checkpoint(self.choices))
            self.promise("saved", step=step)
            step += 1
            time.sleep(self.choices.pauses_s[0])

    def rotate(self) -> None:
        """Begins another file again and again."""
        import thalweg as tw
        from thalweg import _core
        from thalweg._recording.files import FilePlan, Files

        options = _core.CreateOptions()
        tw.Tuning(dict(self.choices.tuning) | dict.fromkeys(("wide_codec", "narrow_codec"), self.choices.codec)).apply(
            options
        )
        plan = FilePlan(self.path, self.schema().to_json(), ["events"], options, {}, max_ns=int(0.25e9))
        files = Files(plan)
        files.start(_core.monotonic_ns())
        self.promise("created")
        self._share_room()
        handle = files.current.writer.handle
        attached = tw.attach(handle)
        numbers = range(self.choices.producers)
        threads = [threading.Thread(target=self.produce, args=(attached, number), daemon=True) for number in numbers]
        for thread in threads:
            thread.start()

        def status() -> tuple[float, float]:
            files.rotate_if_due()
            now = time.monotonic()
            lag_s = files.durable_lag_ns() * 1e-9
            return now - lag_s, now - lag_s

        self.watch(status)
        self.stop.set()
        for thread in threads:
            thread.join()
        self.promise("closing")
        files.close()
        while not files.closed():
            time.sleep(0.01)
        assert not files.errors(), files.errors()
        self.promise("closed", rows=0, lost=0)


def join(path: Path) -> Any:
    """Joins the run as its second node, once it has begun."""
    import thalweg as tw

    end_s = time.monotonic() + 40
    while True:
        try:
            return tw.join(path, node=2, node_timeout=30)
        except tw.UsageError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.02)


def codec_of_checkpoint(choices: Choices) -> str:
    return choices.codec if choices.codec in ("none", "shuffle+deflate-1") else "none"


def blocks_of(step: int) -> dict[str, Any]:
    import numpy as np

    from thalweg.checkpoint import Block

    a = (np.arange(SHAPE[0] * SHAPE[1], dtype=np.float64) + step).reshape(SHAPE)
    b = np.full((50, 40), step, np.int32)
    return {"a": Block(a, a.shape, (0, 0)), "b": Block(b, b.shape, (0, 0))}


def main() -> None:
    choices = from_json(sys.argv[1])
    recorder = Recorder(choices, *map(Path, sys.argv[2:5]))
    phases = {
        "records": [recorder.record],
        "units": [recorder.record],
        "resume": [lambda: recorder.record(dies=True), recorder.resume],
        "recover": [lambda: recorder.record(dies=True), recorder.recover],
        "nodes": [recorder.record_on_nodes],
        "derive": [recorder.derive],
        "checkpoints": [recorder.save],
        "rotation": [recorder.rotate],
        "h5py": [lambda: controls.write_with_h5py(recorder)],
        "swmr": [lambda: controls.write_with_h5py(recorder)],
        "uproot": [lambda: controls.write_with_uproot(recorder)],
        "eatmydata": [recorder.record],
    }
    for phase in phases[choices.subject]:
        child = os.fork()
        if child == 0:
            phase()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"{choices.subject}: a phase of the recording ended with {code}")


if __name__ == "__main__":
    main()
