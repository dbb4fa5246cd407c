"""What `thalweg topology` says: clusters of a matrix, and a plan, as facts and sentences."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._core import discover
from thalweg._topology.clusters import Level, Partition, agrees, levels, nearest
from thalweg._topology.matrix import STEADY, Matrix
from thalweg._topology.plan import Plan, as_mpich, as_open_mpi, as_readout, as_slurm, make_plan

_CORES = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Findings:
    matrix: Matrix
    levels: list[Level]
    """Clusters as places in the matrix."""
    described: Partition
    """The same, of the machine's description."""
    cores: list[list[int]]
    """Processors that are one core."""
    agrees: bool | None
    machine: dict[str, Any]

    def clusters(self) -> list[list[int]]:
        """Processors, by which ranks are placed."""
        return self._processors(nearest(self.levels, self.described, len(self.matrix.cores)))

    def _processors(self, places: Partition) -> list[list[int]]:
        return [[self.matrix.cores[place] for place in each] for each in places]

    def plan(self, ranks: int, aggregators: int, *, split: bool) -> Plan:
        return make_plan(self.clusters(), self.cores, ranks, aggregators, split=split)

    def lines(self) -> list[str]:
        matrix, pairs = self.matrix, np.triu_indices(len(self.matrix.cores), 1)
        values = matrix.median[pairs]
        range_ = f"{values.min():.0f} to {values.max():.0f} ns (median of a pair)"
        best = matrix.minimum[pairs].min()
        said = [f"{len(matrix.cores)} processors: one way takes {range_}, {best:.0f} ns at best"]
        if matrix.unsteady:
            few = ", ".join(f"{a}-{b}" for a, b in matrix.unsteady[:5])
            said.append(
                f"{len(matrix.unsteady)} of {len(values)} pairs were never steady (75th percentile over 25th above "
                f"{STEADY}): something else runs there ({few}{', ...' if len(matrix.unsteady) > 5 else ''})"
            )
        said += [
            f"{len(each.clusters)} clusters: {each.inside_ns:.0f} ns inside, {each.between_ns:.0f} ns between them"
            for each in self.levels
        ]
        if not self.levels:
            said.append("no clusters: no pair of processors is much nearer than others")
        groups = f"{len(self.described)} group{'s'[: len(self.described) != 1]} of processors that share a cache"
        if self.agrees is None:
            said.append(f"the machine describes {groups}; what was measured says nothing against it")
        elif self.agrees:
            said.append(f"so the machine describes itself: {groups}")
        else:
            said.append(f"this is NOT how the machine describes itself ({groups}): plan by what was measured")
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


def find(matrix: Matrix, synthetic: str = "") -> Findings:
    """`synthetic`: hwloc's description of another machine, on which the matrix was measured."""
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
    """What changes latencies, beside the processor itself."""
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


def files_of(plan: Plan, host: str) -> dict[str, str]:
    """By the name of what reads it."""
    return {
        "mpich": as_mpich(plan),
        "openmpi": as_open_mpi(plan, host),
        "slurm": as_slurm(plan),
        "readout": as_readout(plan),
    }
