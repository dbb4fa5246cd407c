"""The figures of the table, and what they should be."""

from harness.figures import Best, Figure, cpu_ratio, of_one, rate_ratio


def writing(level: int, best: Best, target: str) -> list[Figure]:
    name = f"zstd-{level}"
    processes, threads, uproot = f"thalweg: {name}, processes", f"thalweg: {name}, threads", best(f"uproot: {name}")
    memory = f"memory: {name}, two producers"
    stock, ours = f"codec: split + zstd, {name}", f"codec: ours, {name}"
    return [
        rate_ratio(f"writing, {name}, two processes / uproot", target, processes, uproot),
        rate_ratio(f"writing, {name}, two threads / uproot", target, threads, uproot),
        cpu_ratio(f"writing, {name}, two processes / uproot, by CPU time of two cores", "", processes, uproot, cores=2),
        rate_ratio(f"writing, {name}, in memory / splitting and zstd alone", "≥ 0.85", memory, stock),
        rate_ratio(f"writing, {name}, in memory / our codec alone", "≥ 0.85", memory, ours),
        cpu_ratio(f"writing, {name}, in memory / our codec alone, by CPU time", "", memory, ours),
    ]


def scaling(where: str, two: str, one: str) -> list[Figure]:
    return [
        rate_ratio(f"two producers / one, {where}", "≥ 1.85", two, one),
        cpu_ratio(f"two producers / one, {where}, by CPU time", "≥ 1.85", two, one, cores=2),
    ]


def reading(level: int) -> list[Figure]:
    name = f"zstd-{level}"
    return [
        rate_ratio(f"reading, {name}, two threads / uproot", "≥ 4", f"read: ours, {name}", f"read: uproot, {name}"),
        rate_ratio(
            f"reading, {name}, in Python / uproot", "≥ 4", f"read: ours, Python, {name}", f"read: uproot, {name}"
        ),
    ]


PARALLEL_TARGETS = {"none": "≥ 1.5", "lz4": "", "zstd-1": "≥ 2.5", "zstd-5": "≥ 6"}  # wall time, two threads


def beside_root(best: Best) -> list[Figure]:
    figures: list[Figure] = []
    for codec, target in PARALLEL_TARGETS.items():
        for threads in ("1 thread", "2 threads", "4 threads"):
            name = f"{codec}, {threads}"
            ours, roots = f"beside ROOT: thalweg, {name}", best(f"beside ROOT: {name}")
            figures += [
                rate_ratio(f"writing, {name} / ROOT's parallel writer", target * (threads[0] == "2"), ours, roots),
                cpu_ratio(f"writing, {name} / ROOT's parallel writer, by CPU time", "", ours, roots),
            ]
        ours, snapshot = f"beside ROOT: thalweg, {codec}, 2 threads", f"beside ROOT: {codec}, Snapshot, 2 threads"
        figures.append(rate_ratio(f"writing, {codec}, 2 threads / ROOT's Snapshot", "", ours, snapshot))
    figures.append(rate_ratio("codec none, threads / ROOT's", "", "thalweg: none, threads", best("ROOT on disk:")))
    for level in (1, 5):
        name = f"zstd-{level}"
        ours, roots = f"read: ours, {name}", best(f"ROOT reads: {name}")
        figures += [
            rate_ratio(f"reading, {name}, two threads / ROOT's fastest way", "≥ 3", ours, roots),
            cpu_ratio(f"reading, {name}, two threads / ROOT's fastest way, by CPU time", "", ours, roots),
        ]
    return figures


def all_figures(best: Best) -> list[Figure]:
    fio = best("fio:")
    return [
        *writing(1, best, "≥ 5"),
        *writing(5, best, "≥ 2.5"),
        *scaling("threads in memory", "memory: zstd-1, two producers", "memory: zstd-1, one producer"),
        *scaling("processes on tmpfs", "thalweg: zstd-1, processes", "thalweg: zstd-1, one process"),
        rate_ratio("codec none / fio", "≥ 0.85", "thalweg: none, processes", fio),
        rate_ratio("codec none, threads / fio", "≥ 0.85", "thalweg: none, threads", fio),
        *reading(1),
        *reading(5),
        *beside_root(best),
        of_one("bytes read for one column of 50 / its share", "≤ 1.1", "one column of 50", "bytes_per_share"),
        of_one("PSS of a producer, these events", "≤ 128 MiB", "producer: events", "producer_pss_MiB"),
        of_one("PSS of a producer, 1000 columns", "≤ 128 MiB", "producer: 1000 columns", "producer_pss_MiB"),
    ]
