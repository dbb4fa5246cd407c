"""checkpoint_kills.py --moments 200: ranks of MPI save over and over, and one, or all of a machine, are killed.

A moment is counted where the rank that is killed was: it is stopped first, and what it has noted is read. Afterwards
the checkpoint has to be whole, with no word about damage, and to be of the last step that any rank has returned from,
or of the one that was being saved.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from launchers import OPEN_MPI, open_mpi_on
from machines import Machine, machines

from thalweg.checkpoint import restore

RANKS = 4
RANK_BYTES = 4_000_008  # no number of blocks
PATIENCE_S = 120.0
SECONDS_OF = {"before": 0.002, "in": 0.03, "after": 0.002}  # how long a rank is there, about
LAUNCHERS = {"mpich": ["mpiexec.mpich"], "openmpi": OPEN_MPI}


@dataclass(frozen=True)
class State:
    pid: int
    phase: str
    saved: int


@dataclass
class Campaign:
    """mpi: "mpich", "openmpi", or "openmpi, two machines", which are namespaces with boot ids of their own."""

    mpi: str
    program: Path
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    def play(self, folder: Path) -> None:
        if self.mpi == "openmpi, two machines":
            with machines(2) as both:
                launcher = open_mpi_on(both, RANKS // 2, folder)
                self.kill_once(folder, launcher.command, both)
        else:
            self.kill_once(folder, LAUNCHERS[self.mpi], ())

    def kill_once(self, folder: Path, launcher: Sequence[str], both: Sequence[Machine]) -> None:
        path, notes = folder / "psi.h5", folder / "notes"
        notes.mkdir()
        line = [*launcher, "-n", str(RANKS), str(self.program), str(path), str(RANK_BYTES), str(notes)]
        # Two nodes in the eyes of MPICH: ranks of odd and of even numbers do not share memory.
        environment = os.environ | {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"}
        with (folder / "said").open("w") as said:
            job = subprocess.Popen(line, stdout=said, stderr=said, env=environment)
        try:
            wait_until(notes, job, lambda: all(state_of(notes, rank).saved > 0 for rank in range(RANKS)))
            victim = self.chance.randrange(RANKS)
            phase = self.chance.choice(list(SECONDS_OF))
            wait_until(notes, job, lambda: state_of(notes, victim).phase == phase)
            time.sleep(self.chance.uniform(0, SECONDS_OF[phase]))
            if both:
                self.kill_machine(notes, both[victim * 2 // RANKS], victim)
            else:
                self.kill_ranks(notes, victim, whole_node=self.chance.random() < 0.3)
            job.wait(PATIENCE_S)
        finally:
            end(job, notes)
        judge(path, notes)

    def kill_ranks(self, notes: Path, victim: int, *, whole_node: bool) -> None:
        victims = [rank for rank in range(RANKS) if rank % 2 == victim % 2] if whole_node else [victim]
        pids = [state_of(notes, rank).pid for rank in victims]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.count(state_of(notes, victim).phase, "a node" if whole_node else "a rank")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # the launcher has noticed the first of them
                os.kill(pid, signal.SIGKILL)

    def kill_machine(self, notes: Path, machine: Machine, victim: int) -> None:
        """Its pids mean nothing here, so no process there is stopped first: the phase is that of a moment before."""
        self.count(state_of(notes, victim).phase, "a machine")
        machine.kill()

    def count(self, phase: str, who: str) -> None:
        self.counts[f"{phase} a save, {who}"] += 1


def state_of(notes: Path, rank: int) -> State:
    pid, phase, saved = (notes / str(rank)).read_text().split()
    return State(int(pid), phase, int(saved))


def wait_until(notes: Path, job: subprocess.Popen[bytes], holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(OSError, ValueError):  # a rank has noted nothing yet
            if holds():
                return
        assert job.poll() is None, (notes.parent / "said").read_text()
        assert time.monotonic() < deadline, "nothing is saved"
        time.sleep(0.0005)


def end(job: subprocess.Popen[bytes], notes: Path) -> None:
    """Ends all ranks, whatever the launcher thinks of it."""
    for note in notes.iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = state_of(notes, int(note.name)).pid
            if str(notes) in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)
    if job.poll() is None:
        job.kill()
    job.wait(PATIENCE_S)


def judge(path: Path, notes: Path) -> None:
    returned = max(state_of(notes, rank).saved for rank in range(RANKS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = restore(path)
    psi = state.read("psi")
    assert psi.size == RANKS * (RANK_BYTES // 8)
    step = int(psi[0])
    assert np.all(psi == step), "two steps are mixed"
    assert returned <= step <= returned + 1, f"{step} was restored, and a save of {returned} had returned"
    if step == 1:
        return
    before = restore(f"{path}.1").read("psi")
    assert np.all(before == before[0])
    assert before[0] in (step - 1, step), "what is kept is not the one before"  # one file with two names for a moment


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--moments", type=int, default=200, help="of each MPI")
    parser.add_argument("--mpi", choices=["mpich", "openmpi", "openmpi, two machines"], action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", type=Path, default=Path(__file__).parents[2] / "build" / "default")
    parser.add_argument("--folder", help="where files are written")
    options = parser.parse_args()
    for mpi in options.mpi or ["mpich", "openmpi"]:
        program = options.build / "tests" / "nodes" / f"saver_{mpi.partition(',')[0]}"
        campaign = Campaign(mpi, program, random.Random(f"{mpi} {options.seed}"))
        for number in range(options.moments):
            with tempfile.TemporaryDirectory(prefix="thalweg-kills-", dir=options.folder) as folder:
                try:
                    campaign.play(Path(folder))
                except BaseException:
                    print(f"{mpi}: moment {number} of seed {options.seed}", file=sys.stderr)
                    raise
        counts = ", ".join(f"{count} {what}" for what, count in sorted(campaign.counts.items()))
        print(f"{mpi}: {sum(campaign.counts.values())} moments: {counts}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
