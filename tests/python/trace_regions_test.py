"""Phases that a program marks are in the trace, and `explain` accounts for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tracing import compile_c, trace

from thalweg._explain.verdict import explain
from thalweg.sources import include_dir

IN_PYTHON = """
import os, sys
import thalweg as tw
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.pwrite(fd, bytes(10), 0)
for i in range(3):
    with tw.trace.region("step"):
        os.pwrite(fd, bytes(1000), 0)
        with tw.trace.region("sync"):
            os.fsync(fd)
"""
IN_C = r"""
#include <fcntl.h>
#include <unistd.h>
#include <thalweg/region.h>
int main(int count, char** words) {
    static char data[1000]; int fd = open(words[1], O_CREAT | O_RDWR, 0600);
    pwrite(fd, data, 10, 0);
    for (int i = 0; i < 3; ++i) {
        thalweg_region const step = thalweg_region_begin();
        pwrite(fd, data, 1000, 0);
        thalweg_region const sync = thalweg_region_begin();
        fsync(fd);
        thalweg_region_end(sync, "sync");
        thalweg_region_end(step, "step");
    }
}
"""


COMPUTING = """
#include <fcntl.h>
#include <unistd.h>
#include <thalweg/region.h>
int main(int count, char** words) {
    thalweg_region const computing = thalweg_region_begin();
    usleep(500000);
    int const file = open(words[1], O_CREAT | O_RDWR, 0600);
    if (write(file, words, 1) != 1) return count;
    usleep(500000);
    thalweg_region_end(computing, "computing");
    return 0;
}
"""


@pytest.mark.parametrize("language", ["C", "Python"])
def test_phases_have_their_calls(tmp_path: Path, language: str) -> None:
    command: list[object] = [sys.executable, "-c", IN_PYTHON]
    if language == "C":
        command = [compile_c(tmp_path, IN_C, f"-I{include_dir()}")]
    subprocess.run([*map(str, command), tmp_path / "out"], check=True)  # without a trace it does the same
    traced = trace(tmp_path / "t.root", *command, tmp_path / "out")
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    step, sync = verdict.phases
    assert (step.name, step.regions, step.written_bytes) == ("step", 3, 3000)
    assert (sync.name, sync.regions, sync.calls, sync.written_bytes) == ("sync", 3, 3, 0)
    assert step.seconds >= sync.seconds > 0
    assert any(line.startswith("phase step: 3 times") for line in verdict.lines())
    assert all(account.outside_s <= account.elapsed_s for account in verdict.accounts)


def test_a_finding_names_its_phase(tmp_path: Path) -> None:
    script = """
import os, sys
import thalweg as tw
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
with tw.trace.region("checkpoint"):
    for i in range(3000): os.pwrite(fd, bytes(10), i * 10)
"""
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path / "out")
    (found,) = [each for each in explain(str(traced.path)).findings if each.rule == "small requests"]
    assert found.phase == "checkpoint"
    assert os.path.basename(found.file) == "out"


def test_phases_lie_in_the_time_of_their_process(tmp_path: Path, repository: Path) -> None:
    """A phase may begin long before the first call, and end long after the last one."""
    program = compile_c(tmp_path, COMPUTING, f"-I{repository / 'include'}")
    traced = trace(tmp_path / "t.root", program, tmp_path / "out")
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    (phase,), (account,) = verdict.phases, verdict.accounts
    assert 1 <= phase.seconds <= account.elapsed_s
    assert account.outside_s <= account.elapsed_s
    assert any("s from the first call or phase to the last, " in line for line in verdict.lines())
