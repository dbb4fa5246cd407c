"""What `thalweg explain` says of 40 settings of MPI-IO, against strace: the calls of each rank with the setting and
without. One that is said to be inert or overruled changes no call, and one that is said to be in effect changes calls.

    PYTHONPATH=tests/python .venv/bin/python tests/python/judged_campaign.py [MPICH|OMPIO|ROMIO ...]

prints a line for each setting, and ends with code 1 if a verdict and strace contradict each other.
"""

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from mpis import MPICH, OMPIO, OPEN_MPI_ALONE, ROMIO, Mpi
from rank_calls import Signature, calls_of_ranks, under_strace
from rule_programs import over_mpi
from tracing import compile_c, trace

from thalweg._explain.verdict import explain

KIB, MIB = 1 << 10, 1 << 20
RANKS = 4
# Pieces of ranks alternate: written and read together and alone, so that each kind of hint has calls to act on.
PROGRAM = over_mpi(f"""
    MPI_Datatype pieces;
    MPI_Type_vector(16, {16 * KIB}, {16 * KIB} * size, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    for (int i = 0; i < 2; ++i) {{
        MPI_File_set_view(file, (MPI_Offset){16 * KIB} * rank + i * {4 * MIB}, MPI_BYTE, pieces, "native",
                          MPI_INFO_NULL);
        if (i == 0) {{
            MPI_File_write_all(file, data, {256 * KIB}, MPI_BYTE, MPI_STATUS_IGNORE);
            MPI_File_read_at_all(file, 0, data, {256 * KIB}, MPI_BYTE, MPI_STATUS_IGNORE);
        }} else {{
            for (int turn = 0; turn < size; ++turn) {{ // sieving locks what it writes: one rank after the other
                if (turn == rank) MPI_File_write(file, data, {256 * KIB}, MPI_BYTE, MPI_STATUS_IGNORE);
                MPI_Barrier(MPI_COMM_WORLD);
            }}
            MPI_File_read_at(file, 0, data, {256 * KIB}, MPI_BYTE, MPI_STATUS_IGNORE);
        }}
    }}
""")


def _words(text: str) -> list[str]:
    return text.split()


HINTS = _words("""
cb_nodes=1 cb_nodes=2 cb_nodes=4 cb_config_list=*:1 cb_config_list=*:2 cb_config_list=*:4
cb_buffer_size=65536 cb_buffer_size=1048576 cb_buffer_size=67108864
romio_cb_write=enable romio_cb_write=disable romio_cb_write=automatic
romio_cb_read=enable romio_cb_read=disable romio_cb_read=automatic
romio_ds_write=enable romio_ds_write=disable romio_ds_write=automatic
romio_ds_read=enable romio_ds_read=disable romio_ds_read=automatic
ind_wr_buffer_size=65536 ind_wr_buffer_size=4194304 ind_rd_buffer_size=65536 ind_rd_buffer_size=16777216
romio_no_indep_rw=true striping_unit=65536 striping_factor=4 romio_cb_fr_types=aar romio_cb_ds_threshold=100
cb_ndoes=2
""")
VARIABLES = _words("""
HDF5_USE_FILE_LOCKING=FALSE ROMIO_FSTYPE_FORCE=nfs: ROMIO_WRITE_AGGMETHOD=1 OMPI_MCA_io=romio321
OMPI_MCA_io_ompio_num_aggregators=1 OMPI_MCA_io_ompio_cycle_buffer_size=65536 OMPI_MCA_fcoll=individual
MPIR_CVAR_ENABLE_GPU=0 ROMIO_HINTS=cb_buffer_size
""")
assert len(HINTS) + len(VARIABLES) == 40


class Bed:
    """A program under one MPI, with one setting at a time."""

    def __init__(self, mpi: Mpi, place: Path) -> None:
        self._mpi, self._place = mpi, place
        self._program = compile_c(place / "c", PROGRAM, compiler=shutil.which(mpi.compiler))
        (place / "hints").write_text("cb_buffer_size 65536\n")

    def _words(self, setting: str) -> tuple[list[str], dict[str, str]]:
        """Returns the program's arguments after the name of its file, and the environment."""
        name, _, value = setting.partition("=")
        if setting in HINTS:
            return [name, value], self._mpi.variables()
        if name == "ROMIO_HINTS":
            value = str(self._place / "hints")
        return [], self._mpi.variables() | ({name: value} if setting else {})

    def signature(self, setting: str) -> Signature:
        """Returns the calls of each rank on the file, as strace sees them. Its offsets are in them."""
        out, logs = self._place / "out.bin", self._place / "logs"
        out.unlink(missing_ok=True)
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir()
        words, environment = self._words(setting)
        command = self._mpi.command(RANKS, *under_strace(logs), self._program, out, *words)
        subprocess.run(list(map(str, command)), env=environment, check=True, timeout=300, capture_output=True)
        return calls_of_ranks(logs, str(out))

    def verdict(self, setting: str) -> str:
        out = self._place / "out.bin"
        out.unlink(missing_ok=True)
        words, environment = self._words(setting)
        path = self._place / "t.root"
        command = self._mpi.command(RANKS, self._program, out, *words)
        traced = trace(path, *command, options=("--force",), env=environment)
        assert traced.done.returncode == 0, traced.said
        name = setting.partition("=")[0]
        states = {each.state for each in explain(str(path)).settings if each.name == name}
        assert len(states) == 1, (setting, states)
        return states.pop()


def told(state: str, changes_calls: bool) -> str:
    if state == "cannot be told":
        return state
    return "right" if changes_calls == (state == "in effect") else "wrong"


def judge(mpi: Mpi) -> Counter[str]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        bed = Bed(mpi, Path(place))
        default = bed.signature("")
        assert bed.signature("") == default, "two runs without a setting differ"
        found = {setting: bed.signature(setting) for setting in (*HINTS, *VARIABLES)}
        for setting, calls in found.items():
            state = bed.verdict(setting)
            how = told(state, calls != default)
            counts[how] += 1
            print(f"{mpi}: {setting}: {state}; {'the same' if calls == default else 'other'} calls: {how}", flush=True)
    print(f"{mpi}: {dict(counts)}", flush=True)
    return counts


def main(names: list[str]) -> int:
    known = {"MPICH": MPICH, "OMPIO": OPEN_MPI_ALONE, "ROMIO": ROMIO, "OMPIO-GIVEN": OMPIO}
    return int(any(judge(known[name])["wrong"] for name in names or ("MPICH", "OMPIO", "ROMIO")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
