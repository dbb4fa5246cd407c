"""Records on a block device that fails for a while: nbdkit -> FUSE -> loop with direct I/O -> a file system.

    python tests/judges/faulty_device.py --seed 7 --rounds 10

The device answers with errors, answers late, or is small. A run must end, say what fails, and keep what it has
promised.
"""

import argparse
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
from judge import judge  # noqa: E402
from promises import Said  # noqa: E402
from recordings import Choices, choose, to_json  # noqa: E402
from result import Result, add, show, work_folder  # noqa: E402

PROGRAMS = ("nbdkit", "nbdfuse", "mkfs.ext4", "mkfs.xfs")
HOWS = ("EIO on write", "EIO on write", "ENOSPC on write", "EIO on read", "delay", "small")
LONGEST_S = 120
SMALL = 24 << 20
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


def serve(folder: Path, fault: Fault) -> subprocess.Popen[bytes]:
    disk, block = folder / "disk", folder / "fuse" / "block"
    disk.touch()
    os.truncate(disk, fault.size)
    block.parent.mkdir()
    block.touch()
    options = filters(fault, folder / "trigger")
    names = [each for each in options if each.startswith("--")]
    values = [each for each in options if not each.startswith("--")]
    command = ["setpriv", "--pdeathsig", "TERM", "nbdfuse", block]
    command += ["[", "nbdkit", "--exit-with-parent", *names, "file", disk, *values, "]"]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    device.wait_for_size(block, fault.size, server)
    return server


def record(folder: Path, where: Path, fault: Fault, choices: Choices) -> tuple[int | None, str]:
    """Records, and lets the device fail meanwhile. Returns the exit code, or nothing if the run hangs."""
    said = folder / "said"
    said.write_text(json.dumps({"what": "begin", "node": 1, "log": 0}) + "\n")
    command = [sys.executable, HERE / "recordings.py", to_json(choices), where, said, said]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    if fault.how not in ("delay", "small"):
        fail_for_a_while(folder / "trigger", said, program, fault)
    try:
        _, errors = program.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        return None, ""
    finally:
        (folder / "trigger").unlink(missing_ok=True)
    return program.returncode, errors


def fail_for_a_while(trigger: Path, said: Path, program: subprocess.Popen[str], fault: Fault) -> None:
    end_s = time.monotonic() + 60
    while '"created"' not in said.read_text() and program.poll() is None and time.monotonic() < end_s:
        time.sleep(0.02)
    time.sleep(fault.begin_s)
    trigger.touch()
    end_s = time.monotonic() + fault.seconds
    while time.monotonic() < end_s and program.poll() is None:
        time.sleep(0.01)
    trigger.unlink()


def play(seed: int) -> Result:
    """Plays a round in this process, which must have mounts of its own."""
    any_ = random.Random(seed)
    fault = choose_fault(any_)
    choices = choose_recording(seed, fault)
    result = Result(Counter({"failing devices": 1, f"failing devices: {fault.how}": 1}))
    with mounted.folder_in_memory(work_folder()) as folder:
        where = folder / "mounted"
        where.mkdir()
        server = serve(folder, fault)
        try:
            with mounted.loop(folder / "fuse" / "block", mounted.RECORDING, mounted.DIRECT_IO) as (name, _):
                subprocess.run([*device.MAKE[fault.file_system], name], check=True, stdout=subprocess.DEVNULL)
                mounted.mount(name, where, fault.file_system, "errors=continue" if fault.file_system == "ext4" else "")
                code, errors = record(folder, where, fault, choices)
                result.wrong += judge_round(folder, where, name, fault, choices, code, errors, any_, result.counts)
        finally:
            server.terminate()
            server.wait(20)
    again = f"python tests/judges/faulty_device.py --seed {seed} --rounds 1"
    result.wrong = [f"seed {seed}, {fault}: {each}\n  to repeat: {again}" for each in result.wrong]
    return result


def judge_round(
    folder: Path,
    where: Path,
    name: str,
    fault: Fault,
    choices: Choices,
    code: int | None,
    errors: str,
    any_: random.Random,
    counts: Counter[str],
) -> list[str]:
    """Mounts the file system again, now that the device works, and judges what is on it."""
    said = Said(folder / "said")
    promise = said.at(END)
    mounted.unmount(where, timeout_s=60)
    if code is None:
        return [f"the run hangs for more than {LONGEST_S} s"]
    if code and not errors.strip():
        return [f"the run ended with {code} and no word"]
    if fault.how == "delay" and (said.failures() or not promise.is_closed):
        return [f"a slow device is no error: {said.failures()[:1]} {errors[-300:]}"]
    if not promise.is_created:
        counts["failing devices: creation failed"] += 1
        return []
    try:
        mounted.mount(name, where, fault.file_system)
    except OSError:  # the device has damaged the file system
        counts["failing devices: no mount afterwards"] += 1
        return []
    if not (where / choices.file).exists():
        counts["failing devices: the file system has lost the file"] += 1
        mounted.unmount(where)
        return []
    verdict = in_child(lambda: judge(where, choices, promise, any_, may_have_gaps=True))
    mounted.unmount(where, timeout_s=60)
    counts["failing devices: closed" if promise.is_closed else "failing devices: the error is said"] += 1
    return verdict.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Records on devices that fail, and judges what is left.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    mounted.have_own_mounts()
    total = Result()
    for seed in range(given.seed, given.seed + given.rounds):
        add(total, play(seed))
    return show(total)


if __name__ == "__main__":
    sys.exit(main())
