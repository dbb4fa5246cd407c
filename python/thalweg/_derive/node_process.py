"""The process that makes a machine a node of all outputs of a job. It runs until the job ends.

A worker of the executor starts it as a separate process, since the executor may end and restart its workers. All
workers of the machine attach to the runs that this process holds.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from thalweg._base.errors import Error, SystemError, UsageError, text_of  # noqa: A004
from thalweg._derive.job_folder import BEGUN, CLOSING, JOB, JobFolder, durable, failed, joined_path, owned
from thalweg._derive.machines import host, machine
from thalweg._writing.begin import join
from thalweg._writing.writer import Writer

_TELL_EVERY_S = 0.5
_ALARM_EVERY_S = 0.2
_COME_S = 0.2  # time for which a worker is occupied, so that workers of other machines are called, too


@dataclass(frozen=True)
class Rules:
    """The settings of a job that every node has."""

    machine: str
    """The machine of the process of the job, which is node 1."""
    outputs: tuple[str, ...]
    nodes: int
    timeout: float

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def of(folder: JobFolder) -> Rules:
        if (text := folder.text(JOB)) is None:
            raise UsageError(
                f"{folder.path} does not exist on {host()}: write the outputs to a folder that all machines see by the "
                "same path"
            )
        stored = json.loads(text)
        return Rules(stored["machine"], tuple(stored["outputs"]), stored["nodes"], stored["timeout"])


def look_every_s(nodes: int) -> float:
    """Returns the time between two looks at the folder: the more nodes there are, the less often each of them looks."""
    return 0.1 + nodes / 200


def come(path: str, _: int) -> tuple[str, str]:
    """Runs in a worker and makes its machine a node of the job, if it is not one yet. Returns machine and host."""
    folder, here = JobFolder(path), machine()
    rules = Rules.of(folder)
    if here != rules.machine and folder.text(BEGUN) is None:
        _begin_node(folder, rules, here)
    time.sleep(_COME_S)
    return here, host()


_started: list[subprocess.Popen[bytes]] = []


def _begin_node(folder: JobFolder, rules: Rules, here: str) -> None:
    """Starts the process of this node. It holds the lock of this machine for as long as it lives."""
    lock = os.open(folder.file(f"machine-{here}"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if (node := _number_of(folder, rules, here)) is not None:
            words = [sys.executable, "-m", "thalweg._derive.node_process", folder.path, str(node)]
            with open(folder.file(f"said-{node}"), "ab") as said:
                _started.append(
                    subprocess.Popen(
                        words,
                        pass_fds=[lock],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=said,
                        start_new_session=True,
                    )
                )
    except BlockingIOError:  # another worker has started the process
        pass
    finally:
        os.close(lock)


def _number_of(folder: JobFolder, rules: Rules, here: str) -> int | None:
    """Returns the number of this machine, or None if there are enough machines without it.

    A machine keeps its number if its process is killed and started again."""
    for node in range(2, rules.nodes + 1):
        if folder.take(owned(node), here) or folder.owner(owned(node)) == here:
            return node
    return None


def main(path: str, node: int) -> None:
    folder = JobFolder(path)
    writers: list[Writer] = []
    try:
        rules = Rules.of(folder)
        if not _wait_until_begun(folder, rules):
            return
        with _as_long_as_the_job(folder):
            for output in rules.outputs:
                writers.append(join(output, node=node, nodes=rules.nodes, node_timeout=rules.timeout))
        folder.put(joined_path(node), json.dumps([host(), [writer.handle for writer in writers]]))
        _stay(folder, node, writers)
        while writers:
            writers[0].close()
            writers.pop(0)
        folder.remove()  # all outputs are complete; the process of the job, if it lives, removes the folder, too
    except BaseException as error:
        with suppress(OSError):
            folder.put(failed(node), text_of(error))
        for writer in writers:
            writer.abandon(text_of(error))
        raise


@contextmanager
def _as_long_as_the_job(folder: JobFolder) -> Iterator[None]:
    """Raises Error in the block if the job ends: another job may then create the outputs, with other nodes."""

    def look(*_: object) -> None:
        if not folder.is_there():
            raise Error("the job ended before it was done")

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _ALARM_EVERY_S, _ALARM_EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _wait_until_begun(folder: JobFolder, rules: Rules) -> bool:
    """Waits until all machines have joined. Returns False if the job ends before."""
    end = time.monotonic() + 3 * rules.timeout  # the process of the job may have been killed
    while folder.text(BEGUN) is None:
        if not folder.is_there() or time.monotonic() > end:
            return False
        time.sleep(look_every_s(rules.nodes))
    return True


def _stay(folder: JobFolder, node: int, writers: Sequence[Writer]) -> None:
    """Returns when the outputs are to be closed. Raises Error if the job ends otherwise."""
    next_word = 0.0
    while folder.text(CLOSING) is None:
        if not folder.is_there():
            raise Error("the job ended before it was done")
        if time.monotonic() >= next_word:
            _check(folder, writers)
            folder.put(durable(node), json.dumps(durable_times(writers)))
            next_word = time.monotonic() + _TELL_EVERY_S
        time.sleep(look_every_s(writers[0].nodes))


def _check(folder: JobFolder, writers: Sequence[Writer]) -> None:
    for writer in writers:
        if failure := writer.status().failure:
            raise SystemError(0, f"{writer.path}: {failure}")
        if why := writer.dead_nodes().get(1):  # without node 1, no process hands out ranges
            folder.remove()
            raise Error(f"the process of the job has ended ({why})")


def durable_times(writers: Sequence[Writer | None]) -> list[float]:
    """Returns one time for each output, by the clock of this machine: what was committed before it is durable."""
    times = []
    for writer in writers:
        now = time.monotonic()  # taken before the status, so that the time is too early rather than too late
        status = writer.status() if writer is not None else None
        times.append(now - status.oldest_unit_age if status and status.units_not_durable else now)
    return times


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
