"""What can be known of a command before it runs: whether it is there, and whether a library can be loaded into it."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from thalweg._errors import UsageError

_MACHINES = {62: "x86_64", 183: "aarch64"}
_INTERPRETER, _LOAD, _DYNAMIC = 3, 1, 2
_NEEDED, _STRINGS = 1, 5


@dataclass(frozen=True)
class Elf:
    """A program's file: what its head says of how it is loaded."""

    bits: int
    machine: str
    is_dynamic: bool
    needed: tuple[str, ...]


def find_program(command: list[str]) -> Path:
    """The file that the command runs. Raises UsageError where there is none, or it cannot be traced at all."""
    if not command:
        raise UsageError("there is no command to trace: give it after --, as in `thalweg trace --out t.root -- ls`")
    found = shutil.which(command[0])
    if found is None:
        path = Path(command[0])
        reason = "it may not be run" if path.is_file() else "there is no such command"
        raise UsageError(f"{command[0]} cannot be traced ({reason})")
    path = Path(found).resolve()
    if (why := why_untraceable(path)) is not None:
        raise UsageError(f"{command[0]} cannot be traced ({path} {why})")
    return path


def why_untraceable(path: Path) -> str | None:
    """A reason why no library can be loaded into this program, None where nothing is known that forbids it."""
    try:
        mode = path.stat().st_mode
        elf = read_elf(path)
    except (OSError, ValueError, struct.error):
        return None  # a script: its interpreter is another program
    if os.geteuid() != 0 and mode & (stat.S_ISUID | stat.S_ISGID):
        return "is setuid or setgid: the system loads no library of others into it"
    if elf is None:
        return None
    if elf.bits != 64 or elf.machine != os.uname().machine:
        return f"is a program of {elf.bits} bits for {elf.machine}; this library is one of 64 for {os.uname().machine}"
    if not elf.is_dynamic:
        return "is linked statically: nothing can be loaded into it"
    return None


def libraries_before(path: Path) -> list[str]:
    """Libraries that have to be loaded before ours: AddressSanitizer's run-time refuses to come second."""
    try:
        elf = read_elf(path)
    except (OSError, ValueError, struct.error):
        return []
    return [name for name in elf.needed if name.startswith(("libasan.so", "libclang_rt.asan"))] if elf else []


def read_elf(path: Path) -> Elf | None:
    """None where it is no ELF file. Raises ValueError or struct.error where it is damaged."""
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
        is_dynamic = any(header[0] == _INTERPRETER for header in headers)
        return Elf(bits, name, is_dynamic, tuple(_needed(file, headers, entries)))


def _needed(file: BinaryIO, headers: list[tuple[int, ...]], entries: list[tuple[int, int]]) -> Iterator[str]:
    """Names of the libraries that it asks for."""
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
