"""Lets each system call of Thalweg fail once: strace answers it with an error in the kernel's place.

    python tests/judges/calls.py --seed 7 --count 150
    python tests/judges/calls.py --program recover --call openat:error=EMFILE:when=17

A program is first run undisturbed, and its calls are counted by thread. Then it is run again and again, and each time
another call fails. The result must be right, or the error must be said.
"""

import argparse
import collections
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

import mounted  # noqa: E402
import reading  # noqa: E402
from judge import look_at_checkpoint  # noqa: E402
from programs import PROGRAMS, Program, Say, save  # noqa: E402
from recordings import blocks_of  # noqa: E402
from result import Result, add, show, work_folder  # noqa: E402

LONGEST_S = 120
IO, FULL, NO_FILES, NO_MEMORY, AGAIN = "EIO", "ENOSPC", "EMFILE", "ENOMEM", "EAGAIN"
ERRORS = {
    "access": [IO], "clock_nanosleep": ["EINTR"], "clone": [AGAIN], "clone3": [AGAIN], "close": [IO],
    "copy_file_range": [IO], "dup": [NO_FILES], "eventfd2": [NO_FILES], "fadvise64": ["EINVAL"],
    "fallocate": [IO, FULL, "EOPNOTSUPP"], "fchmod": [IO, "EPERM"], "fchown": [IO, "EPERM"], "fcntl": ["ENOLCK"],
    "fdatasync": [IO, FULL], "flock": ["ENOLCK", "EINTR"],
    "fstat": [IO], "fstatfs": [IO], "fsync": [IO], "ftruncate": [IO, FULL], "getdents64": [IO],
    "io_uring_enter": [IO, AGAIN, "EINTR"], "io_uring_register": [NO_MEMORY], "io_uring_setup": [NO_MEMORY, "EPERM"],
    "ioctl": ["ENOTTY"], "kill": ["EPERM"], "link": [IO], "linkat": [IO], "lseek": [IO], "madvise": [NO_MEMORY],
    "mkdir": [IO, FULL], "mmap": [NO_MEMORY], "mprotect": [NO_MEMORY], "newfstatat": [IO, "EACCES"],
    "openat": [NO_FILES, IO, "EACCES", "ENOENT"], "pread64": [IO], "pwrite64": [IO, FULL], "pwritev": [IO],
    "read": [IO], "readlink": [IO], "rename": [IO], "renameat2": [IO], "rmdir": [IO], "sched_getaffinity": ["EINVAL"],
    "statfs": [IO], "statx": [IO], "unlink": [IO], "unlinkat": [IO], "write": [IO, FULL], "writev": [IO],
}  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """The call that fails: the `when`-th of its name in a thread."""

    call: str
    error: str
    when: int

    def __str__(self) -> str:
        """Returns it in the words of strace."""
        return f"{self.call}:error={self.error}:when={self.when}"


@dataclass
class Ran:
    """What a program has said, and how it ended."""

    said: list[dict[str, Any]]
    code: int
    was_hit: bool
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)  # by name and thread
    hung: bool = False
    stderr: str = ""

    def has(self, what: str) -> bool:
        return any(line["what"] == what for line in self.said)

    def errors(self) -> list[str]:
        return [line["error"] for line in self.said if line["what"] == "error"]

    def rows(self) -> dict[int, int]:
        return {line["producer"]: line["rows"] for line in self.said if line["what"] == "appended"}

    def says_loss(self) -> bool:
        return any(line["what"] == "closed" and not line["whole"] for line in self.said)


def start(work: Callable[[Say], None], said: int, errors: Path) -> tuple[int, int]:
    """Starts a process that waits for a byte, and returns its number and the pipe for the byte."""
    reading_, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(reading_)
        return child, writing

    def say(what: str, **facts: Any) -> None:
        text = (json.dumps({"what": what, **facts}) + "\n").encode()
        try:
            os.write(said, text)
        except OSError:  # this is the call that fails once
            os.write(said, text)

    try:  # what is raised here must not reach the mounts of the process that forks
        os.close(writing)
        os.setsid()
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        select.select([reading_], [], [])  # no call of a program: it never fails
        work(say)
    except BaseException as error:
        say("error", error=f"{type(error).__name__}: {error}"[:400])
    finally:
        os._exit(0)


def run(program: Program, folder: Path, failure: Failure | None) -> Ran:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path, said = folder / program.file, folder.with_name("said")
    said.unlink(missing_ok=True)
    pipe = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if program.before:
        run_and_kill(lambda say: program.before(program, path, say), pipe)
    errors = folder.with_name("errors")
    child, go = start(lambda say: program.act(program, path, say), pipe, errors)
    trace = folder.with_name("trace")
    inject = [f"trace={failure.call}", f"inject={failure}"] if failure else []
    command = ["strace", "-f", "-qq", "-p", str(child), "-o", str(trace), *(w for each in inject for w in ("-e", each))]
    strace = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until_traced(child)
    beside = program.beside
    other, other_go = start(lambda say: beside(program, path, say), pipe, Path(os.devnull)) if beside else (0, -1)
    for each in (go, other_go):
        if each >= 0:
            os.write(each, b"x")
            os.close(each)
    code = wait(child)
    if other and wait(other) is None:
        code = None
    strace.wait(20)
    os.close(pipe)
    lines = trace.read_text(errors="replace").splitlines()
    calls = Counter((match[2], match[1]) for line in lines if (match := re.match(r"(\d+) +(\w+)\(", line)))
    was_hit = any("(INJECTED)" in line for line in lines)
    said_lines = [json.loads(line) for line in said.read_text().splitlines()]
    return Ran(
        said_lines,
        0 if code is None else code,
        was_hit,
        calls,
        hung=code is None,
        stderr=errors.read_text(errors="replace"),
    )


def run_and_kill(work: Callable[[Say], None], pipe: int) -> None:
    child, go = start(work, pipe, Path(os.devnull))
    os.write(go, b"x")
    os.close(go)
    # It ends without a close: its memory and its journal stay, as after a kill.
    os.waitpid(child, 0)


def wait_until_traced(child: int) -> None:
    end_s = time.monotonic() + 20
    while "TracerPid:\t0\n" in Path(f"/proc/{child}/status").read_text():
        if time.monotonic() > end_s:
            raise RuntimeError("strace does not attach to the program (is ptrace allowed here?)")
        time.sleep(0.002)


def wait(child: int) -> int | None:
    """Returns the exit code, or nothing if the process hangs. It is killed then."""
    watched = os.pidfd_open(child)
    is_done = bool(select.select([watched], [], [], LONGEST_S)[0])
    os.close(watched)
    if not is_done:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if is_done else None


REMOVALS = ("unlink", "unlinkat", "rmdir")


def judge(program: Program, folder: Path, ran: Ran, failure: Failure | None = None) -> list[str]:
    """Returns what is wrong with what is left. What could not be removed stays."""
    if ran.hung:
        return [f"it hangs for more than {LONGEST_S} s"]
    wrong = [f"it ended with {ran.code}: {ran.stderr[-300:]}"] if ran.code else []
    path = folder / program.file

    def left(keeps: tuple[str, ...]) -> list[str]:
        found = what_is_left(folder, keeps, ran)
        return [] if failure and failure.call in REMOVALS else found

    if program.act is save:
        return wrong + judge_checkpoint(path, ran)
    if not ran.has("created"):
        return wrong + ([] if ran.errors() else ["neither created nor an error"]) + left(())
    if not (ran.has("closed") or ran.errors()):
        wrong.append("neither closed nor an error")
    try:
        says_loss = recover_if_needed(program, path) or ran.says_loss()
        found = reading.read(path)
    except Exception as error:
        return [*wrong, f"what is left cannot be recovered and read: {type(error).__name__}: {error}"]
    wrong += found.wrong_values()
    for producer, rows in ran.rows().items():
        there = found.by_producer.get(producer, [])
        if list(there) != list(range(len(there))):
            wrong.append(f"producer {producer}: the rows are no prefix")
        if len(there) < rows and not says_loss:
            wrong.append(f"producer {producer}: {len(there)} of {rows} rows, and no loss is said")
    return wrong + left((program.file,))


def recover_if_needed(program: Program, path: Path) -> bool:
    """Returns whether the recovery says that something is lost."""
    import thalweg as tw

    if not any(each.name.startswith(f"{path.name}.") for each in path.parent.iterdir()):
        return False
    try:
        nodes = {"all_nodes_are_down": True} if program.beside else {}
        return not tw.recover(path, **nodes).is_whole
    except tw.UsageError as error:
        if "complete" not in str(error):
            raise
        return False


def what_is_left(folder: Path, keeps: tuple[str, ...], ran: Ran) -> list[str]:
    """After an error in a run that had begun, memory may be left if `thalweg clean` knows that it is left over."""
    if ran.has("created") and ran.errors():
        remove_left_over()
    left = [path.name for path in folder.iterdir() if path.name not in keeps]
    memory = [path.name for path in mounted.shared_memory()]
    mounted.forget_memory()
    return [f"left behind: {left} {memory}"] if left or memory else []


def remove_left_over() -> None:
    command = [Path(sys.executable).with_name("thalweg"), "clean", "--yes"]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=True)


def judge_checkpoint(path: Path, ran: Ran) -> list[str]:
    from thalweg.checkpoint import save as save_checkpoint

    saved = max((line["step"] for line in ran.said if line["what"] == "saved"), default=-1)
    if not path.exists():
        return [f"step {saved} was saved, and no checkpoint is there"] if saved >= 0 else []
    _, wrong = look_at_checkpoint(path, saved)
    if ran.errors():  # the next save removes what one that failed has left
        save_checkpoint(path, blocks_of(0), attributes={"step": 0})
    return wrong + [f"left behind: {each.name}" for each in path.parent.iterdir() if each.name.endswith(".saving")]


def failures_of(ran: Ran) -> list[Failure]:
    """Returns every call of an undisturbed run, with every error that it may end with."""
    most = collections.defaultdict[str, int](int)
    for (call, _), count in ran.calls.items():
        most[call] = max(most[call], count)
    known = {call: count for call, count in most.items() if call in ERRORS}
    return [
        Failure(call, error, when)
        for call, count in sorted(known.items())
        for error in ERRORS[call]
        for when in range(1, count + 1)
    ]


def left_out(ran: Ran) -> Counter[str]:
    """Returns how many calls of an undisturbed run were never let fail, by their names."""
    counts = Counter[str]()
    for (call, _), count in ran.calls.items():
        if call not in ERRORS:
            counts[f"calls left out: {call}"] += count
    return counts


def sample(failures: list[Failure], count: int, any_: random.Random) -> list[Failure]:
    """Returns some of them: each call as often as any other one, although some calls are made hundreds of times."""
    kinds = collections.defaultdict[tuple[str, str], list[Failure]](list)
    for failure in any_.sample(failures, len(failures)):
        kinds[failure.call, failure.error].append(failure)
    chosen: list[Failure] = []
    while len(chosen) < min(count, len(failures)):
        for kind in any_.sample(sorted(kinds), len(kinds)):
            if kinds[kind] and len(chosen) < count:
                chosen.append(kinds[kind].pop())
    return chosen


def play(name: str, seed: int, count: int, end_s: float, only: Failure | None = None) -> Result:
    """Runs one program `count` times, in this process, which must have mounts of its own."""
    with mounted.folder_in_memory(work_folder()) as work, mounted.small_ext4(work) as disk:
        return play_in(disk / "d", name, seed, count, end_s, only)


def play_in(folder: Path, name: str, seed: int, count: int, end_s: float, only: Failure | None) -> Result:
    program, result = PROGRAMS[name], Result()
    clean = run(program, folder, None)
    wrong = [*judge(program, folder, clean), *clean.errors()]
    if wrong:
        return Result(wrong=[f"{name}, undisturbed: {each}" for each in wrong])
    result.counts += left_out(clean)
    for failure in [only] if only else sample(failures_of(clean), count, random.Random(f"{seed} {name}")):
        if time.monotonic() > end_s:
            break
        ran = run(program, folder, failure)
        result.counts["calls that failed" if ran.was_hit else "calls that were not reached"] += 1
        again = f"python tests/judges/calls.py --program {name} --call {failure}"
        for each in judge(program, folder, ran, failure):
            result.wrong.append(f"{name}, {failure}: {each} (errors: {ran.errors()[:2]})\n  to repeat: {again}")
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description="Lets system calls fail, and judges what is left.")
    parser.add_argument("--program", choices=PROGRAMS, action="append", help="(without it: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150, help="of calls that fail, over all programs")
    parser.add_argument("--call", default="", help="the one that fails, such as openat:error=EMFILE:when=17")
    given = parser.parse_args()
    mounted.have_own_mounts()
    names = given.program or list(PROGRAMS)
    only = None
    if given.call:
        call, error, when = (part.split("=")[-1] for part in given.call.split(":"))
        only = Failure(call, error, int(when))
    total = Result()
    for name in names:
        add(total, play(name, given.seed, -(-given.count // len(names)), time.monotonic() + 3600, only))
    return show(total)


if __name__ == "__main__":
    sys.exit(main())
