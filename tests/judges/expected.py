"""Every value follows from its producer and its row. This is all that recorders and judges share."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH = 48
Numbers = npt.NDArray[np.uint64]
Columns = dict[str, Any]


def values(producer: Numbers, row: Numbers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint16]]:
    """Returns what the columns "x" and "w" have in these rows."""
    x = (producer.astype(np.float64) * 1e6 + row) * 0.5
    w = row[:, None] * np.uint64(31) + np.arange(WIDTH, dtype=np.uint64) * np.uint64(7)
    return x, ((w + producer[:, None] * np.uint64(997)) % np.uint64(4093)).astype(np.uint16)


def lengths(producer: Numbers, row: Numbers) -> npt.NDArray[np.int64]:
    """Returns how many items the column "l" has in these rows."""
    return ((row * np.uint64(5) + producer) % np.uint64(7)).astype(np.int64)


def items(producer: Numbers, row: Numbers) -> npt.NDArray[np.uint16]:
    """Returns the items of the column "l", one row after the other."""
    count = lengths(producer, row)
    first = np.cumsum(count) - count
    nth = np.arange(count.sum(), dtype=np.int64) - np.repeat(first, count)
    return ((nth * 3 + np.repeat(row.astype(np.int64), count)) % 65521).astype(np.uint16)


def texts(producer: Numbers, row: Numbers) -> list[str]:
    return [f"p{p} row {i}" + "é" * (i % 3) for p, i in zip(producer.tolist(), row.tolist(), strict=True)]


def rows(producer: int, begin: int, end: int, has_lists: bool = False) -> Columns:
    """Returns the rows of a producer as `append` takes them."""
    row = np.arange(begin, end, dtype=np.uint64)
    producers = np.full(end - begin, producer, np.uint64)
    x, w = values(producers, row)
    columns: Columns = {"producer": producers, "row": row, "x": x, "w": w}
    if has_lists:
        import awkward as ak

        columns["l"] = ak.unflatten(items(producers, row), lengths(producers, row))
        columns["s"] = ak.Array(texts(producers, row))
    return columns


def schema(has_lists: bool = False) -> Any:
    """Returns the schema of the table that has these rows."""
    import thalweg as tw

    row: dict[str, Any] = {"producer": tw.uint64, "row": tw.uint64, "x": tw.float64, "w": tw.array(tw.uint16, WIDTH)}
    if has_lists:
        row |= {"l": tw.list_(tw.uint16), "s": tw.string}
    return tw.schema({"events": row})


def rows_of_unit(key: int) -> int:
    return 4 * (1 + key % 3)


@dataclass
class Found:
    """Holds the table of a file as a reader shows it. Lists and texts are there if the file has them."""

    producer: Numbers
    row: Numbers
    x: npt.NDArray[np.float64]
    w: npt.NDArray[np.uint16] | None = None
    list_ends: Numbers | None = None
    list_items: npt.NDArray[np.uint16] | None = None
    texts: list[str] | None = None
    by_producer: dict[int, Numbers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for producer in np.unique(self.producer):
            self.by_producer[int(producer)] = self.row[self.producer == producer]

    def wrong_values(self) -> list[str]:
        """Returns which columns have other values than their producer and row say."""
        x, w = values(self.producer, self.row)
        wrong = []
        if not np.array_equal(x, self.x):
            wrong.append(f"x is wrong in {np.count_nonzero(x != self.x)} of {len(x)} rows")
        if self.w is not None and not np.array_equal(w, self.w):
            wrong.append(f"w is wrong in {np.count_nonzero((w != self.w).any(axis=1))} of {len(x)} rows")
        if self.list_ends is not None:
            if not np.array_equal(np.cumsum(lengths(self.producer, self.row)), self.list_ends):
                wrong.append("lengths of lists are wrong")
            elif not np.array_equal(items(self.producer, self.row), self.list_items):
                wrong.append("items of lists are wrong")
        if self.texts is not None and self.texts != texts(self.producer, self.row):
            wrong.append("texts are wrong")
        return wrong
