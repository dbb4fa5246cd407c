"""Counters of files are those of the calls that a program made, and say how even its ranks are."""

import sys
from pathlib import Path

import pytest
from mpis import MPICH
from rule_programs import MIB, START, WRITE, over_mpi
from tracing import compile_c, trace

from thalweg._explain.counters import counters
from thalweg._explain.verdict import explain
from thalweg._trace.trace_file import load_trace

PROGRAM = (
    "for i in range(10): os.pwrite(fd, bytes(5000), i * 5000)\n"
    "os.pread(fd, 50, 0); os.pread(fd, 500, 100); os.pread(fd, 500, 0); os.fsync(fd); os.lseek(fd, 0, 0)\n"
    "os.read(fd, 100); os.read(fd, 1 << 20)"
)


def test_counters_of_one_file(tmp_path: Path) -> None:
    traced = trace(tmp_path / "t.root", sys.executable, "-c", START + PROGRAM, tmp_path / "out")
    (found,) = [each for each in counters(load_trace(str(traced.path))) if each.file == str(tmp_path / "out")]
    assert found.level == "posix"
    assert found.calls == {"open": 1, "read": 5, "write": 10, "seek": 1, "sync": 1}
    assert (found.read_bytes, found.written_bytes) == (50_000 + 50 + 500 + 500, 50_000)
    assert found.read_sizes == [1, 3, 0, 1, 0, 0, 0]
    assert found.written_sizes == [0, 0, 10, 0, 0, 0, 0]
    # Nine writes follow each other; of the reads, the second one lies behind the first, and the last one goes on.
    assert (found.sequential, found.consecutive) == (11, 10)
    assert (found.last_byte, found.failed, found.ranks, found.bytes_by_rank) == (50_000, 0, 0, None)
    assert set(found.seconds) == set(found.calls)


def test_ranks_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MPICH.skip_if_missing()
    source = over_mpi(f"for (int i = 0; i <= rank; ++i) {WRITE.format('write_at', f'rank * 4 * {MIB}', MIB)}")
    program = compile_c(tmp_path, source, compiler=MPICH.compiler)
    traced = trace(tmp_path / "t.root", *MPICH.command(3, program, tmp_path / "out"))
    verdict = explain(str(traced.path))
    (found,) = [each for each in verdict.counters if each.file == str(tmp_path / "out")]
    assert found.bytes_by_rank is not None
    assert (found.ranks, found.bytes_by_rank.least, found.bytes_by_rank.most) == (3, MIB, 3 * MIB)
    assert (found.bytes_by_rank.least_rank, found.bytes_by_rank.most_rank, found.bytes_by_rank.mean) == (0, 2, 2 * MIB)
    assert found.bytes_by_rank.variance == pytest.approx(2 / 3 * MIB**2)
    assert found.sentence() in verdict.lines()
    left_out = "1 more files are used by several ranks (see --json)"
    assert left_out not in verdict.lines()
    monkeypatch.setattr("thalweg._explain.verdict._MOST_SHARED", 0)
    assert left_out in verdict.lines()
    (shown,) = [each for each in verdict.to_dict()["counters"] if each["file"] == str(tmp_path / "out")]
    assert shown["bytes_by_rank"]["most_rank"] == 2
