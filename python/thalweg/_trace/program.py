"""Checks a command before it runs: whether it exists, and whether a library can be loaded into it."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from thalweg._base.errors import UsageError

_MACHINES = {62: "x86_64", 183: "aarch64"}
_INTERPRETER, _LOAD, _DYNAMIC = 3, 1, 2
_NEEDED, _STRINGS = 1, 5


@dataclass(frozen=True)
class Elf:
    """The header of a program file, which says how the program is loaded."""

    bits: int
    machine: str
    is_dynamic: bool
    needed: tuple[str, ...]
    loader: str = ""


def find_program(command: list[str]) -> Path:
    """Returns the file that the command runs. Raises UsageError if there is none, or if it cannot be traced at all."""
    if not command:
        raise UsageError("there is no command to trace: give it after --, as in `thalweg trace --out t.root -- ls`")
    found = shutil.which(command[0])
    if found is None:
        path = Path(command[0])
        reason = "it is not executable" if path.is_file() else "there is no such command"
        raise UsageError(f"{command[0]} cannot be traced ({reason})")
    path = Path(found).resolve()
    if (why := why_untraceable(path)) is not None:
        raise UsageError(f"{command[0]} cannot be traced ({path} {why})")
    return path


def why_untraceable(path: Path) -> str | None:
    """Returns why no library can be loaded into this program, or None if nothing is known to prevent it."""
    try:
        mode = path.stat().st_mode
        elf = read_elf(path)
    except (OSError, ValueError, struct.error):
        return None  # a script: its interpreter is another program
    if os.geteuid() != 0 and mode & (stat.S_ISUID | stat.S_ISGID):
        return "is setuid or setgid: the system preloads no library into it"
    if _has_capabilities(path):
        return "has capabilities (setcap): the system preloads no library into it"
    if elf is None:
        return None
    if elf.bits != 64 or elf.machine != os.uname().machine:
        return f"is a {elf.bits}-bit program for {elf.machine}; the tracing library is for 64-bit {os.uname().machine}"
    if not elf.is_dynamic:
        return "is linked statically: no library can be loaded into it"
    if elf.loader and "ld-linux" not in elf.loader:
        return f"is for another C library than the tracing library (its loader is {elf.loader})"
    return None


def _has_capabilities(path: Path) -> bool:
    try:
        return os.geteuid() != 0 and bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def libraries_before(path: Path) -> list[str]:
    """Returns libraries that must be loaded before ours, such as the run-time library of AddressSanitizer."""
    try:
        elf = read_elf(path)
    except (OSError, ValueError, struct.error):
        return []
    return [name for name in elf.needed if name.startswith(("libasan.so", "libclang_rt.asan"))] if elf else []


def read_elf(path: Path) -> Elf | None:
    """Reads the header of an ELF file; returns None for other files.

    Raises ValueError or struct.error if it is damaged."""
    with path.open("rb") as file:
        data = file.read(64)
        if data[:4] != b"\x7fELF":
            return None
        bits, order = {1: 32, 2: 64}[data[4]] if data[4] in (1, 2) else 0, "<" if data[5] == 1 else ">"
        machine = struct.unpack_from(order + "H", data, 18)[0]
        name = _MACHINES.get(machine, f"machine {machine}")
        if bits != 64:
            return Elf(bits, name, True, ())
        start, size, count = *struct.unpack_from(order + "Q", data, 32), *struct.unpack_from(order + "HH", data, 54)
        file.seek(start)
        table = file.read(size * count)
        headers = [struct.unpack_from(order + "IIQQQQQQ", table, size * i) for i in range(count)]
        dynamic = next((header for header in headers if header[0] == _DYNAMIC), None)
        if dynamic is None:
            return Elf(bits, name, False, ())
        file.seek(dynamic[2])
        entries = list(struct.iter_unpack(order + "qQ", file.read(dynamic[5] // 16 * 16)))
        loader = ""
        interpreter = next((header for header in headers if header[0] == _INTERPRETER), None)
        if interpreter is not None:
            file.seek(interpreter[2])
            loader = file.read(min(interpreter[5], 4096)).rstrip(b"\0").decode(errors="replace")
        return Elf(bits, name, interpreter is not None, tuple(_needed(file, headers, entries)), loader)


def _needed(file: BinaryIO, headers: list[tuple[int, ...]], entries: list[tuple[int, int]]) -> Iterator[str]:
    """Yields the names of the libraries that the program needs."""
    address = next((value for tag, value in entries if tag == _STRINGS), None)
    if address is None:
        return
    for header in headers:
        if header[0] == _LOAD and header[3] <= address < header[3] + header[5]:
            file.seek(header[2] + address - header[3])
            strings = file.read(1 << 16)
            for tag, value in entries:
                if tag == _NEEDED and value < len(strings):
                    yield strings[value : strings.index(b"\0", value)].decode()
