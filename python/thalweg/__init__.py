"""Records detector data from many producers into one ordinary file, HDF5 or ROOT RNTuple, at the speed of the disk."""

from thalweg._signals import end_imports  # the first: from here on Ctrl-C is no traceback

# isort: split

from typing import TYPE_CHECKING, Any

from thalweg import _core
from thalweg._attach import Attached, Producer, attach
from thalweg._attributes import Attributes
from thalweg._column import Column
from thalweg._errors import DataError, Error, OutOfRangeError, UnknownNameError, UsageError
from thalweg._errors import SystemError as SystemError  # noqa: A004
from thalweg._open import open  # noqa: A004
from thalweg._ragged import Ragged
from thalweg._read import Run, read_memory
from thalweg._rows import Rows
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
    from thalweg._convert import convert
    from thalweg._derive.derivation import Derivation
    from thalweg._derive.job import DerivationJob
    from thalweg._derive.make import derive
    from thalweg._derive.report import DerivationError, DerivationReport
    from thalweg._merge import MergedTable, MergeReport, merge
    from thalweg._over_mpi import Shared
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
    from thalweg._row_groups import NewRows, Unit, UnitRows
    from thalweg._verify import verify

_LATE = {
    "_convert": ("convert",),
    "_derive.derivation": ("Derivation",),
    "_derive.job": ("DerivationJob",),
    "_derive.make": ("derive",),
    "_derive.report": ("DerivationError", "DerivationReport"),
    "_merge": ("MergeReport", "MergedTable", "merge"),
    "_over_mpi": ("Shared",),
    "_reports": (
        "AbandonedProducer",
        "EndedProducers",
        "LeftOut",
        "NodeReport",
        "ProducerStatus",
        "RunReport",
        "Snapshot",
        "Status",
        "TableReport",
        "TableSnapshot",
        "Verification",
    ),
    "_row_groups": ("NewRows", "Unit", "UnitRows"),
    "_verify": ("verify",),
    "checkpoint": (),
    "layouts": (),
}
_MODULE_OF = {name: module for module, names in _LATE.items() for name in names or (module,)}


def __getattr__(name: str) -> Any:
    """What few programs need is imported once it is asked for: all of it takes as long as the rest."""
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module 'thalweg' has no attribute '{name}'")
    module = import_module(f"thalweg.{_MODULE_OF[name]}")
    found = module if name == _MODULE_OF[name] else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})


end_imports()
