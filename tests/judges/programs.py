"""What is run while a system call fails: short programs that create, complete, resume and save."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import expected
from recordings import blocks_of, join

BATCH, BATCHES = 50, 12
TUNING = {"flush_interval": 0.02, "allocate_ahead_bytes": 1 << 20, "extent_bytes": 65536, "narrow_page_bytes": 8192}
Say = Callable[..., None]


@dataclass(frozen=True)
class Program:
    act: Callable[["Program", Path, Say], None]  # what strace watches
    before: Callable[["Program", Path, Say], None] | None = None  # what is done before, in a process that dies
    beside: Callable[["Program", Path, Say], None] | None = None  # what another process does meanwhile
    extension: str = ".h5"
    tuning: tuple[tuple[str, Any], ...] = ()
    codec: str = "none"

    @property
    def file(self) -> str:
        return f"run{self.extension}"

    @property
    def options(self) -> dict[str, Any]:
        return {"codec": self.codec, "tuning": TUNING | dict(self.tuning)}


def append_all(out: Any, say: Say, producers: tuple[int, ...], closes: bool = True) -> None:
    say("created")
    threads = {number: out.producer("events") for number in producers}
    for batch in range(BATCHES):
        for number, producer in threads.items():
            end = (batch + 1) * BATCH
            producer.append(**expected.rows(number, end - BATCH, end))
            say("appended", producer=number, rows=end)
        status = out.status()
        if status.failure or status.file_problem:
            say("error", error=status.failure or status.file_problem)
        time.sleep(0.005)
    if closes:
        report = out.close(30)
        say("closed", whole=report.is_whole)


def create(program: Program, path: Path, say: Say) -> None:
    import thalweg as tw

    append_all(tw.create(path, expected.schema(), **program.options), say, (0, 1))


def record_and_die(program: Program, path: Path, say: Say) -> None:
    import thalweg as tw

    append_all(tw.create(path, expected.schema(), **program.options), say, (0, 1), closes=False)


def recover(_: Program, path: Path, say: Say) -> None:
    import thalweg as tw

    report = tw.recover(path)
    say("closed", whole=report.is_whole)


def resume(_: Program, path: Path, say: Say) -> None:
    import thalweg as tw

    append_all(tw.create(path, resume=True), say, (2, 3))


def save(_: Program, path: Path, say: Say) -> None:
    from thalweg.checkpoint import save as save_checkpoint

    for step in range(3):
        save_checkpoint(path, blocks_of(step), attributes={"step": step})
        say("saved", step=step)


def be_first_node(program: Program, path: Path, say: Say) -> None:
    import thalweg as tw

    append_all(tw.create(path, expected.schema(), nodes=2, node_timeout=10, **program.options), say, (0, 1))


def be_second_node(_: Program, path: Path, say: Say) -> None:
    append_all(join(path), say, (2, 3))


PROGRAMS = {
    "create": Program(create),
    "create-posix": Program(create, tuning=(("engine", "posix"),)),
    "create-threads": Program(create, tuning=(("engine", "threads"), ("threads", 2)), codec="lz4"),
    "create-root": Program(create, extension=".root", codec="zstd"),
    "recover": Program(recover, before=record_and_die),
    "recover-root": Program(recover, before=record_and_die, extension=".root"),
    "resume": Program(resume, before=record_and_die),
    "resume-root": Program(resume, before=record_and_die, extension=".root"),
    "save": Program(save),
    "join": Program(be_second_node, beside=be_first_node),
    "join-root": Program(be_second_node, beside=be_first_node, extension=".root"),
}
