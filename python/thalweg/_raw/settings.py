"""What a process needs to open an input of raw rows, as plain values."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._raw.dtype_row import row_of_dtype
from thalweg._raw.row import core_row
from thalweg._raw.toml_row import RowFile

_SCHEMES = ("fd:", "tcp://", "udp://", "unix:", "listen:")


def raw_settings(input_: str, row: str) -> dict[str, Any]:
    """Returns the settings. Raises UsageError if the row or the input is described wrongly, or if there is no input."""
    if not input_:
        raise UsageError("--source raw has no input: give --input -, FILE, PIPE, tcp://HOST:PORT, udp://HOST:PORT, ...")
    if not row:
        raise UsageError("--source raw does not know how rows lie in the input: give --row FILE.toml or --row DTYPE")
    if row.lstrip().startswith(("[", "{")):
        text, described = row, row_of_dtype(row)
    else:
        file = RowFile(row)
        text, described = file.text, file.row()
    settings = {"kind": "raw", "row": described.to_json(), "row_text": text} | _input(input_)
    open_raw(settings)  # says what is wrong with them
    return settings


def _input(text: str) -> dict[str, Any]:
    if text == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("--input - reads from standard input, which is a terminal: pipe rows into the command")
        # The processes have another standard input. They get this one under its own number.
        descriptor = os.dup(0)
        return {"input": f"fd:{descriptor}", "shown": "standard input", "inherited": [descriptor]}
    if text.startswith(_SCHEMES) or "://" in text:
        return {"input": text, "shown": text, "inherited": _descriptor(text)}
    try:
        mode = os.stat(text).st_mode
    except OSError as error:
        raise UsageError(f"{text} cannot be read ({error.strerror}): give a file, a pipe or an address") from None
    if stat.S_ISDIR(mode) or stat.S_ISSOCK(mode):
        instead = f"give unix:{text}" if stat.S_ISSOCK(mode) else "give a file in it"
        raise UsageError(f"{text} cannot be read (it is a {'socket' if stat.S_ISSOCK(mode) else 'folder'}): {instead}")
    path = os.path.abspath(text)
    return {"input": path, "shown": path, "inherited": []}


def _descriptor(text: str) -> list[int]:
    number = text.removeprefix("fd:")
    return [int(number)] if number != text and number.isdecimal() else []


def open_raw(settings: dict[str, Any]) -> _core.Source:
    """Makes the source. The input is opened when rows are read from it."""
    metadata = {"input": settings["shown"], "row": settings["row_text"]}
    return _core.make_raw(settings["input"], settings["shown"], core_row(settings["row"]), metadata)
