"""Features of the pulses of a device, which its process makes of their samples (`record --features`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._append.columns import columns_of, stored_columns
from thalweg._devices.description import Description
from thalweg._features.settings import FeatureSettings, from_plain
from thalweg._schema.schema import Schema
from thalweg._writing.producer import Producer


class Pulses:
    """Appends rows of one table of a device with their features."""

    def __init__(self, producer: Producer, schema: Schema, table: str, options: _core.FeatureRowOptions) -> None:
        """schema: of the device."""
        assert producer.core is not None
        self._table = schema[table]
        self.core = _core.make_pulse_producer(producer.core, schema.to_json(), table, options)

    def append(self, columns: Mapping[str, Any]) -> None:
        """Raises UsageError if the rows do not fit the table of the device, DataError if they have no features."""
        rows, flat = columns_of(self._table, columns, {})
        self.core.append(rows, stored_columns(self._table, flat))

    def counts(self) -> dict[str, int]:
        """How many pulses have which flags, by the names of counters."""
        found = self.core.counts()
        return {
            "saturated_pulses": found.saturated,
            "piled_up_pulses": found.piled_up,
            "rows_without_pulse": found.without_pulse,
        }


@dataclass(frozen=True)
class PulseFeatures:
    """What is asked for, and the tables that have it."""

    settings: FeatureSettings
    options: _core.FeatureRowOptions
    of_device: Schema
    of_file: str
    """The schema of the file, as JSON."""
    tables: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns what the recorder gets, instead of what the device says."""
        waveforms = _core.waveforms_text(self.options)
        return {"schema": self.of_file, "features": {"features": self.settings.as_json(), "waveforms": waveforms}}

    def producers(self, producers: Mapping[str, Producer]) -> dict[str, Pulses]:
        """Returns those of the tables that have features."""
        return {
            name: Pulses(producer, self.of_device, name, self.options)
            for name, producer in producers.items()
            if name in self.tables
        }


def features_of(given: Mapping[str, Any] | None, description: Description) -> PulseFeatures | None:
    """Returns the features of a device, or None if none are wanted, or if it has no samples. Raises UsageError if a
    table has samples that cannot have features.

    given: as for `from_plain`.
    """
    if given is None:
        return None
    settings, options = from_plain(given)
    made, tables = _core.schema_with_features(description.schema.to_json(), options)
    return PulseFeatures(settings, options, description.schema, made, tuple(tables)) if tables else None
