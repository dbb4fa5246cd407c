"""The rules: what makes I/O slow or unsafe and can be seen in the calls of a program.

A rule is a function that takes a trace and yields findings. It considers ordinary files only, and its limits are chosen
so that each finding is worth a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from thalweg._explain import rules_files as files
from thalweg._explain import rules_hdf5 as hdf5
from thalweg._explain import rules_ranks as ranks
from thalweg._explain import rules_streams as streams
from thalweg._explain.findings import Finding
from thalweg._explain.settings import settings_without_effect
from thalweg._trace.trace_file import Trace


@dataclass(frozen=True)
class Rule:
    name: str
    finds: str
    """The condition that the rule looks for, as the documentation shows it."""
    look: Callable[[Trace], Iterator[Finding]]
    needs: tuple[str, ...] = ("posix",)
    """The levels that must be in the trace, or the rule cannot find anything."""

    def findings(self, trace: Trace) -> Iterator[Finding]:
        for each in self.look(trace):
            yield replace(each, rule=self.name)

    def missing(self, trace: Trace) -> list[str]:
        """Returns the needed levels that were not recorded."""
        return [level for level in self.needs if level not in trace.recorded]


MPI, HDF5, BOTH = ("mpi",), ("hdf5",), ("posix", "hdf5")

RULES = (
    Rule(
        "small requests",
        "1000 or more reads and writes of a file, with less than 4 KiB on average",
        files.small_requests,
    ),
    Rule(
        "unaligned writes",
        "more than half of 100 or more writes of 4 KiB or more begin inside a block, and touch a tenth more blocks",
        files.unaligned,
    ),
    Rule(
        "redundant reads",
        "a process reads 1 MiB or more, and each byte at least twice on average",
        files.redundant_reads,
    ),
    Rule(
        "random reads",
        "more than half of 1000 or more reads of less than 64 KiB go back, or jump ahead by more than 128 KiB",
        files.random_reads,
    ),
    Rule(
        "metadata storm",
        "2000 or more calls that open, close, query or change files, and five times as many as move data",
        files.metadata_storm,
    ),
    Rule("failed calls", "1000 or more opens and queries of files fail, and more than half of all", files.failed_calls),
    Rule("seeks", "500 or more seeks, and at least 0.4 for each read or write", files.seeks),
    Rule("no sync", "1 MiB or more is written and never synced", files.no_sync),
    Rule(
        "written synchronously",
        "100 or more writes of less than 1 MiB to a file that was opened with O_SYNC or O_DSYNC",
        files.written_synchronously,
    ),
    Rule("sync storm", "100 or more syncs, each for less than 1 MiB", files.sync_storm),
    Rule(
        "many small files",
        "a process opens 1000 or more different files, and moves less than 64 KiB in each on average",
        files.many_small_files,
    ),
    Rule("page faults", "500 or more pages of mapped files are waited for", files.page_faults),
    Rule("opened again and again", "one process opens a file 50 times or more", files.opened_again),
    Rule("truncation of an existing file", "an open discards 1 MiB or more", files.truncation),
    Rule(
        "read, modify, write",
        "20 or more writes, and more than half of all, write back a range that was read just before",
        files.read_modify_write,
    ),
    Rule("direct and small", "100 or more reads and writes with O_DIRECT, of less than 64 KiB", files.direct_and_small),
    Rule(
        "written and thrown away",
        "1 MiB or more is written to a file that is removed before it is read",
        files.thrown_away,
    ),
    Rule(
        "waiting for locks", "two or more threads wait for 0.05 s or more in 10 or more calls", files.waiting_for_locks
    ),
    Rule("flushed again and again", "500 or more fflush, each for less than 4 KiB", streams.flushed_again, ("stdio",)),
    Rule(
        "single items",
        "100000 or more fread and fwrite, with less than 64 bytes on average",
        streams.single_items,
        ("stdio",),
    ),
    Rule("single bytes", "50000 or more fgetc, getc, fputc or putc", streams.single_bytes, ("stdio",)),
    Rule(
        "one rank does all",
        "one rank moves more than 90 % of the bytes of a file, with 1 MiB or more in all",
        ranks.one_rank_does_all,
    ),
    Rule(
        "same reads of all ranks",
        "two or more ranks read 1 MiB or more each, and a third of it or more is the same",
        ranks.same_reads,
    ),
    Rule(
        "straggler",
        "a rank spends more than twice the median time of all ranks in reads and writes, and 0.1 s more",
        ranks.stragglers,
    ),
    Rule(
        "overlapping writes",
        "processes write the same 64 KiB or more at the same time, and more than a tenth of all bytes",
        ranks.overlapping_writes,
    ),
    Rule(
        "independent and interleaved",
        "200 or more independent calls of less than 64 KiB by ranks, in alternating ranges of the file",
        ranks.independent_and_interleaved,
        ("posix", "mpi"),
    ),
    Rule(
        "collective and apart",
        "collective calls of 1 MiB or more send more than a quarter of the bytes to other ranks",
        ranks.collective_and_apart,
        ("posix", "mpi"),
    ),
    Rule(
        "MPI-IO files opened again and again",
        "a rank opens a file with MPI_File_open 50 times or more",
        ranks.mpi_files_opened_again,
        MPI,
    ),
    Rule("shared file pointer", "20 or more reads and writes with the shared file pointer", ranks.shared_pointer, MPI),
    Rule("atomic mode", "10 or more writes in atomic mode", ranks.atomic_mode, MPI),
    Rule("more ranks than cores", "ranks that wait for each other share cores", ranks.more_ranks_than_cores, MPI),
    Rule(
        "aggregators on too few cores",
        "the aggregators may run on fewer cores than there are aggregators, and other cores are free",
        ranks.aggregators_on_one_core,
        ("posix", "mpi"),
    ),
    Rule(
        "small transfers",
        "1000 or more H5Dread and H5Dwrite, with less than 4 KiB on average",
        hdf5.small_transfers,
        HDF5,
    ),
    Rule(
        "objects opened again and again",
        "1000 or more opens of datasets, groups and attributes, and at least one for every two transfers",
        hdf5.objects_opened_again,
        HDF5,
    ),
    Rule(
        "HDF5 files opened again and again",
        "one process opens a file with HDF5 50 times or more",
        hdf5.files_opened_again,
        HDF5,
    ),
    Rule("HDF5 flushes", "100 or more flushes, each for less than 1 MiB", hdf5.flushes, BOTH),
    Rule(
        "chunk cache too small",
        "1 MiB or more, and more than half of all reads, are chunks that were read before",
        hdf5.chunk_cache,
        BOTH,
    ),
    Rule(
        "chunks split requests",
        "a transfer becomes 16 or more reads and writes, because chunks are smaller than 64 KiB",
        hdf5.split_by_chunks,
        BOTH,
    ),
    Rule(
        "chunks larger than requests",
        "4 MiB or more, and more than four times the requested bytes, are read",
        hdf5.read_amplification,
        BOTH,
    ),
    Rule("type conversion", "HDF5 converts the type of 1 MiB or more", hdf5.type_conversion, BOTH),
    Rule("fill values in vain", "1 MiB or more of fill values is replaced later", hdf5.fill_values, BOTH),
    Rule(
        "alignment inflates the file",
        "the file has twice the written bytes, and at least 1 MiB more",
        hdf5.alignment,
        BOTH,
    ),
    Rule(
        "filters over ranks",
        "ranks write a dataset with filters over MPI",
        hdf5.filters_over_ranks,
        ("posix", "mpi", "hdf5"),
    ),
    Rule(
        "collective in vain",
        "HDF5 makes independent calls although collective transfers were requested",
        hdf5.not_collective,
        ("mpi", "hdf5"),
    ),
    Rule("setting without effect", "below", settings_without_effect, ()),
)
