"""What is searched: the settings that a screen has found to change the I/O, and leave the data as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg._tune.choice import choose
from thalweg._tune.screen import Screen
from thalweg._tune.search import Combination
from thalweg._tune.settings import Chosen


@dataclass(frozen=True)
class Space:
    """The values of each setting. Of values with the same effect there is one."""

    settings: Sequence[Sequence[Chosen]]

    @property
    def counts(self) -> list[int]:
        """How many values each setting has, with that of a run without it."""
        return [len(values) + 1 for values in self.settings]

    def chosen(self, combination: Combination) -> list[Chosen]:
        return [values[number - 1] for values, number in zip(self.settings, combination, strict=True) if number]


def space_of(screen: Screen) -> Space:
    names = [each.settings[0] for each in screen.effects if not each.data]
    return Space(list(_by_setting(choose([name], may_change_file=True)[0] for name in names).values()))


def _by_setting(values: Iterable[Chosen]) -> dict[str, list[Chosen]]:
    found: dict[str, list[Chosen]] = {}
    for each in values:
        found.setdefault(each.setting.name, []).append(each)
    return found
