"""Outputs of the weights of DAOD_PHYS and PHYSLITE, from events of a PHYSLITE file; generated where there is none."""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from shared_writer.material import RANGE, Output

import thalweg as tw

REPOSITORY = Path(__file__).resolve().parents[2]
FILE = Path(os.environ.get("THALWEG_DATA", REPOSITORY.parent / "shared/data")) / "events/PHYSLITE_example.root"
COPIES = 3  # of each column of PHYSLITE in the other output: an event of DAOD_PHYS has about three times as many bytes

Column = tuple[str, Any, Any]  # name, first element of each event and the end (none: one an event), elements


@cache
def sample() -> list[Column]:
    """Columns that are numbers, or lists of numbers."""
    import uproot

    columns: list[Column] = []
    with uproot.open(FILE) as file:
        for name, branch in file["CollectionTree"].items(recursive=True):
            column = re.sub(r"\W+", "_", name)
            kind = type(branch.interpretation).__name__
            if kind == "AsDtype":
                columns.append((column, None, branch.array(library="np")))
            elif kind == "AsJagged":
                lists = branch.array().layout
                columns += [
                    (f"{column}{member}", np.asarray(lists.offsets), each) for member, each in _in(lists.content)
                ]
    columns = [(name, ends, each.astype(each.dtype.newbyteorder("="))) for name, ends, each in columns]
    return [each for each in columns if each[2].dtype.kind in "iuf" and each[2].ndim == 1]


def _in(content: Any) -> list[tuple[str, Any]]:
    """Numbers, or those of a record: links have a key and an index."""
    if not content.fields:
        return [("", np.asarray(content.data))] if hasattr(content, "data") else []
    members = [(f"_{name}", content[name]) for name in content.fields]
    return [(name, np.asarray(each.data)) for name, each in members if hasattr(each, "data")]


class Sampled:
    """Events of the sample, drawn at random. Floats are smeared by a thousandth, with as few bits as their column has,
    so that no event is there twice, and they shrink as they did."""

    def __init__(self, name: str, copies: int, seed: int) -> None:
        self.name, self._copies, self._seed = name, copies, seed
        self.schema: dict[str, Any] = {"event": tw.uint64}
        for copy in range(copies):
            for column, ends, values in sample():
                kind = getattr(tw, values.dtype.name)
                self.schema[f"{column}_{copy}"] = kind if ends is None else tw.list_(kind)

    def columns(self, number: int) -> list[Any]:
        """Flat columns of a range of events."""
        random = np.random.default_rng([self._seed, number])
        columns = [np.arange(number * RANGE, (number + 1) * RANGE, dtype=np.uint64)]
        for _ in range(self._copies):
            drawn = random.integers(0, len(next(values for _, ends, values in sample() if ends is None)), RANGE)
            for _, ends, values in sample():
                if ends is None:
                    columns.append(_smeared(values[drawn], values, random))
                    continue
                first, lengths = ends[drawn], ends[drawn + 1] - ends[drawn]
                before = np.cumsum(lengths) - lengths
                places = np.repeat(first - before, lengths) + np.arange(lengths.sum())
                columns += [lengths.astype(np.uint64), _smeared(values[places], values, random)]
        return columns


def _smeared(values: Any, column: Any, random: np.random.Generator) -> Any:
    if values.dtype.kind != "f" or len(values) == 0:
        return values
    bits = np.dtype(f"u{values.dtype.itemsize}")
    smeared = (values * (1 + 1e-3 * random.standard_normal(len(values)))).astype(values.dtype)
    used = np.bitwise_or.reduce(column.view(bits)) if len(column) else bits.type(0)
    return (smeared.view(bits) & used).view(values.dtype)


def sampled_train() -> list[Any]:
    if FILE.exists():
        return [Sampled("phys", COPIES, 1), Sampled("lite", 1, 2)]
    return [Output("phys", 60 * COPIES, 670 * COPIES, 1), Output("lite", 60, 670, 2)]
