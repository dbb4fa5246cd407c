"""Runs that the core reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._base.file_state import FileState
from thalweg._reading.follow import Tables
from thalweg._reading.origin import Origin
from thalweg._reading.run import Run
from thalweg._reading.status import RunStatus, run_status_of
from thalweg._reading.stored_table import StoredTable, tables_of
from thalweg._reading.table import Table
from thalweg._schema.left_out import LeftOut, problems_of
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value, in_effect
from thalweg._values.row_groups import Unit, UnitRows


def origin_of(core: _core.Reader, open_: Callable[[str], Any]) -> Origin:
    state = FileState(*core.state) if core.state else None
    return Origin(core.path, core.id, core.is_open_run, open_, core.is_far, state)


class StoredRun(Run):
    def __init__(self, core: _core.Reader, open_: Callable[[str], Run]) -> None:
        """`open_` opens a path again."""
        stored = core.schema
        super().__init__(origin_of(core, open_), Schema.from_json(stored))
        self._reader: _core.Reader | None = core
        self._columns = _core.flatten(stored)

    @property
    def _core(self) -> _core.Reader:
        self._check_is_open()
        assert self._reader is not None
        return self._reader

    @property
    def metadata(self) -> dict[str, str]:
        return self._core.metadata

    @cached_property
    def problems(self) -> tuple[LeftOut, ...]:
        return problems_of(self._core.left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._core.notes)

    @property
    def keys_per_group(self) -> int:
        return self._core.keys_per_group

    @property
    def knobs(self) -> dict[str, Value]:
        return in_effect(self._core.knobs)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        names = list(self._schema)
        return tuple(
            Unit(
                unit.key,
                unit.summary,
                tuple(UnitRows(names[each.table], each.producer, each.first_row, each.rows) for each in unit.ranges),
            )
            for unit in self._core.units()
        )

    @property
    def is_open(self) -> bool:
        return self._core.is_open_run

    def _table(self, name: str) -> Table:
        index = self._schema.index(name)
        return StoredTable(self._core, self.origin, self._schema[name], index, self._columns[index])

    def close(self) -> None:
        super().close()
        self._reader = None

    def refresh(self) -> Self:
        if not self.is_open:
            return self
        core = _core.Reader.open(self.origin.place)
        if core.id != self.id:
            raise DataError(
                f"{self.path} is another run now (it was run {self.id}, and is {core.id or 'another file'}): "
                "open it again"
            )
        self._reader = core
        self.origin = replace(self.origin, is_open=core.is_open_run)
        self.__dict__.pop("problems", None)
        self.__dict__.pop("units", None)
        return self

    def status(self) -> RunStatus:
        if self._core.is_far:
            raise UsageError(f"{self.path} has no status (it is not read by a path): ask on the machine that has it")
        if not self.id:
            return super().status()
        return run_status_of(self._core, list(self._schema))

    def _when_followed(self) -> Tables:
        return partial(tables_of, origin=self.origin)
