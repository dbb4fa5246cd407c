"""Judges HDF5 properties that differ from the defaults, by the calls that the library made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import of_kind
from thalweg._explain.judged import Judged
from thalweg._explain.rules_hdf5 import TRANSFERS, Inside, datasets, files_of_hdf5, properties_of
from thalweg._trace.calls import Calls
from thalweg._trace.trace_file import Trace

Said = tuple[str, str]


def properties_of_files(trace: Trace) -> Iterator[Judged]:
    """Yields the file access properties, once for each file and value."""
    for each in files_of_hdf5(trace):
        for name, asked in properties_of(trace, each.file):
            state, why = _state(trace, each, name, asked)
            yield Judged("property", trace.files[each.file], name, asked, None, state, why)


def _state(trace: Trace, each: Inside, name: str, asked: str) -> Said:
    if "posix" not in trace.recorded:
        return "cannot be told", "level posix was not traced"
    if name == "alignment":
        return _alignment(each, asked)
    if name == "chunk_cache" or name.startswith("chunk_cache of "):
        return _chunk_cache(trace, each, int(asked), name.removeprefix("chunk_cache").removeprefix(" of "))
    if name == "file_locking" and asked != "best effort":
        return _locking(trace, each, asked == "true")
    if name == "sieve_buf_size":
        known = datasets(trace, each.file)
        if known and all(dataset.layout != "contiguous" for dataset in known):
            return "inert", "it applies to contiguous datasets only, and none of the opened ones is contiguous"
    if name in ("coll_metadata_write", "all_coll_metadata_ops"):
        over_mpi = trace.levels["mpi"].where(trace.levels["mpi"].file == each.file)
        if "mpi" in trace.recorded and not len(over_mpi):
            return "inert", "the file is not opened with MPI-IO"
    return "cannot be told", "the calls do not show it"


def _alignment(each: Inside, asked: str) -> Said:
    step, _, least = asked.partition(" from ")
    writes = of_kind(each.inner, "write")
    large = writes.where(writes.size >= int(least or 1))
    if not len(large):
        return "inert", f"no write has {as_bytes(int(least or 1))} or more"
    # An object that is written in several calls is aligned only at its beginning.
    aligned = int((large.offset % int(step) == 0).sum())
    if np.unique(large.offset[large.offset % int(step) == 0]).size > 1:
        return "in effect", f"{aligned:,} of {len(large):,} writes that are large enough begin at an aligned offset"
    return "cannot be told", "too little was written"


def _locking(trace: Trace, each: Inside, is_on: bool) -> Said:
    locks = trace.posix.where((trace.posix.file == each.file) & (trace.posix.name == "flock") & (trace.posix.depth > 0))
    was_locked = len(locks) > 0
    return ("in effect" if was_locked == is_on else "overruled", f"the file was{'' if was_locked else ' not'} locked")


def _chunk_cache(trace: Trace, each: Inside, asked: int, dataset: str) -> Said:
    known = [one for one in datasets(trace, each.file) if not dataset or one.name == dataset]
    chunks = [one.chunk for one in known if one.chunk]
    if known and not chunks and asked:
        return "inert", "no dataset that was opened has chunks"
    if asked and (not chunks or asked >= max(chunks)):
        return "cannot be told", "the calls do not show which chunks were in the cache"
    # A chunk that is larger than the cache is read and written anew for each transfer that needs it.
    again = {kind: _again(of_kind(each.of(*TRANSFERS), kind)) for kind in ("read", "write")}
    repeated = " and ".join(f"{count:,} {kind}s {kind} a chunk again" for kind, count in again.items() if count)
    if repeated:
        larger = f"chunks have up to {as_bytes(max(chunks))}, and" if chunks else ""
        return "in effect", f"{larger} the cache never holds chunks larger than it: {repeated}".strip()
    if not asked:
        return "in effect", "the cache is switched off and takes no memory, and no chunk was needed twice"
    return "inert", f"chunks have at least {as_bytes(min(chunks))}, and none was needed twice"


def _again(moves: Calls) -> int:
    """Returns how many reads or writes move what an earlier one has moved."""
    some = moves.where(moves.moved > 0)
    _, counts = np.unique(np.stack([some.process, some.offset, some.size]), axis=1, return_counts=True)
    return int((counts - 1).sum())
