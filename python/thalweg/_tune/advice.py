"""How many aggregators the collective calls of a command need, after Chaarawi and Gabriel, and as which settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._base.quantities import as_bytes, counted
from thalweg._tune.aggregators import Group, Mode, groups, number_by_volume
from thalweg._tune.choice import choose
from thalweg._tune.lost_by_numbers import lost_by_equal_groups, lost_by_ranges
from thalweg._tune.plateau import Plateau
from thalweg._tune.settings import OMPIO, ROMIO, Chosen
from thalweg._tune.together import KINDS, CollectiveCalls, Together

MOST_NUMBERS = 4
_SETTINGS = {ROMIO: ("cb_nodes={}", "cb_config_list=*:{}"), OMPIO: ("io_ompio_num_aggregators={}",)}
SETTING_NAMES = frozenset(each.partition("=")[0] for some in _SETTINGS.values() for each in some)


@dataclass(frozen=True)
class KnownK:
    """The bytes that keep one aggregator busy, and from where they are known."""

    bytes: int | None
    """None: they are not known."""
    how: str

    @classmethod
    def given(cls, size: int) -> KnownK:
        return cls(size, f"k is {as_bytes(size)}, as it was given")

    @classmethod
    def measured(cls, found: Plateau, kind: str, folder: str, count: int, why_no_larger: str) -> KnownK:
        """kind: of the calls that were timed."""
        many = f"{counted(count, kind)} of up to {as_bytes(found.largest)} in {folder}"
        if found.k is None:
            why = why_no_larger or "their times scatter too much"
            return cls(
                None,
                f"k is not known: the bandwidth of {many} still rises, to {as_bytes(found.bandwidth)}/s ({why}): "
                "give k with --k",
            )
        law = "" if found.latency_s is None else f", after {found.latency_s * 1e3:.3g} ms for each {kind}"
        return cls(
            found.k,
            f"k is {as_bytes(found.k)} ({as_bytes(found.low)} to {as_bytes(found.high)}): so many bytes in one {kind} "
            f"reach 90 % of the bandwidth of {as_bytes(found.bandwidth)}/s{law} ({many})",
        )


@dataclass(frozen=True)
class Advised:
    """The aggregators of collective calls in which the ranks have the same."""

    together: Together
    k: int
    of_modes: dict[Mode, list[Group]]

    @property
    def found(self) -> list[Group]:
        return self.of_modes[Mode.DATA_VOLUME]

    def numbers(self) -> list[int]:
        """The number of each mode, that of DATA_VOLUME first, and each once."""
        return list(dict.fromkeys(len(found) for found in self.of_modes.values()))

    def lines(self, libraries: Collection[str]) -> Iterator[str]:
        each, parts = self.together, self.together.parts
        calls = counted(each.times, f"collective {each.kind}")
        what = f"{calls} of {as_bytes(each.bytes)} by {counted(len(parts), 'rank')}"
        yield f"{each.file}: {what}: {counted(len(self.found), 'aggregator')}, {self._why()}"
        if len(each.dims) > 1:
            yield f"  groups are made of rows of the topology of the ranks, {' x '.join(map(str, each.dims))}"
        others = {len(found) for found in self.of_modes.values()} - {len(self.found)}
        if others:
            yield f"  other ways to split groups: {', '.join(self._by_mode())}"
        if ROMIO in libraries and (lost := lost_by_ranges(self.found, parts)):
            yield f"  a hint of ROMIO has the number only, and loses the groups: {lost}"
        if OMPIO in libraries and (lost := lost_by_equal_groups(self.found, parts)):
            yield f"  a variable of OMPIO has the number only, and loses the groups: {lost}"

    def _why(self) -> str:
        parts, total = self.together.parts, self.together.bytes
        by_volume = number_by_volume(parts, self.k)
        if len(self.found) == 1:
            small = "all ranks together have less than k" if total < self.k else "the ranks cannot be divided"
            return f"since {small}"
        sums = [sum(parts[rank].bytes for rank in group) for group in self.found]
        ranks = sorted({len(group) for group in self.found})
        have = as_bytes(min(sums)) if min(sums) == max(sums) else f"{as_bytes(min(sums))} to {as_bytes(max(sums))}"
        plain = "" if by_volume == len(self.found) else f" (all bytes divided by k: {by_volume})"
        if ranks == [1]:
            return f"since each rank has {have}{plain}"
        of = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
        return f"since groups of {of} neighbouring ranks have {have}{plain}"

    def _by_mode(self) -> Iterator[str]:
        names = {Mode.UNIFORM: "into equal ones", Mode.CONTIGUOUS: "with 1 MiB that lies together"}
        names[Mode.OPTIMIZED] = "with both"
        for mode, name in names.items():
            yield f"{counted(len(self.of_modes[mode]), 'aggregator')} {name}"

    def to_dict(self) -> dict[str, Any]:
        each = self.together
        return {
            "file": each.file,
            "times": each.times,
            "bytes": each.bytes,
            "ranks": len(each.parts),
            "topology": list(each.dims),
            "aggregators": len(self.found),
            "groups": self.found,
            "of_modes": {mode.name.lower(): len(found) for mode, found in self.of_modes.items()},
            "all_bytes_by_k": number_by_volume(each.parts, self.k),
            "lost_in_romio": lost_by_ranges(self.found, each.parts),
            "lost_in_ompio": lost_by_equal_groups(self.found, each.parts),
        }


@dataclass
class Advice:
    k: Mapping[str, KnownK]
    """By the kind of the calls: "write" or "read"."""
    libraries: Sequence[str] = ()
    advised: list[Advised] = field(default_factory=list)
    left_out: Sequence[str] = ()

    @property
    def has_failed(self) -> bool:
        return any(each.bytes is None for each in self.k.values())

    def of(self, kind: str) -> list[Advised]:
        return [each for each in self.advised if each.together.kind == kind]

    def numbers(self) -> list[int]:
        """Returns the numbers of aggregators that are worth a trial, those of most bytes first."""
        weights: dict[int, int] = {}
        for each in self.advised:
            for number in each.numbers():
                weights[number] = weights.get(number, 0) + each.together.bytes * each.together.times
        return sorted(weights, key=lambda number: -weights[number])[:MOST_NUMBERS]

    def settings(self) -> list[Chosen]:
        forms = [form for library, forms in _SETTINGS.items() if library in self.libraries for form in forms]
        return [
            chosen
            for number in self.numbers()
            for form in forms
            for chosen in choose([form.format(number)], may_change_file=False)
        ]

    def lines(self) -> Iterator[str]:
        for kind, k in self.k.items():
            yield f"aggregators of collective {kind}s: {k.how}"
            for each in self.of(kind):
                yield from each.lines(self.libraries)
        yield from (f"not looked at: {each}" for each in self.left_out)
        if names := [str(each) for each in self.settings()]:
            yield f"as settings: {', '.join(names)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": {kind: vars(k) for kind, k in self.k.items()},
            "writes": [each.to_dict() for each in self.of("write")],
            "reads": [each.to_dict() for each in self.of("read")],
            "left_out": list(self.left_out),
            "settings": [str(each) for each in self.settings()],
        }


def advise(calls: CollectiveCalls, k: Mapping[str, KnownK], libraries: Sequence[str]) -> Advice:
    """Returns the aggregators of the collective calls; none of a kind whose k is not known."""
    found = Advice({kind: k[kind] for kind in KINDS if kind in k}, libraries, left_out=calls.left_out)
    for each in calls.kinds:
        size = k[each.kind].bytes
        if size is not None:
            found.advised.append(
                Advised(each, size, {mode: groups(each.parts, size, mode, each.dims) for mode in Mode})
            )
    return found
