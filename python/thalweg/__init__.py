"""Records detector data from many producers into one ordinary file, HDF5 or ROOT RNTuple, at the speed of the disk."""

from typing import TYPE_CHECKING, Any

from thalweg import _core
from thalweg._attach import Attached, Producer, attach
from thalweg._attributes import Attributes
from thalweg._column import Column
from thalweg._convert import convert
from thalweg._errors import DataError, Error, OutOfRangeError, UnknownNameError, UsageError
from thalweg._errors import SystemError as SystemError  # noqa: A004
from thalweg._merge import MergedTable, MergeReport, merge
from thalweg._open import open  # noqa: A004
from thalweg._over_mpi import Shared
from thalweg._ragged import Ragged
from thalweg._read import Run, Unit, UnitRows, read_memory
from thalweg._reports import (
    AbandonedProducer,
    EndedProducers,
    LeftOut,
    NodeReport,
    ProducerStatus,
    RunReport,
    Snapshot,
    Status,
    TableReport,
    TableSnapshot,
    Verification,
)
from thalweg._rows import NewRows, Rows
from thalweg._schema import Schema, TableSchema, schema
from thalweg._table import Table
from thalweg._tuning import Tuning
from thalweg._types import (
    Type,
    array,
    bool_,
    complex64,
    complex128,
    datetime64,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    list_,
    optional,
    string,
    struct,
    timedelta64,
    uint8,
    uint16,
    uint32,
    uint64,
    waveform,
)
from thalweg._verify import verify
from thalweg._work_unit import UnitOfGroup, WorkGroup, WorkUnit
from thalweg._write import Writer, create, join, recover, snapshot

__all__ = [
    "AbandonedProducer",
    "Attached",
    "Attributes",
    "Column",
    "DataError",
    "Derivation",
    "DerivationError",
    "DerivationJob",
    "DerivationReport",
    "EndedProducers",
    "Error",
    "LeftOut",
    "MergeReport",
    "MergedTable",
    "NewRows",
    "NodeReport",
    "OutOfRangeError",
    "Producer",
    "ProducerStatus",
    "Ragged",
    "Rows",
    "Run",
    "RunReport",
    "Schema",
    "Shared",
    "Snapshot",
    "Status",
    "SystemError",
    "Table",
    "TableReport",
    "TableSchema",
    "TableSnapshot",
    "Tuning",
    "Type",
    "Unit",
    "UnitOfGroup",
    "UnitRows",
    "UnknownNameError",
    "UsageError",
    "Verification",
    "WorkGroup",
    "WorkUnit",
    "Writer",
    "__version__",
    "array",
    "attach",
    "bool_",
    "checkpoint",
    "complex64",
    "complex128",
    "convert",
    "create",
    "datetime64",
    "derive",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "join",
    "layouts",
    "list_",
    "merge",
    "open",
    "optional",
    "read_memory",
    "recover",
    "schema",
    "snapshot",
    "string",
    "struct",
    "timedelta64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "verify",
    "waveform",
]

__version__ = _core.version()

if TYPE_CHECKING:
    from thalweg import checkpoint, layouts
    from thalweg._derive.derivation import Derivation
    from thalweg._derive.job import DerivationJob
    from thalweg._derive.make import derive
    from thalweg._derive.report import DerivationError, DerivationReport

_LATE = {
    "Derivation": "derivation",
    "DerivationError": "report",
    "DerivationJob": "job",
    "DerivationReport": "report",
    "derive": "make",
}


def __getattr__(name: str) -> Any:
    """`layouts` takes as long to import as everything else here, and derivations a quarter of that, and few need them
    or checkpoints: they are, once they are asked for."""
    from importlib import import_module

    if name in ("checkpoint", "layouts"):
        return import_module(f"thalweg.{name}")
    if name in _LATE:
        return getattr(import_module(f"thalweg._derive.{_LATE[name]}"), name)
    raise AttributeError(f"module 'thalweg' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), "checkpoint", "layouts", *_LATE})
