"""One rank of a job that saves: what it saves follows from the number of the step."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from checkpoint_ranks import PipeCommunicator

from kills.checkpoint.plan import Life, Plan
from kills.stage import Say
from thalweg.checkpoint import Block, save, save_async

MOST_STEPS = 100_000
Pairs = list[tuple[Connection, Connection]]


def communicator(rank: int, pairs: Pairs) -> PipeCommunicator:
    """Closes the ends that this rank does not use: so it notices the death of another one."""
    mine = [near for near, _ in pairs] if rank == 0 else [pairs[rank - 1][1]]
    for end in (end for pair in pairs for end in pair if end not in mine):
        end.close()
    comm = PipeCommunicator(rank, mine)
    comm._size = len(pairs) + 1
    return comm


def blocks(plan: Plan, life: Life, rank: int, step: int) -> dict[str, list[Block]]:
    """Each rank has a slab of rows or of columns, or rank 0 the left half and the others slabs of the right one."""
    rows, columns, ranks = plan.rows, plan.columns, life.ranks
    whole = (rows, columns)

    def part(first_row: int, end_row: int, first: int, end: int) -> Block:
        return Block(np.full((end_row - first_row, end - first), float(step)), whole, (first_row, first))

    if life.layout == "slabs":
        psi = [part(rows * rank // ranks, rows * (rank + 1) // ranks, 0, columns)]
    elif life.layout == "grid":
        psi = [part(0, rows, columns * rank // ranks, columns * (rank + 1) // ranks)]
    elif ranks == 1:
        psi = [part(0, rows, 0, columns // 3), part(0, rows, columns // 3, columns)]
    elif rank == 0:
        psi = [part(0, rows, 0, columns // 2)]
    else:
        psi = [part(rows * (rank - 1) // (ranks - 1), rows * rank // (ranks - 1), columns // 2, columns)]
    return {"psi": psi, "step": [Block(np.full(1, step), (1,), (0,))] if rank == 0 else []}


def run(plan: Plan, life: Life, rank: int, pairs: Pairs, path: Path, first: int, say: Say) -> None:
    """Says before each save that it begins, and after it that it has returned."""
    comm = communicator(rank, pairs)
    chance = random.Random(f"{plan.seed}/{first}/{rank}")
    write: Callable[..., Any] = save if life.how == "save" else save_async
    waits: tuple[Any, int] | None = None
    for step in range(first, first + MOST_STEPS):
        if waits is not None:
            waits[0].wait()
            say("saved", rank, waits[1])
        say("begins", rank, step)
        given = {"keep": life.keep, "codec": life.codec, "attributes": {"step": step}}
        done = write(path, blocks(plan, life, rank, step), comm, **given)
        waits = (done, step) if life.how == "save_async" else None
        if waits is None:
            say("saved", rank, step)
        if life.pause_s:
            time.sleep(chance.uniform(0, life.pause_s))
