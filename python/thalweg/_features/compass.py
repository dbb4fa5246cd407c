"""The hits of a CoMPASS file, with the features of their pulses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import DataError, SystemError  # noqa: A004
from thalweg._features.settings import FeatureSettings
from thalweg._schema.left_out import problems_of
from thalweg._schema.schema import Schema

_MAGIC = 0xCAE0


def is_compass(path: str) -> bool:
    """Returns whether a path names a file that begins as list files of CoMPASS do. Raises SystemError if the file
    cannot be read."""
    try:
        with open(path, "rb") as file:
            return int.from_bytes(file.read(2), "little") & 0xFFF0 == _MAGIC
    except (FileNotFoundError, IsADirectoryError):  # which may name several files, or none
        return False
    except OSError as error:
        raise SystemError(error.errno, f"cannot read {path} ({error.strerror})") from None


@dataclass(frozen=True)
class CompassTable:
    """One channel. Its rows have what is stored of each pulse, but its samples, and its features."""

    name: str
    schema: Any
    _source: Any
    _number: int

    def batches(self, columns: Iterable[str], *, rows: int = 0) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
        """Yields the rows, as many at once as the core hands out."""
        del rows
        stream = _core.open_stream(self._source, self._number)
        while (batch := stream.next()) is not None:
            named = zip(self.schema.items(), batch, strict=True)
            yield {name: np.frombuffer(column, type_.dtype) for (name, type_), column in named if name in columns}


class CompassFile(dict[str, CompassTable]):
    """The channels of a list file, which is read into memory. Raises UsageError if it has no samples, and DataError if
    it is damaged."""

    def __init__(self, path: str, settings: FeatureSettings, timestamp: str) -> None:
        super().__init__()
        self.path = path
        recorded = _core.open_recorded(path, _core.ReplayOptions(), _core.CompassOptions())
        source = _core.with_features(recorded, settings.to_core(timestamp, 0), settings.as_json())
        self.metadata = source.metadata
        if problems := problems_of(recorded.left_out):
            raise DataError(f"{path} is not whole ({'; '.join(map(str, problems))})")
        for number, table in enumerate(Schema.from_json(source.schema).tables):
            self[table.name] = CompassTable(table.name, table, source, number)
