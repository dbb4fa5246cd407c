"""Which rows there are, of workers and of work units. Writers and judges share it."""

import random

import numpy as np

from kills.plan import Plan
from kills.values import Column

UNITS = 1 << 40  # numbers from here on belong to attempts at a work unit
TRIES = 1 << 16  # attempts at one key


def unit_writer(key: int, attempt: int) -> int:
    return UNITS + key * TRIES + attempt


def unit_rows(plan: Plan, key: int, attempt: int) -> dict[str, int]:
    """Returns how many rows a unit has in each table. Some units are larger than a page, and some have none."""
    chance = random.Random(f"{plan.seed}/{key}/{attempt}")
    sizes = {table: chance.choice([0, 1, 3, 20, 100]) * (1 + (plan.columns < 60)) for table in plan.tables}
    return sizes if any(sizes.values()) else dict.fromkeys(sizes, 2)


def first_key(plan: Plan) -> int:
    """Returns the keys of a run that is ordered by key, which are consecutive numbers."""
    return -(plan.keys // plan.keys_per_group // 2) * plan.keys_per_group


def stored_key(plan: Plan, key: int) -> int | bytes:
    if plan.keys_per_group:
        return first_key(plan) + key
    if not plan.has_text_keys:
        return -977 * key if key % 2 else 977 * key
    return f"key-{key}-".encode() + b"x" * (key * 7 % 50)


def summary(key: int, attempt: int) -> bytes:
    size = [0, 5, 300, 20_000][key % 4]
    return (f"{key}/{attempt} " * size).encode()[:size]


def row_bytes(columns: tuple[Column, ...]) -> int:
    return 16 + sum(column.row_bytes for column in columns)


def numbers(who: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns writer and number of these rows, the first two columns of each table."""
    return np.full(count, who, np.uint64), np.arange(first, first + count, dtype=np.uint64)
