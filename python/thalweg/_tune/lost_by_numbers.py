"""What a hint loses that has the number of aggregators, and no groups of ranks."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._tune.aggregators import Group, Part


def lost_by_ranges(found: Sequence[Group], parts: Sequence[Part]) -> str:
    """Returns what a number loses in ROMIO, or an empty text. ROMIO gives each aggregator an equal range of the file,
    from the first byte that is moved to the last one."""
    moved = [part for part in parts if part.bytes]
    if len(found) < 2 or not moved:
        return ""
    sums = [sum(parts[rank].bytes for rank in group) for group in found]
    if max(sums) > 2 * max(1, min(sums)):
        return f"groups have {min(sums):,} to {max(sums):,} bytes, and a number divides the file into equal ranges"
    if any(part.piece is not None for part in moved):
        return ""  # each range has pieces of all ranks, whatever the groups are
    begin, end = min(part.offset for part in moved), max(part.end for part in moved)
    range_bytes = -(-(end - begin) // len(found))
    for number, group in enumerate(found):
        low, high = begin + number * range_bytes, begin + (number + 1) * range_bytes
        outside = sum(_outside(parts[rank], low, high) for rank in group)
        if outside > 0.1 * max(1, sums[number]):
            return (
                f"{outside:,} bytes of group {number} (ranks {group[0]} to {group[-1]}) lie in the range of another "
                "aggregator, since equal ranges of the file are not the groups"
            )
    return ""


def _outside(part: Part, low: int, high: int) -> int:
    """Returns how many bytes of the part are not between two places in the file."""
    return part.bytes - max(0, min(part.end, high) - max(part.offset, low))


def lost_by_equal_groups(found: Sequence[Group], parts: Sequence[Part]) -> str:
    """Returns what a number loses in OMPIO, or an empty text. OMPIO then makes groups of as many ranks each, one more
    in the first ones if there is a rest."""
    ranks = sum(map(len, found))
    size, rest = divmod(ranks, len(found))
    if [len(group) for group in found] == [size + (number < rest) for number in range(len(found))]:
        return ""
    equal, begin = [], 0
    for number in range(len(found)):
        end = begin + size + (number < rest)
        equal.append(sum(part.bytes for part in parts[begin:end]))
        begin = end
    have = f"{len(found[0])} to {len(found[-1])}" if len(found[0]) != len(found[-1]) else "different numbers of"
    return (
        f"a number makes groups of {size}{f' or {size + 1}' if rest else ''} ranks with {min(equal):,} to "
        f"{max(equal):,} bytes, where the groups have {have} ranks"
    )
