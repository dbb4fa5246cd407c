"""Records detector data from many producers into one ordinary file, HDF5 or ROOT RNTuple, at the speed of the disk."""

from thalweg._base.signals import end_imports  # imported first: from here on, Ctrl-C shows no traceback

# isort: split

from typing import TYPE_CHECKING, Any

from thalweg import _core
from thalweg._base.errors import DataError, Error, OutOfRangeError, UnknownNameError, UsageError
from thalweg._base.errors import SystemError as SystemError  # noqa: A004

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
    "NodeFigures",
    "NodeReport",
    "NodeStatus",
    "OutOfRangeError",
    "Producer",
    "ProducerStatus",
    "Ragged",
    "Rows",
    "Run",
    "RunFile",
    "RunReport",
    "RunStatus",
    "Schema",
    "Shared",
    "Snapshot",
    "Status",
    "SystemError",
    "Table",
    "TableReport",
    "TableSchema",
    "TableSnapshot",
    "TableStatus",
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
    "WritingProducer",
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
    "trace",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "verify",
    "waveform",
]

__version__ = _core.version()

if TYPE_CHECKING:
    from thalweg import checkpoint, layouts, trace
    from thalweg._base.producer_status import ProducerStatus
    from thalweg._derive.derivation import Derivation
    from thalweg._derive.job import DerivationJob
    from thalweg._derive.make import derive
    from thalweg._derive.merge import merge
    from thalweg._derive.report import DerivationError, DerivationReport
    from thalweg._files.convert import convert
    from thalweg._files.merge import MergedTable, MergeReport
    from thalweg._files.open import open  # noqa: A004
    from thalweg._files.recover import recover, snapshot
    from thalweg._files.verification import Verification
    from thalweg._files.verify import verify
    from thalweg._reading.column import Column
    from thalweg._reading.read_memory import read_memory
    from thalweg._reading.run import Run
    from thalweg._reading.run_file import RunFile
    from thalweg._reading.status import NodeFigures, NodeStatus, RunStatus, TableStatus, WritingProducer
    from thalweg._reading.table import Table
    from thalweg._schema.attributes import Attributes
    from thalweg._schema.left_out import LeftOut
    from thalweg._schema.schema import Schema, TableSchema, schema
    from thalweg._schema.tuning import Tuning
    from thalweg._schema.types import (
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
    from thalweg._values.ragged import Ragged
    from thalweg._values.row_groups import NewRows, Unit, UnitRows
    from thalweg._values.rows import Rows
    from thalweg._writing.attached import Attached, attach
    from thalweg._writing.begin import join
    from thalweg._writing.create import create
    from thalweg._writing.over_mpi import Shared
    from thalweg._writing.producer import Producer
    from thalweg._writing.reports import (
        AbandonedProducer,
        EndedProducers,
        NodeReport,
        RunReport,
        Snapshot,
        Status,
        TableReport,
        TableSnapshot,
    )
    from thalweg._writing.work_unit import UnitOfGroup, WorkGroup, WorkUnit
    from thalweg._writing.writer import Writer

_LATE: dict[str, tuple[str, ...]] = {
    "_base.producer_status": ("ProducerStatus",),
    "_derive.derivation": ("Derivation",),
    "_derive.job": ("DerivationJob",),
    "_derive.make": ("derive",),
    "_derive.merge": ("merge",),
    "_derive.report": ("DerivationError", "DerivationReport"),
    "_files.convert": ("convert",),
    "_files.merge": ("MergedTable", "MergeReport"),
    "_files.open": ("open",),
    "_files.recover": ("recover", "snapshot"),
    "_files.verification": ("Verification",),
    "_files.verify": ("verify",),
    "_reading.column": ("Column",),
    "_reading.read_memory": ("read_memory",),
    "_reading.run": ("Run",),
    "_reading.run_file": ("RunFile",),
    "_reading.status": ("NodeFigures", "NodeStatus", "RunStatus", "TableStatus", "WritingProducer"),
    "_reading.table": ("Table",),
    "_schema.attributes": ("Attributes",),
    "_schema.left_out": ("LeftOut",),
    "_schema.schema": ("Schema", "TableSchema", "schema"),
    "_schema.tuning": ("Tuning",),
    "_schema.types": (
        "Type",
        "array",
        "bool_",
        "complex64",
        "complex128",
        "datetime64",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "list_",
        "optional",
        "string",
        "struct",
        "timedelta64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "waveform",
    ),
    "_values.ragged": ("Ragged",),
    "_values.row_groups": ("NewRows", "Unit", "UnitRows"),
    "_values.rows": ("Rows",),
    "_writing.attached": ("Attached", "attach"),
    "_writing.begin": ("join",),
    "_writing.create": ("create",),
    "_writing.over_mpi": ("Shared",),
    "_writing.producer": ("Producer",),
    "_writing.reports": (
        "AbandonedProducer",
        "EndedProducers",
        "NodeReport",
        "RunReport",
        "Snapshot",
        "Status",
        "TableReport",
        "TableSnapshot",
    ),
    "_writing.work_unit": ("UnitOfGroup", "WorkGroup", "WorkUnit"),
    "_writing.writer": ("Writer",),
    "checkpoint": (),
    "layouts": (),
    "trace": (),
}
_MODULE_OF = {name: module for module, names in _LATE.items() for name in names or (module,)}


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: a program that reads does not wait for what writes."""
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
