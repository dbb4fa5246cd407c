"""Coincidence spectra of all pairs of detectors: a histogram of start, stop and time."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import h5py
import hist
import numpy as np
import numpy.typing as npt
import uhi.io.hdf5

from thalweg._base.errors import DataError

GROUP = "coincidences"
_FACTS = "thalweg_tdpac"


@dataclass
class Spectra:
    """`counts[start, stop, bin]`: a start in one detector, a stop in another one, or in the same one."""

    tables: tuple[str, ...]
    begin_ps: int
    bin_ps: int
    counts: npt.NDArray[np.int64]
    delays_ps: tuple[float, ...]
    """What was subtracted from the times of each detector."""
    facts: dict[str, int] = field(default_factory=dict)
    """How many hits, starts, stops and coincidences there were, and how many hits came too late."""
    remarks: list[str] = field(default_factory=list)
    """What is odd about the detectors, in whole sentences."""
    uncalibrated: list[str] = field(default_factory=list)
    """The tables whose energies were to be calibrated, and whose peaks were not found."""
    apart: list[str] = field(default_factory=list)
    """The tables whose hits have no time in common with those of any other table, so that they have no coincidences."""
    have_peaks: bool = True
    """Whether any window of any table has a peak of energies."""

    @property
    def edges_ns(self) -> npt.NDArray[np.float64]:
        return (self.begin_ps + self.bin_ps * np.arange(self.counts.shape[2] + 1)) * 1e-3

    @property
    def between_detectors(self) -> int:
        """The coincidences of different detectors, with the random ones."""
        return int(self.counts.sum() - np.trace(self.counts, axis1=0, axis2=1).sum())

    def to_hist(self) -> hist.Hist[Any]:
        edges = self.edges_ns
        made = hist.Hist(
            hist.axis.StrCategory(self.tables, name="start", label="start", flow=False),
            hist.axis.StrCategory(self.tables, name="stop", label="stop", flow=False),
            hist.axis.Regular(len(edges) - 1, edges[0], edges[-1], name="time", label="stop - start (ns)", flow=False),
            storage=hist.storage.Int64(),
        )
        made.view()[...] = self.counts
        return made

    def save(self, file: h5py.File) -> None:
        """Stores the histogram as `uhi.io.hdf5` does, in the group `coincidences`."""
        group = file.create_group(GROUP)
        uhi.io.hdf5.write(group, self.to_hist())
        facts = {
            "begin_ps": self.begin_ps,
            "bin_ps": self.bin_ps,
            "delays_ps": self.delays_ps,
            **self.facts,
            "remarks": self.remarks,
        }
        group.attrs[_FACTS] = json.dumps(facts)

    @classmethod
    def load(cls, path: str) -> Spectra:
        """Reads what `save` has stored. Raises DataError if the file has no such histogram."""
        with h5py.File(path) as file:
            if GROUP not in file or _FACTS not in file[GROUP].attrs:
                raise DataError(f"{path} has no coincidence spectra of `thalweg tdpac`")
            facts = json.loads(file[GROUP].attrs[_FACTS])
            stored: Any = uhi.io.hdf5.read(file[GROUP])
            read: Any = hist.Hist(stored)
        tables = tuple(read.axes[0])
        begin, width, delays = facts.pop("begin_ps"), facts.pop("bin_ps"), tuple(facts.pop("delays_ps"))
        remarks = facts.pop("remarks", [])
        return cls(tables, begin, width, np.asarray(read.values()).astype(np.int64), delays, facts, remarks)
