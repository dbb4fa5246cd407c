"""Any rank may be killed while ranks of MPI save: a whole checkpoint is there. A few moments of the campaign."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from checkpoint_kills import RANKS, Campaign, judge
from machines import why_not


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "openmpi, two machines"])
def test_a_checkpoint_is_whole_whichever_rank_is_killed(
    mpi: str, repository: Path, tmp_path: Path, long_mode: bool
) -> None:
    name = mpi.partition(",")[0]
    if shutil.which(f"mpiexec.{name}") is None or shutil.which(f"mpicxx.{name}") is None:
        pytest.skip(f"Debian's {name} is not installed")
    if "machines" in mpi and (reason := why_not()):
        pytest.skip(f"no namespaces can be made here ({reason})")
    build = Path(os.environ.get("THALWEG_BUILD", repository / "build" / "default"))
    program = build / "tests" / "nodes" / f"saver_{name}"
    if not program.exists():
        pytest.fail(f"{program} is not there: run `make test`")
    campaign = Campaign(mpi, program, random.Random(7))
    moments = 200 if long_mode else 4
    for number in range(moments):
        folder = tmp_path / str(number)
        folder.mkdir()
        campaign.play(folder)
        shutil.rmtree(folder)
    assert sum(campaign.counts.values()) == moments


@pytest.mark.parametrize(("saved", "problem"), [(7, "6 was restored, and a save of 7"), (4, "6 was restored")])
def test_the_judge_notices_a_step_that_is_lost_or_too_new(saved: int, problem: str, tmp_path: Path) -> None:
    import numpy as np
    from checkpoint_kills import RANK_BYTES

    from thalweg.checkpoint import Block, save

    shape = (RANKS * (RANK_BYTES // 8),)
    for step in (5, 6):
        save(tmp_path / "psi.h5", {"psi": Block(np.full(shape, float(step)), shape, (0,))})
    notes = tmp_path / "notes"
    notes.mkdir()
    for rank in range(RANKS):
        (notes / str(rank)).write_text(f"1 in {saved}\n")
    with pytest.raises(AssertionError, match=problem):
        judge(tmp_path / "psi.h5", notes)
    (notes / "0").write_text("1 after 6\n")
    if saved < 6:
        judge(tmp_path / "psi.h5", notes)
