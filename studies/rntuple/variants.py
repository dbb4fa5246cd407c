"""All that is measured, one function each. Every one that writes a file ends when the file is durable."""

from collections.abc import Callable

from harness.programs import Measurement, fio
from rntuple.programs import LEVELS, Programs

Variant = Callable[[Programs], Measurement]

EXTENT_BYTES = 8 << 20  # a cluster without compression is written at once
WORKERS = 2
PASSES = 2  # of reading, after one that warms
BATCHES = {"100k": 100_000, "1M": 1_000_000}  # events of one `extend`


def thalweg(**options: object) -> Variant:
    return lambda programs: programs.write(**{"path": programs.memory_target, **options})


def on_disk(**options: object) -> Variant:
    return lambda programs: programs.write(path=programs.target, codec="none", **options)


def codec(level: int, stock: bool = False) -> Variant:
    return lambda programs: programs.study(
        "encode",
        data="events",
        codec=f"zstd-{level}",
        stock=int(stock),
        threads=WORKERS,
        bytes=programs.total_bytes,
    )


def uproot_write(level: int, batch: int) -> Variant:
    return lambda programs: programs.opponent(
        "uproot_write.py", programs.memory_target, programs.small_bytes // 2, level, batch
    )


def read(level: int) -> Variant:
    return lambda programs: programs.study(
        "read", path=programs.recorded(level), columns="all", threads=WORKERS, passes=PASSES
    )


def python_read(level: int) -> Variant:
    return lambda programs: programs.opponent("thalweg_read.py", programs.recorded(level), PASSES)


def uproot_read(level: int) -> Variant:
    return lambda programs: programs.opponent("uproot_read.py", programs.recorded(level), PASSES)


ROOTS_READERS = ("bulk", "views", "dataframe")
OUR_CLUSTER_BYTES = 6 << 20  # raw
# 100 x algorithm + level, as ROOT counts them. From level 4 on its lz4 is LZ4HC, which ours is not.
ROOTS_CODECS = {"none": 0, "lz4": 401, "zstd-1": 501, "zstd-5": 505}


def root_write(codec: str, threads: int, cluster_bytes: int = 0) -> Variant:
    """On tmpfs, as ours: cluster_bytes of 0 are ROOT's own."""
    return lambda programs: programs.root(
        "root_parallel_write",
        programs.memory_target,
        programs.total_bytes,
        ROOTS_CODECS[codec],
        threads,
        cluster_bytes,
        0,
    )


def root_snapshot(codec: str) -> Variant:
    return lambda programs: programs.root(
        "root_snapshot", programs.memory_target, programs.total_bytes, ROOTS_CODECS[codec], WORKERS
    )


def root_on_disk(direct: int) -> Variant:
    return lambda programs: programs.root(
        "root_parallel_write", programs.target, programs.total_bytes, 0, WORKERS, 0, direct
    )


def root_read(level: int, how: str, threads: int = WORKERS) -> Variant:
    return lambda programs: programs.root("root_read", programs.recorded(level), PASSES, threads, how)


def beside_root(codec: str) -> dict[str, Variant]:
    variants: dict[str, Variant] = {}
    for threads in (1, 2, 4):
        name = f"{codec}, {threads} thread{'s' * (threads > 1)}"
        variants[f"beside ROOT: thalweg, {name}"] = thalweg(codec=codec, producers=threads)
        variants[f"beside ROOT: {name}, its clusters"] = root_write(codec, threads)
        variants[f"beside ROOT: {name}, our clusters"] = root_write(codec, threads, OUR_CLUSTER_BYTES)
    return variants


def memory(**options: object) -> Variant:
    return lambda programs: programs.study("memory", path=programs.target, **options)


def of_level(level: int) -> dict[str, Variant]:
    name = f"zstd-{level}"
    return {
        f"thalweg: {name}, processes": thalweg(codec=name, **{"as": "processes"}),
        **{f"uproot: {name}, {events} events at once": uproot_write(level, BATCHES[events]) for events in BATCHES},
        f"thalweg: {name}, threads": thalweg(codec=name),
        f"codec: ours, {name}": codec(level),
        f"codec: split + zstd, {name}": codec(level, stock=True),
        f"memory: {name}, two producers": thalweg(codec=name, path="memory"),
        f"read: ours, {name}": read(level),
        f"read: uproot, {name}": uproot_read(level),
        f"read: ours, Python, {name}": python_read(level),
    }


VARIANTS: dict[str, Variant] = {
    "fio: two jobs, 8 MiB": fio(WORKERS, EXTENT_BYTES),
    "thalweg: none, processes": on_disk(**{"as": "processes"}),
    "fio: one job, 8 MiB": fio(1, EXTENT_BYTES),
    "thalweg: none, threads": on_disk(),
    "fio: two jobs, 2 MiB": fio(WORKERS, 2 << 20),
    **of_level(1),
    "memory: zstd-1, one producer": thalweg(codec="zstd-1", path="memory", producers=1),
    "thalweg: zstd-1, one process": thalweg(codec="zstd-1", producers=1, **{"as": "processes"}),
    **of_level(5),
    **{name: variant for codec in ROOTS_CODECS for name, variant in beside_root(codec).items()},
    **{f"beside ROOT: {codec}, Snapshot, {WORKERS} threads": root_snapshot(codec) for codec in ROOTS_CODECS},
    "ROOT on disk: none, buffered": root_on_disk(direct=0),
    "ROOT on disk: none, direct": root_on_disk(direct=1),
    **{f"ROOT reads: zstd-{level}, {how}": root_read(level, how) for level in LEVELS for how in ROOTS_READERS},
    "one column of 50": lambda programs: programs.study("projection", path=programs.wide, columns="value7"),
    "producer: events": memory(data="events"),
    "producer: 1000 columns": memory(columns=1000),
}
