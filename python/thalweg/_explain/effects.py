"""Finds in the calls whether a hint of MPI-IO that the library reports had an effect on one file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import aggregators_of, interleaved, of_kind, outer_of
from thalweg._explain.rules_ranks import is_collective
from thalweg._trace.calls import Calls
from thalweg._trace.trace_file import Trace

Said = tuple[str, str]
AGGREGATION = ("cb_nodes", "cb_config_list", "cb_buffer_size")
OF_WRITES = ("romio_cb_write", "romio_ds_write", "ind_wr_buffer_size")
OF_READS = ("romio_cb_read", "romio_ds_read", "ind_rd_buffer_size")
SIEVING = ("romio_ds_write", "ind_wr_buffer_size", "romio_ds_read", "ind_rd_buffer_size")
BUFFERS = {"ind_wr_buffer_size": 512 << 10, "ind_rd_buffer_size": 4 << 20}
"""The buffers of data sieving, with ROMIO's defaults."""


@dataclass(frozen=True)
class Side:
    """The reads or the writes of one file: calls of MPI-IO, and the POSIX calls inside them."""

    kind: str
    collective: Calls
    independent: Calls
    in_collective: Calls
    in_independent: Calls
    sieved: int
    """The calls of the other direction inside independent calls: data sieving reads what it writes around."""

    @property
    def calls(self) -> int:
        return len(self.collective) + len(self.independent)

    @property
    def movers(self) -> set[int]:
        """The ranks that moved the data of collective calls."""
        return {int(rank) for rank in np.unique(self.in_collective.rank)}


def side(trace: Trace, file: int, kind: str) -> Side:
    calls = of_kind(trace.levels["mpi"].where(trace.levels["mpi"].file == file), kind)
    together = is_collective(calls)
    mine = trace.posix.where((trace.posix.file == file) & (trace.posix.rank >= 0))
    same, other = of_kind(mine, kind), of_kind(mine, "read" if kind == "write" else "write")
    collective, independent = calls.where(together), calls.where(~together)
    return Side(
        kind,
        collective,
        independent,
        same.where(outer_of(same, collective) >= 0),
        same.where(outer_of(same, independent) >= 0),
        int((outer_of(other, independent) >= 0).sum()),
    )


def effect_of_hint(trace: Trace, file: int, name: str, value: str, says: dict[str, str]) -> Said:
    """Returns the state of a hint that the library reports as it was set, and the reason."""
    if "posix" not in trace.recorded:
        return "cannot be told", "level posix was not traced"
    sides = [side(trace, file, kind) for kind in ("write", "read") if not _is_of_other(name, kind)]
    sides = [each for each in sides if each.calls]
    if not sides:
        wanted = "written" if name in OF_WRITES else "read" if name in OF_READS else "moved"
        return "inert", f"nothing was {wanted} through MPI-IO"
    if name in SIEVING:
        return _sieving(sides[0], name, value)
    if name in ("romio_cb_write", "romio_cb_read"):
        return collective_buffering(trace, file, sides[0], value, says)
    if name in AGGREGATION:
        return _aggregation(trace, file, sides, name, value, says)
    if name in ("striping_unit", "striping_factor"):
        return _stripes(trace, file, sides, name, value, says)
    if name == "romio_no_indep_rw":
        return _deferred_open(trace, file)
    return "cannot be told", "the calls do not show it"


def _is_of_other(name: str, kind: str) -> bool:
    return (name in OF_WRITES and kind == "read") or (name in OF_READS and kind == "write")


def all_alone(each: Side) -> str:
    return f"all {each.calls:,} {each.kind}s are independent"


def _sieving(each: Side, name: str, value: str) -> Said:
    if not len(each.independent):
        return "inert", f"all {each.calls:,} {each.kind}s are collective"
    largest = int(each.in_independent.moved.max(initial=0))
    is_more = each.kind == "read" and largest > int(each.independent.size.max(initial=0))
    has_pieces = len(each.in_independent) > len(each.independent)
    if not each.sieved and not is_more and not has_pieces:
        return "inert", f"each independent {each.kind} is one contiguous range, for which there is no data sieving"
    if name in BUFFERS:
        return _sieve_buffer(each, name, int(value), largest)
    if value == "disable" and has_pieces and not each.sieved:
        return "in effect", f"{len(each.in_independent):,} calls move the pieces of {len(each.independent):,}"
    if value in ("enable", "automatic") and (each.sieved or is_more):
        return "inert", "data sieving is what the library does by default, too"
    return "cannot be told", "the calls do not show it"


def _sieve_buffer(each: Side, name: str, value: int, largest: int) -> Said:
    """A buffer is seen if it cuts what the default would leave whole, or leaves whole what the default would cut."""
    default = BUFFERS[name]
    if value == default:
        return "inert", "it is the default"
    shows = f"the largest {each.kind} of data sieving has {as_bytes(largest)}"
    if default < largest <= value or (value < default and largest == value):
        return "in effect", shows
    return ("inert", shows) if largest < min(value, default) else ("cannot be told", shows)


def _aggregators(trace: Trace, file: int, says: dict[str, str]) -> set[int]:
    return set(aggregators_of(trace, file, says.get("romio_aggregator_list", "")))


def _are_mixed(each: Side) -> bool:
    """Returns whether pieces of ranks alternate in the file, or each call has several."""
    inner = each.in_collective
    return interleaved(inner.offset, inner.moved, inner.rank) > 0.1 or len(inner) > 2 * len(each.collective)


def _alternate(collective: Calls) -> bool:
    """Returns whether requests of ranks overlap in the file in a collective call, each from its first byte on: then
    ROMIO gives them to aggregators by default (`interleave_count` in its ad_write_coll.c)."""
    number = np.zeros(len(collective), np.int64)
    for rank in np.unique(collective.rank):
        mine = collective.rank == rank
        number[mine] = np.arange(np.count_nonzero(mine))  # the first call of each rank is one collective call
    order = np.lexsort((collective.offset, number))
    begin, number = collective.offset[order].astype(np.int64), number[order]
    end = begin + collective.size[order]
    return bool(((begin[1:] < end[:-1]) & (number[1:] == number[:-1])).any())


def collective_buffering(trace: Trace, file: int, each: Side, value: str, says: dict[str, str]) -> Said:
    if not len(each.collective):
        return "inert", all_alone(each)
    if not each.movers:
        return "cannot be told", f"no {each.kind} of a rank is recorded inside the collective ones"
    ranks = {int(rank) for rank in np.unique(each.collective.rank)}
    if value == "disable":
        if _are_mixed(each):
            return "in effect", f"ranks {listed(each.movers)} move their own pieces, which alternate in the file"
        return (
            "inert",
            f"the {each.kind}s of ranks are not interleaved, so each rank makes its own by default, too",
        )
    if value == "automatic":
        return "inert", "it is the default"
    has_aggregators = each.movers < ranks or each.movers <= _aggregators(trace, file, says)
    with_data = each.collective.where(each.collective.size > 0)
    if value == "enable" and has_aggregators and (with_data.offset < 0).any():
        return "cannot be told", f"the trace does not have the place of each {each.kind}"
    if value == "enable" and has_aggregators and _alternate(each.collective):
        return "inert", "the requests of ranks alternate in the file, so aggregators move them by default, too"
    if value == "enable" and has_aggregators:
        return "in effect", f"the library reports it, and of {len(ranks)} ranks, {listed(each.movers)} moved the data"
    if value == "enable":
        return "inert", f"ranks {listed(each.movers)} moved the data themselves"
    return "cannot be told", "it is what the library does by default"


def _aggregation(trace: Trace, file: int, sides: list[Side], name: str, value: str, says: dict[str, str]) -> Said:
    together = [each for each in sides if len(each.collective)]
    if not together:
        return "inert", all_alone(sides[0])
    off = [each for each in together if says.get(_switch(each)) == "disable"]
    if len(off) == len(together):
        return "inert", f"{_switch(off[0])}=disable"
    aggregators = _aggregators(trace, file, says)
    for each in together:
        if each in off or not each.movers:
            continue
        if not each.movers <= aggregators:
            return "inert", (
                f"ranks {listed(each.movers)} {'wrote' if each.kind == 'write' else 'read'}, but the aggregators are "
                f"{listed(aggregators)}: the {each.kind}s of ranks are not interleaved, and {_switch(each)} is "
                "automatic"
            )
        if (name, value) == ("cb_config_list", "*:1"):
            return "inert", "it is the default"
        if (name, value, says.get("cb_config_list")) == ("cb_nodes", "1", "*:1"):
            return "cannot be told", "a host has one aggregator by default, too"
        if name != "cb_buffer_size":
            return (
                "in effect",
                f"the library reports it, and only aggregators moved data: ranks {listed(each.movers)}",
            )
        largest = int(each.in_collective.moved.max(initial=0))
        if largest == int(value) and are_cut(each, largest):
            return "in effect", f"the largest {each.kind} of an aggregator has {as_bytes(largest)}"
        if largest == int(value):
            return "inert", f"no aggregator has more than {as_bytes(largest)} in a call"
        if largest < int(value):
            return "inert", f"no {each.kind} of an aggregator has more than {as_bytes(largest)}"
        return "cannot be told", f"{each.kind}s of aggregators have up to {as_bytes(largest)}"
    return "cannot be told", "no data of a rank are recorded inside the collective calls"


def are_cut(each: Side, size: int) -> bool:
    """Returns whether an aggregator goes on after so many bytes, where they end: its buffer was too small for all."""
    inner = each.in_collective
    ends = inner.offset[inner.size == size] + size
    calls = outer_of(inner, each.collective)
    goes_on = np.isin(inner.offset, ends) & np.isin(calls, calls[inner.size == size])
    return bool(goes_on.any())


def _switch(each: Side) -> str:
    """Returns the hint that switches collective buffering."""
    return f"romio_cb_{each.kind}"


def _stripes(trace: Trace, file: int, sides: list[Side], name: str, value: str, says: dict[str, str]) -> Said:
    system = says.get("romio_filesystem_type", "")
    if any(word in system.upper() for word in ("LUSTRE", "GPFS")):
        return "cannot be told", "the calls do not show it"
    aggregators = _aggregators(trace, file, says)
    if name == "striping_unit" and value.isdecimal() and int(value) > 1:
        for each in sides:
            inner = each.in_collective
            is_first = np.r_[True, inner.rank[1:] != inner.rank[:-1]] if len(inner) else np.zeros(0, bool)
            is_shared = len(aggregators) > 1 and each.movers <= aggregators
            if is_shared and is_first.any() and (inner.offset[is_first] % int(value) == 0).all():
                return "in effect", "the ranges of the aggregators begin at multiples of it"
    return "inert", f"the file system ({system}) has no stripes, and no aggregators share the file by them"


def _deferred_open(trace: Trace, file: int) -> Said:
    opens = of_kind(trace.posix.where((trace.posix.file == file) & (trace.posix.rank >= 0)), "open")
    openers = {int(rank) for rank in np.unique(opens.rank)}
    all_of_them = of_kind(trace.levels["mpi"].where(trace.levels["mpi"].file == file), "open")
    ranks = {int(rank) for rank in np.unique(all_of_them.rank)}
    if openers and openers < ranks:
        return "in effect", f"of {len(ranks)} ranks, only {listed(openers)} opened the file"
    late = {int(rank) for rank in np.unique(opens.rank[outer_of(opens, all_of_them) < 0])}
    if late:
        return "in effect", f"ranks {listed(late)} opened the file only when they needed it"
    return "inert", "all ranks opened the file"


def listed(ranks: set[int]) -> str:
    return ", ".join(map(str, sorted(ranks)))
