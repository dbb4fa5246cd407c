"""The figures of the table, and what they should be."""

from harness.figures import Best, Figure, Round, cpu_ratio, of_one, rate_ratio


def cpu_without_source(each: Round, variant: str) -> float:
    return float(each[variant]["cpu_s_per_GB"] - each["source alone"]["cpu_s_per_GB"])


def all_figures(best: Best) -> list[Figure]:
    fio, huge_fio = best("fio:"), best("fio, huge pages:")
    none, default, threads = "thalweg: none, processes", "thalweg: default, processes", "thalweg: default, threads"
    one, two = "memory: one producer", "memory: two producers"
    batches = "thalweg: default, batches"
    one_step, alone = "parallel HDF5: one step", "source alone"
    return [
        rate_ratio("codec none / fio", "≥ 0.9", none, fio),
        rate_ratio("codec none, threads / fio", "≥ 0.9", "thalweg: none, threads", fio),
        rate_ratio("default codec / fio", "≥ 1.0", default, fio),
        rate_ratio("default codec, threads / fio", "≥ 1.0", threads, fio),
        rate_ratio("codec none / fio from huge pages", "≥ 1.0", none, huge_fio),
        rate_ratio("default codec / fio from huge pages", "", default, huge_fio),
        rate_ratio("default codec / our codec alone, in memory", "≥ 0.8", default, "codec: ours"),
        cpu_ratio("default codec, batches / our codec alone, by CPU time", "≥ 0.8", batches, "codec: ours"),
        rate_ratio("default codec / stock bitshuffle + lz4 alone", "≥ 0.8", default, "codec: stock"),
        rate_ratio("default codec / stock, compiled for this machine", "≥ 0.8", default, "codec: stock, native"),
        rate_ratio("default codec / parallel HDF5", "≥ 2.5", default, "parallel HDF5: many steps"),
        rate_ratio("codec none / parallel HDF5", "≥ 1.5", none, "parallel HDF5: many steps"),
        rate_ratio("default codec / parallel HDF5, 0.4 GB", "≥ 2.5", "thalweg: default, one step", one_step),
        rate_ratio("codec none / parallel HDF5, 0.4 GB", "≥ 1.5", "thalweg: none, one step", one_step),
        rate_ratio("default codec / h5py with bitshuffle + lz4", "≥ 2.5", default, "h5py: bitshuffle + lz4"),
        rate_ratio("default codec / h5py, compiled for this machine", "", default, "h5py: bitshuffle + lz4, native"),
        rate_ratio("default codec / h5py's direct chunks", "≥ 2.5", default, "h5py: direct chunks, two threads"),
        rate_ratio("default codec / h5py with shuffle + gzip-1", "≥ 15", default, "h5py: shuffle + gzip-1"),
        rate_ratio("default codec / TensorStore, shards of Zarr 3", "", default, "TensorStore: Zarr 3, shards"),
        cpu_ratio("default codec / TensorStore, by CPU time", "", default, "TensorStore: Zarr 3, shards"),
        rate_ratio("codec none, two threads / ADIOS2, one process", "", "thalweg: none, threads", "ADIOS2: none"),
        rate_ratio("two producers / one, in memory", "≥ 1.85", two, one),
        cpu_ratio("two producers / one, by CPU time", "≥ 1.85", two, one, cores=2),
        of_one("committer's CPU for a page", "≤ 2 µs", "many pages", "committer_us_per_page"),
        of_one("close's CPU for a page", "≤ 2 µs", "many pages", "close_us_per_page"),
        of_one("PSS of a producer, one waveform column", "≤ 128 MiB", "producer: waveform", "producer_pss_MiB"),
        of_one("PSS of a producer, 1000 columns", "≤ 128 MiB", "producer: 1000 columns", "producer_pss_MiB"),
        Figure("CPU for a raw GB, codec none", "≤ 0.35 s", lambda each: cpu_without_source(each, none), (none, alone)),
        rate_ratio("reading, two threads / h5py", "≥ 4", "read: ours", "read: h5py"),
        rate_ratio("reading, two threads / h5py, compiled for this machine", "", "read: ours", "read: h5py, native"),
    ]
