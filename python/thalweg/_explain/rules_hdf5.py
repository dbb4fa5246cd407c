"""Rules about HDF5: they compare what a program requests with the I/O that HDF5 makes for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import (
    Finding,
    by_file,
    data,
    distinct,
    found,
    gathered_by_file,
    of_kind,
    outer_of,
    seconds,
)
from thalweg._explain.gains import short_pauses
from thalweg._explain.rules_files import BLOCK, LARGE, MANY, pid
from thalweg._trace.calls import Calls, Integers
from thalweg._trace.spans import elapsed
from thalweg._trace.trace_file import Trace

OPENING = ("H5Dopen2", "H5Dopen1", "H5Oopen", "H5Gopen2", "H5Gopen1", "H5Aopen", "H5Aopen_name", "H5Aopen_by_name")
OPENING_FILES = ("H5Fopen", "H5Fcreate")
TRANSFERS = ("H5Dread", "H5Dwrite")
WRITES_CHUNKS = (*TRANSFERS, "H5Dclose", "H5Fclose", "H5Oclose", "H5Idec_ref", "H5Fflush")
CONVERTS = 4


@dataclass(frozen=True)
class Dataset:
    name: str
    layout: str
    facts: dict[str, str]

    @property
    def chunk(self) -> int:
        """The size of a chunk in bytes, or 0 if it has no chunks."""
        return int(self.facts.get("chunk", 0))

    @property
    def has_filters(self) -> bool:
        return "filters" in self.facts


def datasets(trace: Trace, file: int) -> list[Dataset]:
    """Returns the datasets of a file, as HDF5 described them when they were opened."""
    known = []
    for each in trace.settings:
        if each["origin"] == "dataset" and each["file"] == file:
            layout, *rest = each["value"].split(" ")
            known.append(Dataset(each["name"], layout, dict(word.split("=", 1) for word in rest if "=" in word)))
    return known


def properties_of(trace: Trace, file: int) -> list[tuple[str, str]]:
    """Returns the properties with which a file was opened; each value of a file that was opened with several."""
    found = {
        (each["name"], each["value"]): None
        for each in trace.settings
        if each["origin"] == "property" and each["file"] == file
    }
    return sorted(found)


@dataclass(frozen=True)
class Inside:
    """The outermost HDF5 calls of one file, and the POSIX calls that were made inside them."""

    file: int
    outer: Calls
    inner: Calls
    place: Integers
    """The index of the outer call of each inner call."""

    def of(self, *names: str) -> Calls:
        """Returns the inner calls that were made in outer calls of these names."""
        return self.inner.where(self.outer.name.isin(names)[self.place])

    @property
    def transfers(self) -> Calls:
        return self.outer.where(self.outer.name.isin(TRANSFERS))


def files_of_hdf5(trace: Trace) -> Iterator[Inside]:
    calls = trace.levels["hdf5"]
    outermost = calls.where(calls.depth == 0)
    below = data(trace.posix.where(trace.posix.depth > 0))
    for number, outer in by_file(outermost):
        inner = below.where(below.file == number)
        place = outer_of(inner, outer)
        yield Inside(number, outer, inner.where(place >= 0), place[place >= 0])


def small_transfers(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        moves = each.transfers.where(each.transfers.size > 0)
        if len(moves) >= MANY and moves.size.mean() < BLOCK:
            yield found(
                trace,
                moves,
                f"{len(moves):,} H5Dread and H5Dwrite move only {as_bytes(float(moves.size.mean()))} each: "
                "select more in each call",
                gain=1 - min(1.0, -(-int(moves.size.sum()) // LARGE) / len(moves)),
                how="the calls that are not needed, with the short pauses in which the program prepares them",
                # What is opened for each transfer is the cause of another finding.
                pauses=len(each.outer.where(each.outer.name.isin(OPENING + OPENING_FILES))) < len(moves) / 2,
                table="hdf5",
                where="depth == 0 and size > 0",
                asked_bytes=int(moves.size.sum()),
            )


def objects_opened_again(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        opens = each.outer.where(each.outer.name.isin(OPENING))
        if len(opens) >= MANY and len(opens) > len(each.transfers) / 2:
            yield found(
                trace,
                opens,
                f"{len(opens):,} calls open datasets, groups and attributes, but only {len(each.transfers):,} move "
                'data: keep the objects open (in h5py: `x = file["x"]` before the loop)',
                gain=1.0,
                # The program uses an object before it opens the next one.
                elsewhere=0.5 * max(0.0, short_pauses(opens) - elapsed(each.transfers)),
                how="these calls, and half of the short pauses between them",
                table="hdf5",
                where="depth == 0",
                transfers=len(each.transfers),
            )


def files_opened_again(trace: Trace) -> Iterator[Finding]:
    calls = trace.levels["hdf5"]
    outermost = calls.where((calls.depth == 0) & (calls.file > 0))
    for _, mine in by_file(outermost):
        for process in np.unique(mine.process):
            some = mine.where(mine.process == process)
            opens = some.where((some.kind == "open") & (some.result >= 0))
            if len(opens) < 50:
                continue
            others = some.where(~some.kind.isin(("open",)) & ~some.name.isin(TRANSFERS))
            around = short_pauses(some)
            yield found(
                trace,
                opens,
                f"process {pid(trace, int(process))} opens it {len(opens):,} times, and each time HDF5 reads "
                "its metadata anew: keep it open",
                gain=1 - 1 / len(opens),
                table="hdf5",
                where="depth == 0 and result >= 0",
                elsewhere=(elapsed(others) + around) * (1 - 1 / len(opens)),
                how="the time between opening and closing, without transfers and long pauses",
                opens=len(opens),
            )


def flushes(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        some = each.outer.where(each.outer.name.matching(lambda name: "flush" in name))
        written = of_kind(each.inner, "write").moved_bytes
        if len(some) >= 100 and written < len(some) * LARGE:
            yield found(
                trace,
                some,
                f"there are {len(some):,} flushes for {as_bytes(written)}, and each writes all changed metadata: flush "
                "less often",
                gain=1 - (1 + written // LARGE) / len(some),
                table="hdf5",
                where="depth == 0",
                written_bytes=written,
            )


def chunk_cache(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        is_inside = each.outer.name.isin(TRANSFERS)[each.place] & (each.inner.kind == "read") & (each.inner.moved > 0)
        reads = each.inner.where(is_inside)
        if not len(reads):
            continue
        key = np.stack([reads.process, reads.offset, reads.size], axis=1)
        _, first, counts = np.unique(key, axis=0, return_index=True, return_counts=True)
        again = int((reads.moved[first] * (counts - 1)).sum())
        chunks = [dataset.chunk for dataset in datasets(trace, each.file) if dataset.chunk]
        # A file that is opened anew has an empty cache.
        opens = int((each.outer.kind == "open").sum())
        if opens > (len(reads) - len(first)) / 2:
            continue
        if chunks and len(reads) - len(first) >= 20 and again >= LARGE and again > reads.moved_bytes / 2:
            # The time includes decoding: HDF5 decodes a chunk each time that it reads it.
            outer = each.outer.where(np.unique(each.place[is_inside]))
            yield found(
                trace,
                outer,
                f"each chunk is read {len(reads) / len(first):.1f} times on average, {as_bytes(again)} too much, since "
                f"the chunk cache is too small for chunks of up to {as_bytes(max(chunks))}: read in the order of "
                "chunks, or enlarge the cache (h5py: rdcc_nbytes)",
                gain=again / reads.moved_bytes,
                how="the fraction of bytes that are read again, of the time in H5Dread and H5Dwrite",
                table="hdf5",
                where="depth == 0",
                read_again_bytes=again,
                largest_chunk=max(chunks),
            )


def split_by_chunks(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        # Chunks that are in the cache are written when the dataset or the file is closed.
        inner, moves = each.of(*WRITES_CHUNKS), each.transfers
        small = [dataset for dataset in datasets(trace, each.file) if 0 < dataset.chunk < 16 * BLOCK]
        if small and len(inner) >= MANY and len(inner) >= 16 * len(moves) and inner.mean_bytes < 16 * BLOCK:
            gain = gathered_by_file(inner)
            places = each.place[each.outer.name.isin(WRITES_CHUNKS)[each.place]]
            outer = each.outer.where(np.unique(places))
            yield found(
                trace,
                inner,
                f"{len(moves):,} H5Dread and H5Dwrite become {len(inner):,} reads and writes of "
                f"{as_bytes(inner.mean_bytes)}, since chunks of {small[0].name} have only "
                f"{as_bytes(small[0].chunk)}: make chunks of about 1 MiB",
                gain=gain,
                elsewhere=gain * max(0.0, elapsed(outer) - elapsed(inner)),
                how="these calls, and what HDF5 does for each chunk",
                where="depth > 0",
                transfers=len(moves),
                chunk=small[0].chunk,
            )


def read_amplification(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        asked, got = each.outer.where(each.outer.name == "H5Dread"), of_kind(each.of("H5Dread"), "read")
        wanted, came = int(asked.size.clip(0).sum()), got.moved_bytes
        if came >= 4 * LARGE and came > 4 * wanted:
            yield found(
                trace,
                got,
                f"{as_bytes(came)} are read for {as_bytes(wanted)} that were requested, since HDF5 reads whole chunks: "
                "give chunks the shape in which they are read",
                gain=1 - wanted / came,
                where="depth > 0",
                asked_bytes=wanted,
                read_bytes=came,
            )


def type_conversion(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        moves = each.transfers.where(each.transfers.extra & CONVERTS != 0)
        if moves.size.clip(0).sum() >= LARGE:
            below = seconds(each.of(*TRANSFERS)) / max(seconds(each.transfers), 1e-9)
            yield found(
                trace,
                moves,
                f"{len(moves):,} transfers of {as_bytes(int(moves.size.sum()))} convert between types: use the same "
                "type in memory and in the dataset",
                gain=1 - below,
                table="hdf5",
                where=f"depth == 0 and extra >= {CONVERTS}",
                asked_bytes=int(moves.size.sum()),
            )


def fill_values(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        filled = of_kind(each.of("H5Dcreate2", "H5Dcreate1", "H5Dset_extent"), "write")
        written = of_kind(each.of("H5Dwrite"), "write")
        both = distinct(filled.offset, filled.moved) + distinct(written.offset, written.moved)
        twice = both - distinct(np.r_[filled.offset, written.offset], np.r_[filled.moved, written.moved])
        if twice >= LARGE:
            yield found(
                trace,
                filled,
                f"{as_bytes(filled.moved_bytes)} of fill values are written when a dataset is created, and "
                f"{as_bytes(twice)} of them are replaced later: use H5Pset_fill_time(H5D_FILL_TIME_NEVER)",
                gain=twice / max(1, filled.moved_bytes),
                where="depth > 0",
                replaced_bytes=twice,
            )


def alignment(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        asked = dict(properties_of(trace, each.file)).get("alignment", "")
        writes = of_kind(each.inner, "write")
        if not asked or not len(writes):
            continue
        used, end = distinct(writes.offset, writes.moved), int((writes.offset + writes.moved).max())
        if end >= 2 * used and end - used >= LARGE:
            yield found(
                trace,
                writes,
                f"the file has {as_bytes(end)} for {as_bytes(used)} that were written, since H5Pset_alignment "
                f"({asked}) also aligns small objects: raise its threshold",
                where="depth > 0",
                file_bytes=end,
                used_bytes=used,
            )


def filters_over_ranks(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        filtered = [dataset for dataset in datasets(trace, each.file) if dataset.has_filters]
        writes = each.outer.where((each.outer.name == "H5Dwrite") & (each.outer.rank >= 0))
        over_mpi = trace.levels["mpi"].where(trace.levels["mpi"].file == each.file)
        if not filtered or not len(over_mpi) or not len(writes):
            continue
        failed = int((writes.result < 0).sum())
        said = (
            f"{failed:,} of {len(writes):,} writes failed, since independent writes are not possible"
            if failed
            else f"{len(writes):,} writes take {seconds(writes):.3g} s, and in each all ranks wait for each other"
        )
        yield found(
            trace,
            writes,
            f"{filtered[0].name} has filters and is written by several ranks over MPI ({said}; every chunk is sent to "
            "one rank): write without filters, or with Thalweg",
            gain=1 - seconds(each.of("H5Dwrite")) / max(seconds(writes), 1e-9),
            table="hdf5",
            where="depth == 0",
            failed=failed,
        )


def not_collective(trace: Trace) -> Iterator[Finding]:
    for each in files_of_hdf5(trace):
        asked = each.transfers.where(each.transfers.extra & ~CONVERTS == 2)
        mpi = data(trace.levels["mpi"].where(trace.levels["mpi"].depth > 0))
        inner = mpi.where(mpi.file == each.file)
        place = outer_of(inner, asked)
        alone = inner.where((place >= 0) & inner.name.matching(lambda name: "_all" not in name))
        if len(alone) and len(np.unique(place[place >= 0])) and len(alone) > (place >= 0).sum() / 2:
            yield found(
                trace,
                alone,
                f"{len(asked):,} transfers were requested as collective, but HDF5 made {len(alone):,} independent "
                "MPI-IO calls for them: it does so if types are converted, or if the dataset has no simple layout",
                gain=0.5,
                table="mpi",
                where="depth > 0",
                asked=len(asked),
            )
