"""What the report says of the share that it has seen is what strace has counted: for a few real programs."""

import shutil
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).parent.parent.parent / "studies" / "tracing"
sys.path.insert(0, str(STUDY))

import share_seen as study  # noqa: E402
from real_programs import PROGRAMS  # noqa: E402

BY_NAME = {program.name: program for program in PROGRAMS}
CHOSEN = (
    *("dd", "cat through pipes", "tar with gzip", "sort, from files beside", "awk", "sqlite3 of Python"),
    *("h5py with chunks", "ranks of MPICH", "ranks of Open MPI", "fio, libaio", "fio, io_uring", "fio, mmap"),
    *("Go, dynamic", "a static program below a shell"),
)


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_said_of_a_real_program_is_right(name: str) -> None:
    if shutil.which("strace") is None:
        pytest.skip("there is no strace, which counts what the program reads and writes")
    program = BY_NAME[name]
    if why := program.why_not():
        pytest.skip(why)
    found = study.outcome(program)
    assert found.is_right, found
    if program.sees_all:
        assert found.written.seen_share > 0.95, found


def test_a_share_that_is_said_wrong_is_found() -> None:
    assert study.Shares(counted=1_000_000, seen=500_000, said=1_000_000).is_said_right
    assert not study.Shares(counted=1_000_000, seen=500_000, said=500_000).is_said_right
    assert not study.Shares(counted=33_600_000, seen=12_700, said=12_700).is_said_right


def test_the_study_has_enough_programs() -> None:
    assert len(PROGRAMS) >= 30
    assert len(BY_NAME) == len(PROGRAMS)
