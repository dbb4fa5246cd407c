"""All that is measured, one function each. Every one that writes ends when all ranks' bytes are durable."""

from collections.abc import Callable

from checkpoint.programs import Programs
from harness.programs import Measurement

Variant = Callable[[Programs], Measurement]

RANKS = (4, 8)  # 127 and 32 MB each
MODELLED = (1, 64, 1024, 8192)
# Hints of ROMIO that the paper discusses, or that make collective buffering take place at all.
HINTS = {
    "as it is": (),
    "cb_write enabled": ("romio_cb_write=enable",),
    "cb_write enabled, 2 aggregators": ("romio_cb_write=enable", "cb_nodes=2", "cb_config_list=*:2"),
    "cb_write disabled": ("romio_cb_write=disable",),
    "data sieving disabled": ("romio_ds_write=disable",),
    "data sieving enabled": ("romio_ds_write=enable",),
    "stripes asked for": ("striping_factor=4", "striping_unit=33554432"),
}
COMPARED_HINTS = ("as it is",)
STRATEGIES = {
    "posix file per process, direct": "posix-direct",
    "posix file per process, buffered": "posix-buffered",
    "mpiio, one file, independent": "mpiio-independent",
    "hdf5, independent": "hdf5-independent",
    "hdf5, collective": "hdf5-collective",
}
READS = {
    "posix file per process": "posix-direct",
    "mpiio, file per process": "mpiio-per-process",
    "mpiio, one file, independent": "mpiio-independent",
    "mpiio, one file, collective": "mpiio-collective",
    "hdf5, independent": "hdf5-independent",
}


def ours(ranks: int, what: str, mpi: str = "mpich") -> Variant:
    return lambda programs: programs.save(ranks, what, mpi)


def other(ranks: int, strategy: str, *hints: str, mpi: str = "mpich") -> Variant:
    return lambda programs: programs.other(ranks, strategy, *hints, mpi=mpi)


def read_by_other(ranks: int, strategy: str) -> Variant:
    return lambda programs: programs.other(ranks, strategy, what=("save", "restore"))


def restore(ranks: int, saved: int, how: str = "restore") -> Variant:
    return lambda programs: programs.restore(ranks, saved, how)


def collective(ranks: int, names: tuple[str, ...]) -> dict[str, Variant]:
    return {
        f"mpiio, one file, collective, {name}, {ranks} ranks": other(ranks, "mpiio-collective", *HINTS[name])
        for name in names
    }


def of_ranks(ranks: int) -> dict[str, Variant]:
    end = f"{ranks} ranks"
    return {
        f"extents, {end}": ours(ranks, "save"),
        **{f"{name}, {end}": other(ranks, strategy) for name, strategy in STRATEGIES.items()},
        **collective(ranks, COMPARED_HINTS),
        f"extents, restore, {end}": restore(ranks, ranks),
        f"read: posix file per process, {end}": read_by_other(ranks, "posix-direct"),
    }


def of_paper() -> dict[str, Variant]:
    """Adds what the paper's figures 1 to 9 show besides, in few rounds; their names begin with `once`."""
    more = {f"once: read: {name}, 4 ranks": read_by_other(4, way) for name, way in READS.items()}
    for files in (2, 4):
        more[f"once: mpiio, {files} files, 4 ranks"] = other(4, f"mpiio-files-{files}")
    for files in (2, 4, 8):
        more[f"once: mpiio, {files} files, 8 ranks"] = other(8, f"mpiio-files-{files}")
    more["once: mpiio, file per process, 4 ranks"] = other(4, "mpiio-per-process")
    rest = tuple(name for name in HINTS if name not in COMPARED_HINTS)
    more |= {f"once: {name}": variant for name, variant in collective(4, rest).items()}
    for name in ("mpiio-independent", "mpiio-collective"):
        more[f"once: {name} of Open MPI, 4 ranks"] = other(4, name, mpi="openmpi")
    more["once: extents, Open MPI, 4 ranks"] = ours(4, "save", "openmpi")
    for ranks in (1, 2):  # no more than cores: what waits in a call of MPI's own takes no processor from others
        more[f"once: extents, {ranks} ranks"] = ours(ranks, "save")
        for name in ("posix file per process, direct", "mpiio, one file, independent", "hdf5, independent"):
            more[f"once: {name}, {ranks} ranks"] = other(ranks, STRATEGIES[name])
    for name, strategy in STRATEGIES.items():  # more than twice the cores: told, not compared
        more[f"once: {name}, 16 ranks"] = other(16, strategy)
    more["once: extents, 16 ranks"] = ours(16, "save")
    more["once: extents, next to nothing, 4 ranks"] = lambda programs: programs.save(4, rank_bytes=8)
    for ranks in MODELLED:
        more[f"once: facts of {ranks} ranks"] = lambda programs, ranks=ranks: programs.facts(ranks)
    return more


VARIANTS: dict[str, Variant] = {
    **{name: variant for ranks in RANKS for name, variant in of_ranks(ranks).items()},
    "extents, save_async, 2 ranks": ours(2, "async"),
    "extents, save_async, 4 ranks": ours(4, "async"),
    "extents, restore and verify, 4 ranks": restore(4, 4, "verify"),
    "extents, restore, 2 ranks": restore(2, 2),
    "extents, restore, saved by 4, read by 2": restore(2, 4),
    "extents, restore, saved by 2, read by 4": restore(4, 2),
    **of_paper(),
}

# The targets, in the order in which they are wanted: both sides of a ratio are in the same rounds.
FIRST = (
    (tuple(f"{name}, {ranks} ranks" for ranks in RANKS for name in ("extents", "posix file per process, direct")), 30),
    (
        tuple(
            f"{name}, {ranks} ranks"
            for ranks in RANKS
            for name in ("posix file per process, buffered", "extents, restore", "read: posix file per process")
        ),
        15,
    ),
    (tuple(f"extents, save_async, {ranks} ranks" for ranks in (2, 4)), 7),
    (tuple(name for name in VARIANTS if name.startswith(("mpiio, one file", "hdf5"))), 7),
    (tuple(name for name in VARIANTS if "restore" in name and not name.startswith("once")), 7),
)
