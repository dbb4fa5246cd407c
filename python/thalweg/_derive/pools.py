"""Makes a pool of processes anew: one of concurrent.futures takes no more work once one of its workers has died."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any


def remade(executor: Any) -> Executor | None:
    """Returns a new pool like a broken one, or None if it is no ProcessPoolExecutor, whose settings are known."""
    if type(executor) is not ProcessPoolExecutor:
        return None
    names = ("max_workers", "mp_context", "initializer", "initargs", "max_tasks_per_child")
    return ProcessPoolExecutor(**{name: getattr(executor, f"_{name}") for name in names})
