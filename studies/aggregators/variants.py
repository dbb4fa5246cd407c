"""All that is measured, one cell of the figures each."""

import itertools
import os
from collections.abc import Callable

from aggregators.programs import Cell, Programs, cores
from harness.programs import Measurement

Variant = Callable[[Programs], Measurement]

WHOLE = bool(os.environ.get("THALWEG_WHOLE_GRID"))
"""The grid of the paper, 60 hours and more: `--resume` goes on with it."""
RANKS = (4, 8, 12) if WHOLE else (4, 12)
SIZES = tuple(10**power for power in range(3, 9)) if WHOLE else (10**4, 10**6, 10**7)
LISTS = tuple(f"*:{n}" for n in ((1, 2, 3, 4, 6, 8, 12) if WHOLE else (1, 2, 4)))
ENABLED = ("romio_cb_write", "enable")
BLOCKS = (4096, 65536, 1 << 20)
# These hints of section 5.1 are set alone and in pairs, in collective transfers that aggregators gather.
HINTS = (
    ("romio_no_indep_rw", "true"),
    ("cb_buffer_size", "1048576"),
    ("cb_nodes", "1"),
    ("romio_aggregator_list", "1"),
    ("romio_cb_alltoall", "enable"),
    ("romio_cb_fr_alignment", "4096"),
    ("romio_cb_ds_threshold", "65536"),
    ("romio_cb_pfr", "enable"),
    ("romio_ds_write", "disable"),
    ("striping_unit", "1048576"),
)
HINT_K = 10**6


def size(k: int) -> str:
    return f"1e{len(str(k)) - 1}"


def name_of(cell: Cell) -> str:
    listed = dict(cell.hints).get("cb_config_list", "")
    sync = ", fsync" if cell.is_synced else ""
    return f"{cell.library}, {cell.transfer}, {cell.ranks} ranks, k {size(cell.k)}, {listed}, {cell.variant}{sync}"


def of(cell: Cell) -> Variant:
    return lambda programs: programs.run(cell)


def paper_cells(library: str = "C", transfer: str = "independent", is_synced: bool = False) -> list[Cell]:
    more = (ENABLED,) if transfer == "collective" else ()
    return [
        Cell(variant, ranks, k, (("cb_config_list", listed), *more), transfer, 0, is_synced, library)
        for ranks, k, listed, variant in itertools.product(RANKS, SIZES, LISTS, ("all", "split"))
    ]


def some(cells: list[Cell], *, ranks: int = 4) -> list[Cell]:
    return [cell for cell in cells if cell.ranks == ranks]


PAPER = paper_cells()
SYNCED = some(paper_cells(is_synced=True))
COLLECTIVE = some(paper_cells(transfer="collective"))
H5PY = some(paper_cells(library="h5py")) if os.environ.get("THALWEG_H5PY_MPI") else []


def with_hints(*hints: tuple[str, str]) -> Cell:
    return Cell("split", 4, HINT_K, (ENABLED, *hints), "collective")


PAIRS = tuple(itertools.combinations(HINTS, 2)) if WHOLE else ((HINTS[7], HINTS[5]), (HINTS[7], HINTS[6]))
LAST = tuple(sorted(os.sched_getaffinity(0)))[-2:]

VARIANTS: dict[str, Variant] = {
    **{name_of(cell): of(cell) for cell in (*PAPER, *SYNCED, *COLLECTIVE, *H5PY)},
    "hints, none": of(with_hints()),
    **{f"hints, {hint[0]}={hint[1]}": of(with_hints(hint)) for hint in HINTS},
    **{f"hints, {a[0]}={a[1]} and {b[0]}={b[1]}": of(with_hints(a, b)) for a, b in PAIRS},
    **{
        f"blocks of {block >> 10} KiB, {transfer}": of(Cell("split", 4, 1 << 20, (), transfer, block))
        for block, transfer in itertools.product(BLOCKS, ("independent", "collective"))
    },
    **{
        f"placement, cores {','.join(map(str, places))}": of(
            Cell("split", 4, HINT_K, (ENABLED, ("cb_config_list", "*:2")), "collective", 0, False, "C", places)
        )
        for places in ((LAST[0], LAST[-1]) * 2, (LAST[0],) * 2 + (LAST[-1],) * 2)
        if cores() > 1
    },
    **{
        f"thalweg, {ranks // 2} producers, k {size(k)}": lambda programs, ranks=ranks, k=k: programs.thalweg(
            ranks // 2, k
        )
        for ranks, k in itertools.product(RANKS, SIZES)
    },
}
