"""Reads the files of the driver with h5py, uproot and JSROOT, without Thalweg."""

import abc
import json
import subprocess
from pathlib import Path

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np
import numpy.typing as npt
import uproot
from jsroot import is_same, tables_of

TABLE = "events"
Numbers = npt.NDArray[np.uint64]


def sample(who: Numbers, row: Numbers, index: Numbers) -> npt.NDArray[np.uint16]:
    return ((row * 31 + who * 7 + index * (1 + row % 3)) % 1021).astype(np.uint16)


def expect_right(events: ak.Array) -> Numbers:
    """Checks that every row is what its producer wrote, from its first on. Returns the pairs (producer, row)."""
    who, row = (events[name].to_numpy().astype(np.uint64) for name in ("producer", "id"))
    for one in np.unique(who):
        np.testing.assert_array_equal(row[who == one], np.arange(np.count_nonzero(who == one)))
    waveforms = events.waveform.to_numpy()
    index = np.arange(waveforms.shape[1], dtype=np.uint64)[None, :]
    np.testing.assert_array_equal(waveforms, sample(who[:, None], row[:, None], index))
    lengths = ak.num(events.hits).to_numpy()
    np.testing.assert_array_equal(lengths, (row * 5 + who) % 7)
    nth = ak.flatten(ak.local_index(events.hits)).to_numpy().astype(np.uint64)
    expected = sample(np.repeat(who, lengths), np.repeat(row, lengths), 100 + nth)
    np.testing.assert_array_equal(ak.flatten(events.hits).to_numpy(), expected)
    return np.stack([who, row], axis=1)


SIGNATURE = b"\x89HDF\r\n\x1a\n"


class Container(abc.ABC):
    extension: str
    keeps_places: bool  # of the rows that it showed before it was complete, up to interim metadata

    @abc.abstractmethod
    def opens(self, path: Path) -> bool: ...

    @abc.abstractmethod
    def is_complete(self, path: Path) -> bool: ...

    @abc.abstractmethod
    def read(self, path: Path) -> ak.Array: ...

    def rows_shown(self, path: Path) -> Numbers:
        """Returns the pairs (producer, row) of what can be seen, all of it checked; nothing if a file must not open
        yet."""
        if self.opens(path):
            return expect_right(self.read(path))
        return np.empty((0, 2), np.uint64)

    @abc.abstractmethod
    def show_to_others(self, path: Path) -> None:
        """Checks a complete file with slow readers."""


class Hdf5(Container):
    extension = ".h5"
    keeps_places = False

    def opens(self, path: Path) -> bool:
        with path.open("rb") as file:
            begin = file.read(1024)
        return any(begin[at:].startswith(SIGNATURE) for at in (0, 512))

    def is_complete(self, path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(8) == SIGNATURE

    def read(self, path: Path) -> ak.Array:
        with h5py.File(path) as file:
            assert ("thalweg_open" in file.attrs) != self.is_complete(path)
            table = file[TABLE]
            fields = {name: table[name][:] for name in ("producer", "id", "waveform")}
            ends, hits = table["hits/cumulative_length"][:], table["hits/flattened_data"][:]
        lists = ak.unflatten(hits, np.diff(ends, prepend=np.uint64(0)).astype(np.int64))
        return ak.zip({**fields, "hits": lists}, depth_limit=1)

    def show_to_others(self, path: Path) -> None:
        done = subprocess.run(["h5dump", "-H", path], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


class RNTuple(Container):
    extension = ".root"
    keeps_places = True

    def opens(self, path: Path) -> bool:
        return path.exists()

    def is_complete(self, path: Path) -> bool:
        with uproot.open(path) as file:
            return bool(json.loads(str(file["thalweg"]))["closed"])

    def read(self, path: Path) -> ak.Array:
        with uproot.open(path) as file:
            return file[TABLE].arrays()

    def show_to_others(self, path: Path) -> None:
        ours = self.read(path)
        theirs = tables_of(path)[TABLE]
        assert theirs["rows"] == len(ours)
        assert is_same(theirs["fields"], {name: ours[name].to_list() for name in ours.fields})


CONTAINERS = [Hdf5(), RNTuple()]
