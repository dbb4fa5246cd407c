"""thalweg inspect"""

import json as json_module
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import typer
from rich.console import RenderableType

from thalweg import _core
from thalweg._base.errors import Error
from thalweg._base.quantities import as_bytes, counted
from thalweg._base.stacked import Heading, StackedTable
from thalweg._files.open import external_folders, run_of
from thalweg._files.several import opened_run
from thalweg._reading.run import Run
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.tuning import in_effect, in_order
from thalweg._schema.types import Type
from thalweg._writing.reports import NodeReport
from thalweg.cli._output import (
    AllowMissingOption,
    ExternalOption,
    FilesArgument,
    JsonOption,
    NextFilesOption,
    answer,
    as_epilog,
    as_json,
    exit_code,
    print_json,
    say_problems,
)
from thalweg.cli._run_state import open_state, status_sentences

EXAMPLES = ["thalweg inspect run.h5", "thalweg inspect run.h5 --json", "thalweg inspect run.h5 --next-files"]
# These have a sentence of their own, or are too long to be read.
_NOT_LISTED = ("configuration", "counters", "source_settings", "engine", "start_utc", "stop_utc")
_MOST_NOTES = 8
_MOST_ATTRIBUTES = 20
_IN_OTHER_LINES = ("engine", "wide_codec", "narrow_codec")  # knobs that the text tells anyway


@dataclass(frozen=True)
class ShownFile:
    path: str
    reader: _core.Reader
    run: Run


@dataclass
class Storage:
    """How a column is stored; for tables with the same fields, the sums over them."""

    codec: str
    page_items: int
    pages: int
    raw_bytes: int
    stored_bytes: int


def inspect(
    files: FilesArgument,
    next_files: NextFilesOption = False,
    external: ExternalOption = None,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Show what a file holds: tables, columns, how they are stored, metadata and attributes.

    Several files must be all the files of one run, which is shown as a whole. If parts of a file of another program
    cannot be read, the command names them and exits with code 1.
    """
    folders = external_folders(external or ())
    readers: dict[str, _core.Reader] = {}

    def open_one(path: str) -> Run:
        reader = _core.Reader.open(path, even_without_tables=True)
        readers[reader.path] = reader
        return run_of(reader, folders)

    run = opened_run(files[0] if len(files) == 1 else files, open_one, next_files=next_files)
    shown = [ShownFile(part.path, readers[part.path], part) for part in run.parts]
    if json:
        print_json(file_facts(shown[0]) if len(shown) == 1 else run_facts(shown))
    else:
        show(shown, run)
    say_problems(run.path, run.problems)
    return exit_code(run.problems, allow_missing)


def run_facts(files: Sequence[ShownFile]) -> dict[str, Any]:
    """Returns the facts of files that are one run: of each file, and of the tables of all."""
    each = [file_facts(file) for file in files]
    tables = []
    for position, table in enumerate(each[0]["tables"]):
        of_files = [facts["tables"][position] for facts in each]
        columns = summed([storage_of(file, table["name"]) for file in files])
        facts = {path: asdict(storage) for path, storage in columns.items()}
        tables.append({**table, "rows": sum(part["rows"] for part in of_files), "columns": facts})
    return {
        "path": each[0]["path"],
        "is_open": any(facts["is_open"] for facts in each),
        "file_bytes": sum(facts["file_bytes"] for facts in each),
        "tables": tables,
        "files": each,
        "problems": [problem for facts in each for problem in facts["problems"]],
    }


def file_facts(file: ShownFile) -> dict[str, Any]:
    reader, run = file.reader, file.run
    tables = []
    schema = json_module.loads(run.schema.to_json())
    for table in schema["tables"]:
        columns = {path: asdict(storage) for path, storage in storage_of(file, table["name"]).items()}
        tables.append({**table, "rows": len(run[table["name"]]), "columns": columns})
    return {
        "path": file.path,
        "is_open": reader.is_open_run,
        "file_bytes": os.path.getsize(file.path),
        "engine": reader.engine,
        "knobs": in_effect(reader.knobs),
        "metadata": reader.metadata,
        "attributes": schema.get("attributes", {}),
        "groups": schema.get("groups", {}),
        "tables": tables,
        **status_facts(run, reader),
        "nodes": [NodeReport.of(node).to_dict() for node in reader.report.nodes],
        "notes": [*run.notes, *reader.report.notes],
        "problems": as_json(run.problems),
    }


def status_facts(run: Run, reader: _core.Reader) -> dict[str, Any]:
    """Returns who writes the run, and how it is. `status` is null for files that no process of Thalweg writes."""
    facts: dict[str, Any] = {"producers": [], "memory": "", "status": None}
    if not (reader.is_open_run and reader.id):
        return facts
    try:
        status = run.status()
    except Error as error:
        return {**facts, "status": {"state": "unknown", "why": str(error)}}
    facts["producers"] = [{"pid": each.pid, "table": each.table, "alive": each.alive} for each in status.producers]
    facts["memory"] = next((figures.memory for figures in status.figures), "")
    return {**facts, "status": status.to_dict()}


def node_sentence(node: NodeReport) -> str:
    if not node.has_journal:
        return f"Node {node.node} has no journal"
    state = "; it has finished" if node.settled else ""
    return (
        f"Node {node.node} ({node.host}): {counted(node.rows, 'row')} of {counted(node.producers, 'producer')}{state}"
    )


def storage_of(file: ShownFile, name: str) -> dict[str, Storage]:
    """Returns the storage of each column by its path; a list is counted with its content. h5py knows no pages."""
    reader, run = file.reader, file.run
    table = run[name]
    if table.by_uproot:
        return {
            path: Storage("uproot", 0, branch.num_baskets, branch.uncompressed_bytes, branch.compressed_bytes)
            for path, branch in table.by_uproot.items()
        }
    shown: dict[str, Storage] = {}
    for path, column in table.by_h5py.items():
        whole = Storage("h5py", column.chunk_rows, 0, column.raw_bytes, column.stored_bytes)
        shown |= {path: whole} if path else {name: replace(whole, raw_bytes=0, stored_bytes=0) for name in table}
        shown |= {} if path else {next(iter(table)): whole}  # the first member stands for the whole compound
    if shown.keys() >= set(table):
        return shown
    try:
        columns = _core.storage_of(reader, list(run).index(name))
    except IndexError:  # the core reads no column of this table
        return shown
    return shown | {
        column.path: Storage(column.codec, column.page_items, column.pages, column.raw_bytes, column.stored_bytes)
        for column in columns
    }


def show(files: Sequence[ShownFile], run: Run) -> None:
    schema = run.schema
    rows = [len(table) for table in run.values()]
    lines: list[RenderableType] = [summary(files[0] if len(files) == 1 else None, run, files)]
    if len(files) > 1:
        lines += [f"  {summary(file, file.run, [file])}" for file in files]
    lines += run_sentences(files[-1].reader, run)  # the last file is the one that may be open
    lines += attribute_lines([("", schema.attrs), *schema.groups])
    for alike in groups(schema):
        lines += ["", heading(schema, alike, rows), field_table(files, run, alike)]
        tables_of_kind = [schema.tables[index] for index in alike]
        lines += attribute_lines([(table.name if len(alike) > 1 else "", table.attrs) for table in tables_of_kind])
    answer(*lines)


def summary(file: ShownFile | None, run: Run, files: Sequence[ShownFile]) -> str:
    """Returns a sentence about one file, or about the files of a run."""
    opened = next((each for each in files if each.reader.is_open_run), None)
    state = "complete" if opened is None else open_state(opened.run)
    tables = counted(len(run), "table")
    size = as_bytes(sum(os.path.getsize(each.path) for each in files))
    rows = counted(sum(len(table) for table in run.values()), "row")
    if opened and opened.reader.id:  # others are in memory
        size += " with the space that is allocated ahead"
        rows += " so far in the file,"
    name = file.path if file else f"{files[0].path} and {len(files) - 1} more file{'s'[: len(files) != 2]} of one run"
    return f"{name}: {state}, {rows} in {tables}, {size}"


def run_sentences(reader: _core.Reader, run: Run) -> Iterator[str]:
    known = run.metadata if len(run.parts) > 1 else reader.metadata
    if "start_utc" in known:
        yield f"Recorded from {known['start_utc']} to {known.get('stop_utc', '?')}"
    if engine := reader.engine or known.get("engine", ""):  # older files keep it in the metadata
        yield f"Written by {engine}"
    for key, value in known.items():
        if key not in _NOT_LISTED:
            yield f"  {key}: {_in_a_line(value)}"
    yield from knob_sentences(reader)
    if reader.is_open_run and reader.id:
        nodes = [NodeReport.of(node) for node in reader.report.nodes]
        yield from map(node_sentence, nodes)
        yield from status_sentences(run, bool(nodes))
        yield from reader.report.notes
    yield from run.notes[:_MOST_NOTES]
    if len(run.notes) > _MOST_NOTES:
        yield f"... and {len(run.notes) - _MOST_NOTES:,} more notes (--json lists them)"


def attribute_lines(owners: Sequence[tuple[str, Attributes]]) -> list[str]:
    """Returns the attributes of the run or of tables as lines. Those of columns are many: only the JSON has them."""
    lines = [
        f"  {f'{owner}: ' if owner else ''}attribute {name}: {_shortened(str(value))}"
        for owner, attributes in owners
        for name, value in attributes.items()
    ]
    hidden = len(lines) - _MOST_ATTRIBUTES
    return [
        *lines[:_MOST_ATTRIBUTES],
        *([f"  ... and {hidden:,} more attributes (--json lists them)"] if hidden > 0 else []),
    ]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:100]}... (--json has all of it)"


def knob_sentences(reader: _core.Reader) -> Iterator[str]:
    """Yields the knobs that differ from the default. The others are for programs: --json has them."""
    defaults = {knob.name: knob.default for knob in _core.knobs()}
    knobs = in_order(reader.knobs)
    if changed := [
        f"{name}={text}" for name, text in knobs if defaults.get(name) != text and name not in _IN_OTHER_LINES
    ]:
        yield f"Knobs that differ from the defaults: {', '.join(changed)} (--json has all)"


def _in_a_line(value: str) -> str:
    count = len(value.splitlines())
    return f"{count} lines (--json has them)" if count > 1 else value


def groups(schema: Schema) -> list[list[int]]:
    """Groups the indices of tables with the same fields: six channels are as quickly read as one."""
    alike: dict[str, list[int]] = {}
    for index, table in enumerate(schema.tables):
        alike.setdefault(repr(table.fields), []).append(index)
    return list(alike.values())


def heading(schema: Schema, alike: list[int], rows: list[int]) -> str:
    names = [schema.tables[index].name for index in alike]
    listed = ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:3])}, ..., {names[-1]} ({len(names)} tables)"
    counts = sorted({rows[index] for index in alike})
    each = counted(counts[0], "row") if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} rows"
    about = schema.tables[alike[0]].description if len(names) == 1 else ""
    return f"{listed}: {each}{' each' if len(names) > 1 else ''}{f' ({about})' if about else ''}"


def field_table(files: Sequence[ShownFile], run: Run, alike: list[int]) -> StackedTable:
    texts = (Heading("  field"), Heading("type"), Heading("unit"), Heading("codec"))
    numbers = (Heading(name, is_number=True) for name in ("pages", "raw", "stored", ""))
    shown = StackedTable([*texts, *numbers, Heading("description", is_folded=True)])
    tables = [run.schema.tables[index] for index in alike]
    stored = summed([storage_of(file, table.name) for file in files for table in tables])
    for depth, name, path, type_ in outline(tables[0]):
        shown.add_row(
            "  " * (depth + 1) + name, short(type_), type_.unit, *row_cells(stored.get(path)), type_.description
        )
    return shown


def summed(tables: list[dict[str, Storage]]) -> dict[str, Storage]:
    total: dict[str, Storage] = {}
    for table in tables:
        for path, column in table.items():
            total.setdefault(path, Storage(column.codec, column.page_items, 0, 0, 0))
            total[path].pages += column.pages
            total[path].raw_bytes += column.raw_bytes
            total[path].stored_bytes += column.stored_bytes
    return total


def row_cells(column: Storage | None) -> list[str]:
    if column is None:
        return [""] * 5
    ratio = f"{column.stored_bytes / column.raw_bytes:.1%}" if column.raw_bytes else ""
    codec = column.codec.removeprefix("root:")
    return [codec, f"{column.pages:,}", as_bytes(column.raw_bytes), as_bytes(column.stored_bytes), ratio]


def outline(table: TableSchema) -> Iterator[tuple[int, str, str, Type]]:
    """Yields depth, name, column path and type of every field, in the order of the file."""
    for name, type_ in table.fields:
        yield from _outline(0, name, name, type_)


def _outline(depth: int, name: str, path: str, type_: Type) -> Iterator[tuple[int, str, str, Type]]:
    yield depth, name, path, type_
    if type_.is_split:
        part = Type(str(type_.dtype.type(0).real.dtype), type_.shape)
        yield from ((depth + 1, member, f"{path}/{member}", part) for member in ("real", "imag"))
    for member, inner in type_.members:
        yield from _outline(depth + 1, member, f"{path}/{member}", inner)
    if type_.element is not None:
        yield from _outline(depth + 1, "*", f"{path}/*", type_.element)


def short(type_: Type) -> str:
    """Returns the name of the type without its members, which the outline shows on their own lines."""
    shape = "".join(f"[{size}]" for size in type_.shape)
    return f"{type_.name}{shape}"


def register(app: typer.Typer) -> None:
    app.command("inspect", epilog=as_epilog(EXAMPLES))(inspect)
