"""All that is measured, one function each. Every one that writes ends when all ranks' bytes are durable."""

from collections.abc import Callable

from checkpoint.programs import Programs
from harness.programs import Measurement

Variant = Callable[[Programs], Measurement]

RANKS = (2, 4)
# Hints of ROMIO that the paper discusses, or that make collective buffering take place at all.
HINTS = {
    "as it is": (),
    "cb_write enabled": ("romio_cb_write=enable",),
    "cb_write enabled, 2 aggregators": ("romio_cb_write=enable", "cb_nodes=2", "cb_config_list=*:2"),
    "no data sieving": ("romio_ds_write=disable",),
}
STRATEGIES = {
    "posix file per process: direct": "posix-direct",
    "posix file per process: buffered": "posix-buffered",
    "mpiio: file per process": "mpiio-per-process",
    "mpiio: two files": "mpiio-files-2",
    "mpiio: one file, independent": "mpiio-independent",
    "hdf5: independent": "hdf5-independent",
    "hdf5: collective": "hdf5-collective",
}


def ours(ranks: int, what: str) -> Variant:
    return lambda programs: programs.save(ranks, what)


def other(ranks: int, strategy: str, *hints: str) -> Variant:
    return lambda programs: programs.other(ranks, strategy, *hints)


def restore(ranks: int, saved: int, how: str = "restore") -> Variant:
    return lambda programs: programs.restore(ranks, saved, how)


def of_ranks(ranks: int) -> dict[str, Variant]:
    end = f"{ranks} ranks"
    return {
        f"extents, {end}": ours(ranks, "save"),
        **{f"{name}, {end}": other(ranks, strategy) for name, strategy in STRATEGIES.items()},
        **{
            f"mpiio: one file, collective, {name}, {end}": other(ranks, "mpiio-collective", *hints)
            for name, hints in HINTS.items()
        },
        f"extents: save_async, {end}": ours(ranks, "async"),
        f"extents: restore, {end}": restore(ranks, ranks),
        f"extents: restore and verify, {end}": restore(ranks, ranks, "verify"),
        f"restore a file per process, {end}": lambda programs: programs.restore_per_process(ranks),
    }


VARIANTS: dict[str, Variant] = {
    **{name: variant for ranks in RANKS for name, variant in of_ranks(ranks).items()},
    "extents: restore, saved by 4, read by 2": restore(2, 4),
    "extents: restore, saved by 2, read by 4": restore(4, 2),
}
