"""Reads and writes options as TOML. The names are those of the command line without the leading dashes."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.toml_tables import check_names, read_tables
from thalweg._recording.options import RecordOptions


def _is_list(field: "dataclasses.Field[Any]") -> bool:
    return "list[str]" in str(field.type)


NAMES = [field.name.rstrip("_").replace("_", "-") for field in dataclasses.fields(RecordOptions)]
_LISTS = [field.name.rstrip("_").replace("_", "-") for field in dataclasses.fields(RecordOptions) if _is_list(field)]
_FIELDS = dict(zip(NAMES, [field.name for field in dataclasses.fields(RecordOptions)], strict=True))


def load_options(path: Path) -> dict[str, Any]:
    """Returns the options of a file by their Python names. Raises UsageError if it is not TOML, or has other names."""
    values = read_tables(path)
    check_names(values, NAMES, str(path), "option ")
    if "device" in values:
        tables = values["device"]
        if not isinstance(tables, list):
            raise UsageError(f"{path}: 'device' is not a list of tables: write [[device]]")
        values["device"] = [each if isinstance(each, str) else json.dumps(each, default=str) for each in tables]
    for name, value in values.items():
        if name in _LISTS and not isinstance(value, list):
            text = json.dumps(value if isinstance(value, str) else str(value), ensure_ascii=False)
            raise UsageError(f"{path}: '{name}' is not a list (it can be given several times): write {name} = [{text}]")
    return {_FIELDS[name]: value for name, value in values.items()}


def dump(options: RecordOptions) -> str:
    lines = []
    for name, value in zip(NAMES, options_as_json(options).values(), strict=True):
        # TOML writes strings, numbers, bools and lists of strings like JSON.
        lines.append(f"# {name} is not set" if value is None else f"{name} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def options_as_json(options: RecordOptions) -> dict[str, Any]:
    values = dataclasses.asdict(options)
    return {name.rstrip("_"): str(value) if isinstance(value, Path) else value for name, value in values.items()}
