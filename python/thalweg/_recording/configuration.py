"""Reads and writes options as TOML. The names are those of the command line without the leading dashes."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.toml_tables import check_names, read_tables
from thalweg._recording.options import RecordOptions

NAMES = [field.name.rstrip("_").replace("_", "-") for field in dataclasses.fields(RecordOptions)]
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
