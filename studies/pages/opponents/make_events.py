"""Wide events: those of a real file, drawn again and again and varied, so that no two rows are equal.

make_events.py FILE TREE ROWS FOLDER writes each flat column into a file of its own, and names them in columns.json (for
Thalweg and h5py) and columns.txt (for the ROOT program), in the order of Thalweg's columns.
"""

import json
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

MOST_DIMENSIONS = 3  # lists of lists of numbers
SEED = 20261122
LOOKED_AT = 2000  # values
FEW_VALUES = 64  # a column of no more distinct ones holds categories
FREQUENT = 0.02  # a value of that share of a column is a sentinel, or a constant
SPREAD = 0.05

Array = np.ndarray[Any, Any]


class Folder:
    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.columns: list[dict[str, Any]] = []

    def add(self, values: Array, path: str, kind: str, type_name: str, parent: int | None) -> int:
        name = f"{len(self.columns):05d}.bin"
        values.tofile(self.path / name)
        self.columns.append(
            {"path": path, "file": name, "kind": kind, "type": type_name, "parent": parent, "items": values.size}
        )
        return len(self.columns) - 1

    def finish(self, rows: int) -> None:
        (self.path / "columns.json").write_text(json.dumps({"rows": rows, "columns": self.columns}))
        lines = [str(rows)]
        for column in self.columns:
            parent = -1 if column["parent"] is None else column["parent"]
            words = (column["path"], column["file"], column["kind"], column["type"], parent, column["items"])
            lines.append(" ".join(map(str, words)))
        (self.path / "columns.txt").write_text("\n".join(lines) + "\n")


def numbers_of(tree: Any) -> dict[str, Any]:
    """Branches of numbers, and of lists of them."""
    found = {}
    for name in tree.keys():  # noqa: SIM118 (of uproot)
        key = name.replace(".", "_").replace("/", "_").replace(":", "_")
        try:
            array = ak.Array(tree[name].array())
            flat = np.asarray(ak.flatten(array, axis=None))
        except Exception:
            continue
        is_plain = not ak.fields(array) and "string" not in str(array.type) and array.ndim <= MOST_DIMENSIONS
        if is_plain and flat.dtype.kind in "iufb" and key not in found:
            found[key] = array
    return found


def varied(values: Array, rng: np.random.Generator) -> Array:
    """Varies the values as if they were measured once more: categories, sentinels and constants stay."""
    values = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("="))
    if values.size == 0 or values.dtype.kind == "b":
        return values
    look = values[:LOOKED_AT]
    distinct, counts = np.unique(look, return_counts=True)
    if values.dtype.kind == "f":
        frequent = distinct[counts > max(3, FREQUENT * look.size)]
        kept = np.isin(values, frequent) | ~np.isfinite(values)
        return np.where(kept, values, (values * rng.normal(1.0, SPREAD, values.size)).astype(values.dtype))
    if values.dtype.itemsize >= 4 and distinct.size > FEW_VALUES:
        return values + rng.integers(0, 8, values.size).astype(values.dtype)
    return values


def save(folder: Folder, key: str, array: Any, rng: np.random.Generator) -> None:
    path, parent = key, None
    for _ in range(array.ndim - 1):
        lengths = np.asarray(ak.num(array, axis=1)).astype(np.uint64)
        parent = folder.add(lengths, path, "lengths", "uint64", parent)
        path += "/*"
        array = ak.flatten(array, axis=1)
    values = varied(np.asarray(array), rng)
    folder.add(values, path, "values", values.dtype.name, parent)


def main() -> None:
    file, tree, rows, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Folder(Path(sys.argv[4]))
    rng = np.random.default_rng(SEED)
    events = uproot.open(file)[tree]
    drawn = rng.integers(0, events.num_entries, rows)
    for key, array in numbers_of(events).items():
        if key.lower().endswith("eventnumber"):
            folder.add(np.cumsum(rng.integers(1, 4, rows)).astype(np.uint64), key, "values", "uint64", None)
        else:
            save(folder, key, array[drawn], rng)
    folder.finish(rows)
    print(json.dumps({"columns": len(folder.columns), "rows": rows}))


if __name__ == "__main__":
    main()
