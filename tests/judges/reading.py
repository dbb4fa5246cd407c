"""The table of the recordings as h5py and uproot show it. No line of Thalweg takes part."""

import itertools
from pathlib import Path

import awkward as ak
import expected
import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np
import uproot


class NotOpenError(Exception):
    """A file does not open, as a file that is not complete should not."""


def read(path: Path) -> expected.Found:
    """Raises NotOpenError if the file does not open."""
    return read_uproot(path) if path.suffix == ".root" else read_h5py(path)


def read_h5py(path: Path) -> expected.Found:
    try:
        file = h5py.File(path)
    except OSError as error:
        raise NotOpenError(str(error)) from error
    with file:
        table = file["events"]
        found = {name: table[name][:] for name in ("producer", "row", "x")}
        if "w" in table:
            w = table["w"]
            found["w"] = (w["values"] if isinstance(w, h5py.Group) else w)[:]
        if "s" in table:
            found["list_ends"], found["list_items"] = (
                table[f"l/{n}"][:] for n in ("cumulative_length", "flattened_data")
            )
            ends, text = (table[f"s/{n}"][:] for n in ("cumulative_length", "flattened_data"))
            bounds = [0, *ends.tolist()]
            found["texts"] = [text[i:j].tobytes().decode() for i, j in itertools.pairwise(bounds)]
    return expected.Found(**found)


def says_that_it_is_open(path: Path) -> bool:
    with h5py.File(path) as file:
        return "thalweg_open" in file.attrs


def read_uproot(path: Path) -> expected.Found:
    """Returns no rows if the file has no interim metadata yet."""
    try:
        file = uproot.open(path)
    except Exception as error:
        raise NotOpenError(f"{type(error).__name__}: {error}") from error
    with file:
        if "events" not in file:
            return nothing()
        events = file["events"].arrays()
    found = {name: np.asarray(events[name]) for name in ("producer", "row", "x")}
    if "w" in events.fields:
        found["w"] = np.asarray(events["w"]).reshape(len(events), expected.WIDTH)
    if "s" in events.fields:
        found["list_ends"] = np.cumsum(np.asarray(ak.num(events["l"])))
        found["list_items"] = np.asarray(ak.flatten(events["l"]))
        found["texts"] = events["s"].tolist()
    return expected.Found(**found)


def nothing() -> expected.Found:
    none = np.zeros(0, np.uint64)
    return expected.Found(none, none, np.zeros(0))
