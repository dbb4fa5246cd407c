"""Variables and properties are judged by what the library did. Hints: explain_test.py."""

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from judged_campaign import PROGRAM
from mpis import OMPIO, OPEN_MPI_ALONE, ROMIO, Mpi
from rule_programs import FEW_LARGE, H5PY, over_mpi
from tracing import MPI_COMPILER, MPI_RUN, compile_c, trace

from thalweg._base.processors import processors_of, processors_text
from thalweg._explain.effects import Side, collective_buffering
from thalweg._explain.judged import Judged
from thalweg._explain.verdict import explain
from thalweg._trace.calls import Calls, Columns, Tables, Texts

WRITE = "file = h5py.File(path, 'w'{}); file.create_dataset('x', data=np.arange(100_000){}); file['y'] = 1"


def of_h5py(folder: Path, code: str, **environment: str) -> dict[str, Judged]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HDF5_")}
    command = (sys.executable, "-c", H5PY + code, folder / "out")
    traced = trace(folder / "t.root", *command, env={**kept, **environment})
    assert traced.done.returncode == 0, traced.said
    return {each.name: each for each in explain(str(traced.path)).settings}


@pytest.mark.parametrize(
    ("code", "environment", "state"),
    [
        (WRITE.format("", ""), {"HDF5_USE_FILE_LOCKING": "FALSE"}, "in effect"),
        (WRITE.format("", ""), {"HDF5_USE_FILE_LOCKING": "TRUE"}, "in effect"),
        # What the program asks for itself comes second: the variable is in effect.
        (WRITE.format(", locking=False", ""), {"HDF5_USE_FILE_LOCKING": "TRUE"}, "in effect"),
        ("", {"HDF5_USE_FILE_LOCKING": "FALSE"}, "inert"),
        (WRITE.format("", ""), {"HDF5_PLUGIN_PATH": "/nowhere"}, "cannot be told"),
        (WRITE.format("", ""), {"ROMIO_HINTS": "/nowhere"}, "inert"),
        (WRITE.format("", ""), {"OMPI_MCA_io": "ompio"}, "inert"),
    ],
)
def test_variables(tmp_path: Path, code: str, environment: dict[str, str], state: str) -> None:
    (name,) = environment
    judged = of_h5py(tmp_path, code, **environment)[name]
    assert (judged.kind, judged.asked, judged.state) == ("variable", environment[name], state), judged


@pytest.mark.parametrize(
    ("options", "more", "name", "state"),
    [
        (", alignment_threshold=1, alignment_interval=4096", "", "alignment", "in effect"),
        (", alignment_threshold=1 << 30, alignment_interval=4096", "", "alignment", "inert"),
        (", rdcc_nbytes=1 << 24", "", "chunk_cache", "inert"),
        (", rdcc_nbytes=0", "", "chunk_cache", "in effect"),
        (", rdcc_nbytes=0", ", chunks=(10_000,)", "chunk_cache", "in effect"),
        (", rdcc_nbytes=1000", ", chunks=(10_000,)", "chunk_cache", "inert"),
        (", rdcc_nbytes=1 << 24", ", chunks=(10_000,)", "chunk_cache", "cannot be told"),
        (", locking=False", "", "file_locking", "in effect"),
        (", libver='latest'", "", "libver_bounds", "cannot be told"),
        (", fs_strategy='page', fs_page_size=65536, page_buf_size=1 << 20", "", "page_buffer", "cannot be told"),
    ],
)
def test_properties(tmp_path: Path, options: str, more: str, name: str, state: str) -> None:
    judged = of_h5py(tmp_path, WRITE.format(options, more))
    assert (judged[name].kind, judged[name].state) == ("property", state), judged


def test_a_chunk_cache_that_is_the_cause_is_in_effect(tmp_path: Path) -> None:
    code = (
        "h5py.File(path, 'w').create_dataset('x', data=np.ones((64, 40_000)), chunks=(64, 10_000), compression='lzf')\n"
    )
    judged = of_h5py(tmp_path, f"{code}x = h5py.File(path, rdcc_nbytes=1000)['x']\nfor i in range(9): x[i]")
    assert judged["chunk_cache"].state == "in effect", judged
    assert "read a chunk again" in judged["chunk_cache"].why


def test_a_chunk_that_is_written_again_shows_the_small_cache(tmp_path: Path) -> None:
    code = (
        "x = h5py.File(path, 'w', rdcc_nbytes=1000).create_dataset('x', (64, 1000), 'f8', chunks=(64, 1000))\n"
        "for i in range(9): x[...] = i"
    )
    judged = of_h5py(tmp_path, code)["chunk_cache"]
    assert judged.state == "in effect", judged
    assert "writes write a chunk again" in judged.why


def test_own_files_are_not_told_to_have_settings_without_effect(tmp_path: Path) -> None:
    """Thalweg switches the cache off, since pages pass it by."""
    script = (
        "import sys, numpy as np, thalweg as tw\n"
        "with tw.create(sys.argv[1], {'t': {'x': tw.float64}}) as out:\n"
        "    out.producer('t').append(x=np.arange(200_000.0))\n"
    )
    traced = trace(tmp_path / "own.root", sys.executable, "-c", script, tmp_path / "own.h5")
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    assert [each.state for each in verdict.settings if each.name == "chunk_cache"] == ["in effect"]
    assert [each.sentence for each in verdict.findings if "chunk_cache" in each.sentence] == []


def test_the_chunk_cache_of_one_dataset_is_listed(tmp_path: Path) -> None:
    code = (
        "h5py.File(path, 'w').create_dataset('x', data=np.ones((64, 40_000)), chunks=(64, 10_000), compression='lzf')\n"
        "access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS); access.set_chunk_cache(521, 1 << 16, 0.5)\n"
        "x = h5py.Dataset(h5py.h5d.open(h5py.File(path).id, b'x', access))\nfor i in range(9): x[i]"
    )
    judged = of_h5py(tmp_path, code)["chunk_cache of x"]
    assert (judged.asked, judged.state) == (str(1 << 16), "in effect"), judged


# What becomes of hints and variables in OMPIO, with the program of the campaign: four ranks, 1 MiB together.
IN_OMPIO = [
    ("cb_nodes=2", "in effect", "ranks 0, 2 moved the data of the collective writes"),
    ("cb_nodes=9", "overruled", "ranks 0, 1, 2, 3 moved the data of the collective writes, and there are no more"),
    ("cb_nodes=1", "cannot be told", "which OMPIO may also choose by itself"),
    ("cb_buffer_size=1048576", "in effect", "the largest write of an aggregator has 524 kB"),
    ("cb_buffer_size=67108864", "inert", "no aggregator has more than 1.05 MB in a call"),
    ("romio_cb_write=enable", "inert", "OMPIO reads only cb_nodes, cb_buffer_size, collective_buffering"),
    ("OMPI_MCA_io=romio321", "in effect", "the library has loaded romio321"),
    ("OMPI_MCA_io_ompio_num_aggregators=2", "in effect", "ranks 0, 2 moved the data of the collective writes"),
    ("OMPI_MCA_io_ompio_bytes_per_agg=131072", "in effect", "the largest write of an aggregator has 65.5 kB"),
    ("OMPI_MCA_fcoll=individual", "in effect", "the library has loaded individual"),
    ("OMPI_MCA_fcoll=^vulcan", "in effect", "has loaded dynamic, dynamic_gen2, individual, two_phase"),
    ("ROMIO_WRITE_AGGMETHOD=1", "inert", "OMPIO does not read it"),
]


@pytest.mark.parametrize(("setting", "state", "why"), IN_OMPIO, ids=[each[0] for each in IN_OMPIO])
def test_settings_of_ompio(tmp_path: Path, setting: str, state: str, why: str) -> None:
    OPEN_MPI_ALONE.skip_if_missing()
    name, _, value = setting.partition("=")
    is_variable = name.isupper() or name.startswith("OMPI_MCA_")
    program = compile_c(tmp_path, PROGRAM, compiler=shutil.which(OPEN_MPI_ALONE.compiler))
    command = OPEN_MPI_ALONE.command(4, program, tmp_path / "out", *(() if is_variable else (name, value)))
    variables = OPEN_MPI_ALONE.variables() | ({name: value} if is_variable else {})
    traced = trace(tmp_path / "t.root", *command, env=variables)
    assert traced.done.returncode == 0, traced.said
    (judged,) = [each for each in explain(str(traced.path)).settings if each.name == name]
    assert (judged.state, why in judged.why) == (state, True), judged


@pytest.mark.parametrize(
    ("offsets", "state"),
    [((0, 100), "in effect"), ((0, 50), "inert"), ((0, -1), "cannot be told")],
    ids=["one behind the other", "overlapping", "not recorded"],
)
def test_aggregators_are_asked_for_where_the_requests_do_not_alternate(offsets: tuple[int, int], state: str) -> None:
    """Two ranks write 100 bytes each in a collective call, and rank 0 has moved all of them."""
    together = written(ranks=(0, 1), offsets=offsets, sizes=(100, 100))
    moved = written(ranks=(0,), offsets=(0,), sizes=(200,))
    side = Side("write", together, together.where(np.zeros(2, bool)), moved, moved, 0)
    assert collective_buffering(SimpleNamespace(), 1, side, "enable", {})[0] == state


def written(*, ranks: tuple[int, ...], offsets: tuple[int, ...], sizes: tuple[int, ...]) -> Calls:
    of_each = {name: np.zeros(len(ranks), np.int64) for name in Columns.__dataclass_fields__}
    of_each |= {"thread": np.array(ranks), "offset": np.array(offsets), "size": np.array(sizes)}
    kinds = Texts(["write"])
    return Calls(Columns(**of_each | {"result": np.array(sizes)}), Tables(kinds, kinds, np.arange(2), np.arange(2)))


def test_a_hint_wins_over_the_variable_of_ompio(tmp_path: Path) -> None:
    OPEN_MPI_ALONE.skip_if_missing()
    program = compile_c(tmp_path, PROGRAM, compiler=shutil.which(OPEN_MPI_ALONE.compiler))
    variables = OPEN_MPI_ALONE.variables() | {"OMPI_MCA_io_ompio_num_aggregators": "4"}
    command = OPEN_MPI_ALONE.command(4, program, tmp_path / "out", "cb_nodes", "2")
    traced = trace(tmp_path / "t.root", *command, env=variables)
    states = {each.name: each.state for each in explain(str(traced.path)).settings}
    assert states["cb_nodes"] == "in effect"
    assert states["OMPI_MCA_io_ompio_num_aggregators"] == "overruled"


# Hints, and what became of them in a program that makes independent, contiguous writes, or only reads.
WITHOUT_EFFECT = {
    FEW_LARGE: ("romio_ds_write=enable", "ind_wr_buffer_size=65536", "striping_unit=1048576", "romio_cb_read=enable"),
    over_mpi("MPI_File_read_at(file, rank * 4096, data, 4096, MPI_BYTE, MPI_STATUS_IGNORE);"): (
        *("cb_nodes=1", "romio_cb_read=enable", "romio_ds_read=enable", "ind_rd_buffer_size=65536"),
        "romio_cb_write=enable",
    ),
}


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
@pytest.mark.parametrize("source", WITHOUT_EFFECT, ids=["writes", "reads"])
def test_hints_that_no_call_shows_are_not_in_effect(tmp_path: Path, source: str) -> None:
    hints = WITHOUT_EFFECT[source]
    words = [word for hint in hints for word in hint.split("=")]
    program = compile_c(tmp_path, source, compiler=MPI_COMPILER)
    traced = trace(tmp_path / "t.root", MPI_RUN, "-n", 2, program, tmp_path / "out", *words)
    states = {each.name: each.state for each in explain(str(traced.path)).settings if each.kind == "hint"}
    assert states == {hint.split("=")[0]: "inert" for hint in hints}


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
@pytest.mark.parametrize(
    ("hint", "state", "why"),
    [
        ("cb_buffer_size=65536", "in effect", "the largest write of an aggregator has 65.5 kB"),
        # The four ranks have 1 MiB together, which a larger buffer does not cut either.
        ("cb_buffer_size=1048576", "inert", "no aggregator has more than 1.05 MB in a call"),
        ("cb_buffer_size=67108864", "inert", "no write of an aggregator has more than 1.05 MB"),
        ("cb_nodes=1", "cannot be told", "a host has one aggregator by default, too"),
        # The program goes on with independent calls, for which every rank needs the file.
        ("romio_no_indep_rw=true", "in effect", "ranks 1, 2, 3 opened the file only when they needed it"),
    ],
)
def test_hints_that_were_judged_wrong(tmp_path: Path, hint: str, state: str, why: str) -> None:
    program = compile_c(tmp_path, PROGRAM, compiler=MPI_COMPILER)
    traced = trace(tmp_path / "t.root", MPI_RUN, "-n", 4, program, tmp_path / "out", *hint.split("="))
    (judged,) = [each for each in explain(str(traced.path)).settings if each.kind == "hint"]
    assert (judged.state, judged.why) == (state, why)


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
def test_a_file_of_misspelt_hints_is_inert(tmp_path: Path) -> None:
    program = compile_c(tmp_path, FEW_LARGE, compiler=MPI_COMPILER)
    (tmp_path / "hints").write_text("cb_ndoes 3\nnonsense_key 7\n")
    environment = {**os.environ, "ROMIO_HINTS": str(tmp_path / "hints")}
    traced = trace(tmp_path / "t.root", MPI_RUN, "-n", 2, program, tmp_path / "out", env=environment)
    states = {each.name: (each.kind, each.state) for each in explain(str(traced.path)).settings}
    assert states == {
        "ROMIO_HINTS": ("variable", "inert"),
        "cb_ndoes": ("hint of a file", "inert"),
        "nonsense_key": ("hint of a file", "inert"),
    }


def test_defaults_are_no_settings(tmp_path: Path) -> None:
    assert of_h5py(tmp_path, WRITE.format("", "")) == {}


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
def test_variables_of_romio(tmp_path: Path) -> None:
    program = compile_c(tmp_path, FEW_LARGE, compiler=MPI_COMPILER)
    (tmp_path / "hints").write_text("cb_buffer_size 1048576\n")
    environment = {
        "ROMIO_HINTS": str(tmp_path / "hints"),
        "ROMIO_FSTYPE_FORCE": "nfs:",
        "ROMIO_WRITE_AGGMETHOD": "1",
        "OMPI_MCA_io": "ompio",
        "MPIR_CVAR_ENABLE_GPU": "0",
    }
    traced = trace(tmp_path / "t.root", MPI_RUN, "-n", 2, program, tmp_path / "out", env={**os.environ, **environment})
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    states = {each.name: each.state for each in verdict.settings if each.kind == "variable"}
    assert states == {
        "ROMIO_HINTS": "in effect",
        "ROMIO_FSTYPE_FORCE": "in effect",
        "ROMIO_WRITE_AGGMETHOD": "inert",
        "OMPI_MCA_io": "inert",
        "MPIR_CVAR_ENABLE_GPU": "cannot be told",
    }, verdict.settings
    found = [each.sentence for each in verdict.findings if each.rule == "setting without effect"]
    assert len(found) == 2
    assert any("OMPI_MCA_io=ompio is inert: it belongs to Open MPI" in sentence for sentence in found)


@pytest.mark.parametrize("mpi", [OMPIO, ROMIO], ids=str)
def test_variables_with_open_mpi(tmp_path: Path, mpi: Mpi) -> None:
    mpi.skip_if_missing()
    program = compile_c(tmp_path, FEW_LARGE, compiler=mpi.compiler)
    (tmp_path / "hints").write_text("cb_buffer_size 1048576\n")
    environment = {"ROMIO_HINTS": str(tmp_path / "hints"), "OMPI_MCA_fcoll": "vulcan", "MPIR_CVAR_ENABLE_GPU": "0"}
    command = mpi.command(2, program, tmp_path / "out")
    traced = trace(tmp_path / "t.root", *command, env={**mpi.variables(), **environment})
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    states = {each.name: each.state for each in verdict.settings if each.name in environment}
    assert states == {
        "ROMIO_HINTS": "in effect" if mpi is ROMIO else "inert",
        "OMPI_MCA_fcoll": "inert",  # all writes are independent, and ROMIO has no such modules
        "MPIR_CVAR_ENABLE_GPU": "inert",
    }, verdict.settings


def test_cores_are_told_processors_text() -> None:
    assert processors_text([3, 0, 1, 2, 8]) == "0-3,8"
    assert processors_of("0-3,8") == [0, 1, 2, 3, 8]
    assert (processors_text([]), processors_of("")) == ("", [])


def test_a_process_says_on_which_cores_it_may_run(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    traced = trace(tmp_path / "t.root", "taskset", "-c", core, "true")
    assert traced.rows("processes")[-1]["cores"]  # taskset has become it == str(core)
