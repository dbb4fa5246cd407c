"""Records on a block device that fails for a while: nbdkit -> FUSE -> loop with direct I/O -> a file system.

    python tests/judges/faulty_device.py --seed 7 --rounds 10

The device answers with errors, answers late, or is small. A run must end, say what fails, and keep what it has
promised.
"""

import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

import device  # noqa: E402
import mounted  # noqa: E402
from cuts import in_child  # noqa: E402
from judge import Verdict, judge  # noqa: E402
from promises import Promise, Said  # noqa: E402
from recordings import Choices, choose, to_json  # noqa: E402
from result import Result, play_rounds, work_folder  # noqa: E402

PROGRAMS = ("nbdkit", "nbdfuse", "mkfs.ext4", "mkfs.xfs")
HOWS = ("EIO on write", "EIO on write", "ENOSPC on write", "EIO on read", "delay", "small")
LONGEST_S = 120
SMALL = 24 << 20
GAPS, REFUSED = "it has gaps", "refused"
END = 1 << 62  # a length that no log has: all that was promised


@dataclass(frozen=True)
class Fault:
    how: str
    share: str  # of the requests that fail
    begin_s: float
    seconds: float
    file_system: str

    @property
    def size(self) -> int:
        return SMALL if self.how == "small" else device.SIZE[self.file_system]


def choose_fault(any_: random.Random) -> Fault:
    how = any_.choice(HOWS)
    file_system = any_.choice(["ext4", "xfs"]) if how != "small" else "ext4"  # xfs needs 300 MB
    return Fault(
        how, any_.choice(["100%", "20%", "5%"]), any_.uniform(0, 1.5), any_.choice([0.02, 0.2, 99]), file_system
    )


def choose_recording(seed: int, fault: Fault) -> Choices:
    """Returns what is recorded: enough to fill a small device."""
    choices = dataclasses.replace(choose(seed, "records"), has_lists=False, has_processes=False)
    if fault.how == "small":
        choices = dataclasses.replace(choices, batches=(4000,), pauses_s=(0.01,), codec="none", seconds=2.5)
    return choices


def filters(fault: Fault, trigger: Path) -> list[str]:
    """Returns what nbdkit is told about the fault. Errors begin when the file `trigger` is there."""
    if fault.how == "delay":
        return ["--filter=delay", "wdelay=30ms", "rdelay=1ms"]
    if fault.how == "small":
        return []
    error, _, request = fault.how.split()
    which = "pread" if request == "read" else "pwrite"
    return ["--filter=error", f"error={error}", f"error-{which}-rate={fault.share}", f"error-file={trigger}"]


class Round:
    """One recording on one device. It runs in a process that has mounts of its own."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.any = random.Random(seed)
        self.fault = choose_fault(self.any)
        self.choices = choose_recording(seed, self.fault)
        self.folder, self.where = folder, folder / "mounted"
        self.block, self.trigger, self.said = folder / "fuse" / "block", folder / "trigger", folder / "said"
        self.counts = Counter({"failing devices": 1, f"failing devices: {self.fault.how}": 1})

    def play(self) -> list[str]:
        """Returns what is wrong."""
        self.where.mkdir()
        with self._served(), mounted.loop(self.block, mounted.RECORDING, mounted.DIRECT_IO) as (name, _):
            file_system = self.fault.file_system
            subprocess.run([*device.MAKE[file_system], name], check=True, stdout=subprocess.DEVNULL)
            mounted.mount(name, self.where, file_system, "errors=continue" if file_system == "ext4" else "")
            code, errors = self._record()
            before = self._recover_at_once() if code else None
            mounted.unmount(self.where, timeout_s=60)
            wrong = before.wrong if before else []
            return wrong or self._wrong_end(code, errors) or self._judge(name, before)

    def _served(self) -> contextlib.AbstractContextManager[None]:
        disk = self.folder / "disk"
        disk.touch()
        os.truncate(disk, self.fault.size)
        self.block.parent.mkdir()
        self.block.touch()
        options = filters(self.fault, self.trigger)
        names = [each for each in options if each.startswith("--")]
        values = [each for each in options if not each.startswith("--")]
        nbdkit = ["[", "nbdkit", "--exit-with-parent", *names, "file", disk, *values, "]"]
        return mounted.daemon(["nbdfuse", self.block, *nbdkit], device.has_size(self.block, self.fault.size))

    def _record(self) -> tuple[int | None, str]:
        """Records, and lets the device fail meanwhile. Returns the exit code, or nothing if the run hangs."""
        self.said.write_text(json.dumps({"what": "begin", "node": 1, "log": 0}) + "\n")
        command = [sys.executable, HERE / "recordings.py", to_json(self.choices), self.where, self.said, self.said]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
        if self.fault.how not in ("delay", "small"):
            self._fail_for_a_while(program)
        try:
            _, errors = program.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
            return None, ""
        return program.returncode, errors

    def _fail_for_a_while(self, program: subprocess.Popen[str]) -> None:
        end_s = time.monotonic() + 60
        while '"created"' not in self.said.read_text() and program.poll() is None and time.monotonic() < end_s:
            time.sleep(0.02)
        time.sleep(self.fault.begin_s)
        self.trigger.touch()
        end_s = time.monotonic() + self.fault.seconds
        while time.monotonic() < end_s and program.poll() is None:
            time.sleep(0.01)
        self.trigger.unlink()

    def _wrong_end(self, code: int | None, errors: str) -> list[str]:
        if code is None:
            return [f"the run hangs for more than {LONGEST_S} s"]
        if code and not errors.strip():
            return [f"the run ended with {code} and no word"]
        said = Said(self.said)
        if self.fault.how == "delay" and (said.failures() or not said.at(END).is_closed):
            return [f"a slow device is no error: {said.failures()[:1]} {errors[-300:]}"]
        return []

    def _recover_at_once(self) -> Verdict | None:
        """In half of the rounds, recovers the run where it failed, while the kernel still has what it could not write.
        Returns what `recover` has said, or nothing if it refused. One that dies or hangs is wrong."""
        if self.any.random() < 0.5:
            return None
        verdict = in_child(lambda: recovered(self.where / self.choices.file))
        self.counts[f"failing devices: {'not ' if verdict.note == REFUSED else ''}recovered at once"] += 1
        return None if verdict.note == REFUSED else verdict

    def _judge(self, name: str, before: Verdict | None) -> list[str]:
        """Mounts the file system again, now that the device works, and judges what is on it.

        before: what `recover` has said, if the run was recovered before.
        """
        promise = Said(self.said).at(END)
        promise.is_closing = promise.is_closing or before is not None
        if not promise.is_created:
            self.counts["failing devices: creation failed"] += 1
            return []
        try:
            mounted.mount(name, self.where, self.fault.file_system)
        except OSError as error:
            return self._wrong_unless_excused("the file system was damaged", promise, before, error)
        if not (self.where / self.choices.file).exists():
            mounted.unmount(self.where)
            return self._wrong_unless_excused("the file system has lost the file", promise, before)
        has_gaps = before is not None and before.note == GAPS
        verdict = in_child(
            lambda: judge(self.where, self.choices, promise, self.any, may_resume=False, has_gaps=has_gaps)
        )
        mounted.unmount(self.where, timeout_s=60)
        if before and verdict.rows != before.rows:
            verdict.wrong.append(f"{verdict.rows} rows are there, and recover had said {before.rows}")
        self.counts[f"failing devices: {'closed' if promise.is_closed else 'the error is said'}"] += 1
        return verdict.wrong

    def _wrong_unless_excused(
        self, what: str, promise: Promise, before: Verdict | None, error: OSError | None = None
    ) -> list[str]:
        if before is None and is_excused(self.fault, promise):
            self.counts[f"failing devices: {what}"] += 1
            return []
        rows = before.rows if before else sum(promise.rows.values())
        return [f"{what} ({error or 'it mounts'}), and {rows} rows were promised"]


def recovered(path: Path) -> Verdict:
    import thalweg as tw

    try:
        report = tw.recover(path)
    except tw.Error:
        return Verdict(note=REFUSED)
    return Verdict(report.rows, "" if report.is_whole else GAPS)


def is_excused(fault: Fault, promise: Promise) -> bool:
    """Returns whether a file system may lose a file: its writes failed before anything was promised to be durable."""
    return fault.how.endswith("on write") and not promise.rows and not promise.is_closed


def play(seed: int) -> Result:
    with mounted.folder_in_memory(work_folder()) as folder:
        round_ = Round(seed, folder)
        wrong = round_.play()
    again = f"python tests/judges/faulty_device.py --seed {seed} --rounds 1"
    return Result(round_.counts, [f"seed {seed}, {round_.fault}: {each}\n  to repeat: {again}" for each in wrong])


if __name__ == "__main__":
    sys.exit(play_rounds("Records on devices that fail, and judges what is left.", play))
