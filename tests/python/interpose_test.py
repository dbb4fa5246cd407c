"""The tables of calls hold against the headers of the libraries, and the layout of memory is the same on both sides."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tracing import compile_c

import hdf5_calls
from thalweg._trace import records

HDF5_HEADERS = [Path("/usr/include/hdf5/serial"), Path("/usr/include/hdf5/mpich")]
MPI_HEADERS = [Path("/usr/include/x86_64-linux-gnu/mpich"), Path("/usr/lib/x86_64-linux-gnu/openmpi/include")]
MPI_PROTOTYPE = re.compile(r"\bint\s+(P?MPI_(?:File_\w+))\s*\(([^;]*?)\)[^;]*;", re.DOTALL)


def table(repository: Path, name: str) -> dict[str, tuple[int, ...]]:
    text = (repository / "thalweg" / "interpose" / name).read_text()
    found = re.findall(r"X\((\w+(?:##suffix)?), ([\d, -]+)\)", text)
    rows = {key: tuple(int(number) for number in numbers.split(",")) for key, numbers in found}
    plain = {key.replace("##suffix", suffix): row for key, row in rows.items() for suffix in ("", "_c")}
    return plain if any("##" in key for key in rows) else rows


def test_every_call_of_hdf5_that_the_headers_have_is_in_the_table(repository: Path) -> None:
    folders = [folder for folder in HDF5_HEADERS if folder.is_dir()]
    if not folders:
        pytest.skip("there are no headers of HDF5")
    ours = table(repository, "hdf5_calls.h")
    theirs = hdf5_calls.calls_of(folders)
    assert len(theirs) > 150
    assert sorted(set(theirs) - set(ours)) == []
    for name, call in theirs.items():
        arguments, location, path, gives_id = ours[name]
        assert arguments >= call.arguments, name
        assert (location, path, gives_id) == (call.location, call.path, call.gives_id), name


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("H5_DLL herr_t H5Dclose(hid_t dset_id);", ("H5Dclose", 1, 0, -1, 0)),
        ("H5_DLL hid_t H5Fopen(const char *name, unsigned flags, hid_t plist);", ("H5Fopen", 3, 2, 0, 1)),
        (
            "H5_DLL herr_t H5Diterate(void *b, hid_t t, hid_t s, herr_t (*op)(void *, int), void *d);",
            ("H5Diterate", 5, 1, -1, 0),
        ),
    ],
)
def test_declarations_are_understood(tmp_path: Path, declaration: str, expected: tuple[object, ...]) -> None:
    (tmp_path / "H5Xpublic.h").write_text(f"/* H5_DLL herr_t H5Dold(void); */ {declaration}")
    (call,) = hdf5_calls.calls_of([tmp_path]).values()
    assert (call.name, call.arguments, call.location, call.path, call.gives_id) == expected


@pytest.mark.parametrize("argument", ["double factor", "H5O_token_t token", "..."])
def test_a_call_with_an_argument_that_is_no_word_is_left_out(tmp_path: Path, argument: str) -> None:
    (tmp_path / "H5Xpublic.h").write_text(f"H5_DLL herr_t H5Dtouch(hid_t id, {argument});")
    assert hdf5_calls.calls_of([tmp_path]) == {}


def test_every_call_of_mpi_io_that_the_headers_have_is_in_the_table(repository: Path) -> None:
    headers = [path for folder in MPI_HEADERS if folder.is_dir() for path in folder.glob("mpi*.h")]
    if not headers:
        pytest.skip("there are no headers of an MPI")
    ours = table(repository, "mpi_calls.h")
    found = [each for path in headers for each in MPI_PROTOTYPE.findall(path.read_text(errors="replace"))]
    prototypes = {name.lstrip("P").removeprefix("MPI_"): parameters for name, parameters in found}
    prototypes = {
        name: text for name, text in prototypes.items() if not name.endswith(("_c2f", "_f2c", "create_errhandler"))
    }
    assert len(prototypes) > 50
    assert sorted(set(prototypes) - set(ours)) == []
    for name, parameters in prototypes.items():
        assert ours[name][0] == len(parameters.split(",")), name


def test_memory_has_the_same_layout_in_c_and_in_python(repository: Path, tmp_path: Path) -> None:
    structs = {"record": records.RECORD, "begun": records.BEGUN, "ring": records.RING, "control": records.CONTROL}
    lines = [
        f'printf("{name} {field} %zu\\n", offsetof(struct {name}, {field}));'
        for name, dtype in structs.items()
        for field in dtype.names or ()
    ]
    lines += [f'printf("{name} size %zu\\n", sizeof(struct {name}));' for name in structs]
    body = "\n".join(["#include <stddef.h>", "#include <stdio.h>", '#include "thalweg/interpose/record.h"'])
    program = compile_c(tmp_path, f"{body}\nint main() {{ {' '.join(lines)} }}", f"-I{repository}")
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = [
        f"{name} {field} {dtype.fields[field][1]}" for name, dtype in structs.items() for field in dtype.names or ()
    ]
    expected += [f"{name} size {dtype.itemsize}" for name, dtype in structs.items() if name != "control"]
    assert [line for line in told if not line.startswith("control size")] == expected


def test_every_operation_has_a_kind() -> None:
    known = [each for each in records.operations() if each.name]
    assert len(known) > 500
    assert len({each.name for each in known}) == len(known)
    kinds = {each.name: each.kind for each in known}
    assert [
        name
        for name, kind in kinds.items()
        if kind == "other" and not name.startswith(("dup", "H5", "posix_fad", "aio_return", "io_submit"))
    ] == []
    assert (kinds["pwritev2"], kinds["H5Dwrite"], kinds["MPI_File_iread_at_all_c"]) == ("write", "write", "read")
    assert (kinds["aio_fsync"], kinds["H5Fflush"], kinds["fflush"], kinds["MPI_Barrier"]) == (
        "sync",
        "sync",
        "sync",
        "wait",
    )


def test_clocks_go_together() -> None:
    for has_counter in (True, False):
        first, second = records.clocks(has_counter), records.clocks(has_counter)
        assert second[0] > first[0]
        assert second[1] > first[1]
        assert np.isclose(records.clocks(False)[0], records.clocks(False)[1], rtol=1e-6)
