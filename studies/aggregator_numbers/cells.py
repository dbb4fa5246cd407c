"""What is measured: collective writes of eight ranks, on storages with a known law, by two libraries."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

MIB = 1 << 20
RANKS = 8
DEFAULT = 0
"""The number of aggregators that stands for no setting at all."""


@dataclass(frozen=True)
class Law:
    """Servers that each do one piece of a stripe at a time, in latency + bytes / bandwidth."""

    servers: int
    """0: no write waits for another one."""
    stripe: int
    latency_us: int
    bandwidth: int
    """Bytes a second of one server."""

    def variables(self) -> dict[str, str]:
        return {f"LAW_{name.upper()}": str(value) for name, value in vars(self).items()}

    def __str__(self) -> str:
        each = f"{self.latency_us / 1000:g} ms + bytes / ({self.bandwidth // 1_000_000} MB/s)"
        if not self.servers:
            return f"{each}, and no write waits for another one"
        if self.stripe > 1 << 30:
            return f"one server, {each}"
        return f"{self.servers} servers, stripes of {self.stripe / MIB:g} MiB, {each}"


@dataclass(frozen=True)
class Writes:
    """What the ranks have in one collective write."""

    kind: str
    sizes: tuple[int, ...]
    """The bytes of each rank."""
    piece: int = 1

    @property
    def bytes(self) -> int:
        return sum(self.sizes)

    def words(self) -> list[str]:
        return [self.kind, str(self.piece), *map(str, self.sizes)]


@dataclass(frozen=True)
class Library:
    compiler: str
    launcher: tuple[str, ...]
    environment: dict[str, str]
    hints: tuple[str, ...] = ()
    """Lines of a file of hints, with {} for the number."""
    variables: tuple[str, ...] = ()
    """Environment variables, with {} for the number."""


ENDLESS = 1 << 40
LAWS = {
    "one server": Law(1, ENDLESS, 5_000, 200_000_000),
    "four servers": Law(4, MIB, 2_000, 100_000_000),
    "eight servers": Law(8, MIB // 4, 1_000, 50_000_000),
    "no server is shared": Law(0, ENDLESS, 5_000, 100_000_000),
}
WRITES = {
    "large blocks": Writes("blocks", (4 * MIB,) * RANKS),
    "small blocks": Writes("blocks", (MIB // 8,) * RANKS),
    "pieces in turn": Writes("pieces", (4 * MIB,) * RANKS, MIB // 4),
    "uneven blocks": Writes("blocks", tuple(n * MIB for n in (16, 1, 1, 1, 1, 1, 1, 10))),
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LIBRARIES = {
    # Without the last hint ROMIO lets each rank write its own block, so that the number would be inert.
    "ROMIO": Library(
        "mpicc.mpich",
        ("mpiexec.hydra",),
        {},
        hints=("cb_nodes {}", "cb_config_list *:{}", "romio_cb_write enable"),
    ),
    "OMPIO": Library(
        "mpicc.openmpi",
        ("mpiexec.openmpi", "--oversubscribe", "--bind-to", "none", "--mca", "io", "ompio"),
        AS_ROOT,
        variables=("OMPI_MCA_io_ompio_num_aggregators={}",),
    ),
}


@dataclass(frozen=True)
class Cell:
    library: str
    law: str
    writes: str

    def __str__(self) -> str:
        return f"{self.library}, {self.law}, {self.writes}"


CELLS = [Cell(*names) for names in itertools.product(LIBRARIES, LAWS, WRITES)]
NUMBERS = (DEFAULT, *range(1, RANKS + 1))

# Groups have other bytes than equal numbers of ranks do. Each rank begins a view of its own, so that Open MPI
# merges them as the authors do; it does not split groups as they do.
UNEVEN = {
    "two large ranks side by side": Writes("views", tuple(n * MIB // 4 for n in (32, 32, 1, 1, 1, 1, 1, 1))),
    "three large ranks": Writes("views", tuple(n * MIB // 4 for n in (1, 1, 1, 1, 1, 24, 24, 24))),
    "large and small in turn": Writes("views", tuple(n * MIB // 4 for n in (24, 1, 24, 1, 24, 1, 24, 1))),
}
