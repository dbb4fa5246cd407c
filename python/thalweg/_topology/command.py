"""The output of `thalweg topology`: clusters of a matrix and a plan, as values and as sentences."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._core import discover
from thalweg._topology.clusters import LatencyLevel, Partition, agrees, levels, nearest
from thalweg._topology.matrix import STEADY, Matrix
from thalweg._topology.plan import RankPlan, as_mpich, as_open_mpi, as_readout, as_slurm, make_plan

_CORES = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Findings:
    matrix: Matrix
    levels: list[LatencyLevel]
    """The measured clusters, as indices of the matrix."""
    described: Partition
    """The clusters of the machine's description, as indices of the matrix."""
    cores: list[list[int]]
    """The processors of each core."""
    agrees: bool | None
    machine: dict[str, Any]

    def clusters(self) -> list[list[int]]:
        """Returns the clusters of processors by which ranks are placed."""
        return self._processors(nearest(self.levels, self.described, len(self.matrix.cores)))

    def _processors(self, places: Partition) -> list[list[int]]:
        return [[self.matrix.cores[place] for place in each] for each in places]

    def plan(self, ranks: int, aggregators: int, *, split: bool) -> RankPlan:
        return make_plan(self.clusters(), self.cores, ranks, aggregators, split=split)

    def lines(self) -> list[str]:
        matrix, pairs = self.matrix, np.triu_indices(len(self.matrix.cores), 1)
        values = matrix.median[pairs]
        range_ = f"{values.min():.0f} to {values.max():.0f} ns (median of a pair)"
        best = matrix.minimum[pairs].min()
        said = [f"{len(matrix.cores)} processors: the one-way latency is {range_}, and at best {best:.0f} ns"]
        if matrix.unsteady:
            few = ", ".join(f"{a}-{b}" for a, b in matrix.unsteady[:5])
            said.append(
                f"{len(matrix.unsteady)} of {len(values)} pairs were never steady (75th percentile more than {STEADY} "
                f"times the 25th), since other programs run there: {few}{', ...' if len(matrix.unsteady) > 5 else ''}"
            )
        said += [
            f"{len(each.clusters)} clusters: {each.inside_ns:.0f} ns inside them, {each.between_ns:.0f} ns between them"
            for each in self.levels
        ]
        if not self.levels:
            said.append("no clusters: all pairs of processors have similar latencies")
        groups = f"{len(self.described)} group{'s'[: len(self.described) != 1]} of processors that share a cache"
        if self.agrees is None:
            said.append(f"the system describes {groups}; the measurement does not contradict it")
        elif self.agrees:
            said.append(f"the system describes the same: {groups}")
        else:
            said.append(f"the system describes something else ({groups}): the plan uses the measured clusters")
        return said

    def to_dict(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "levels": [
                {
                    "clusters": self._processors(level.clusters),
                    "inside_ns": level.inside_ns,
                    "between_ns": level.between_ns,
                }
                for level in self.levels
            ],
            "described": self._processors(self.described),
            "agrees": self.agrees,
            "unsteady": self.matrix.unsteady,
        }


def find_plan(matrix: Matrix, synthetic: str = "") -> Findings:
    """Returns the findings of a matrix. `synthetic` describes the machine of the matrix, in hwloc's notation."""
    topology = discover(synthetic)
    place = {core: number for number, core in enumerate(matrix.cores)}
    described = [
        sorted(place[thread] for core in chiplet.cores for thread in core if thread in place)
        for chiplet in topology.chiplets
    ]
    cores = [list(core) for chiplet in topology.chiplets for core in chiplet.cores]
    found = levels(matrix.median)
    described = [each for each in described if each]
    return Findings(matrix, found, described, cores, agrees(found, described), describe_machine())


def describe_machine() -> dict[str, Any]:
    """Returns settings of this machine that change latencies."""
    return {
        "smt": _read("smt/active"),
        "governor": _read("cpu0/cpufreq/scaling_governor"),
        "host": socket.gethostname(),
    }


def _read(name: str) -> str:
    try:
        return (_CORES / name).read_text().strip()
    except OSError:
        return "not known"


def files_of(plan: RankPlan, host: str) -> dict[str, str]:
    """Returns the plan in each format, by the name of the program that reads it."""
    return {
        "mpich": as_mpich(plan),
        "openmpi": as_open_mpi(plan, host),
        "slurm": as_slurm(plan),
        "readout": as_readout(plan),
    }
