"""One round: jobs save to one path, one after the other, and each is killed; each time all that is left is judged."""

from __future__ import annotations

import multiprocessing
import shutil
from functools import partial
from pathlib import Path

from kills.checkpoint import job
from kills.checkpoint.judge import judge, leftovers, step_of
from kills.checkpoint.plan import Life, Plan
from kills.job_round import JobRound
from kills.judge import require
from kills.stage import LIMIT_S, Process


class Round(JobRound[Plan]):
    def __init__(self, plan: Plan, folder: Path, keep: bool = False) -> None:
        super().__init__(plan, folder, keep)
        self.path = folder / "files" / "psi.h5"
        self._saved: list[int] = []  # the steps that should be there, but for those that are no longer kept
        self._copies: dict[str, int] = {}
        self._begun = 0

    def play(self) -> None:
        self.path.parent.mkdir()
        for life in self.plan.lives:
            self._live(life)
            self._judge(life.keep)
            self._act(life)
        self._end_well()

    def _steps(self, word: str) -> list[int]:
        return sorted({words[2] for words in self._said if words[0] == word})

    def _live(self, life: Life) -> None:
        """Runs a job until it is killed. What is left of it has to notice that."""
        self._said.clear()
        first = self._begun + 1
        pairs = [multiprocessing.Pipe() for _ in range(life.ranks - 1)]
        ranks = [
            self.stage.start(f"rank {rank}", partial(job.run, self.plan, life, rank, pairs, self.path, first))
            for rank in range(life.ranks)
        ]
        for end in (end for pair in pairs for end in pair):
            end.close()
        left = self._strike(life, ranks)
        for each in left:  # they fail, since a rank does not answer any more
            self.stage.wait(each)
        require(not self.stage.crashed(), f"{self.stage.crashed()}")
        failed = {words[1] for words in self._said if words[0] == "failed"}
        silent = [each.name for each in left if each.name not in failed]
        require(not silent, f"{silent} ended without an error, although a rank was killed")
        if steps := self._steps("saved"):
            self._saved = sorted({*self._saved, *steps})
        self._begun = max([self._begun, *self._steps("begins")])

    def _strike(self, life: Life, ranks: list[Process]) -> list[Process]:
        """Kills ranks, and returns those that are left."""
        strike = life.strike
        number = 0 if strike.victim == "rank 0" else strike.number % life.ranks

        def has_come() -> bool:
            own = [words for words in self._said if words[1] == number]
            is_in = bool(own) and own[-1][0] == "begins"
            return len(self._steps("saved")) >= strike.saves and is_in == (strike.moment == "in")

        def may_not_come() -> bool:
            return has_come() or self._has_said("failed")

        require(self.stage.wait_until(may_not_come, LIMIT_S), f"in {LIMIT_S} s no rank came so far")
        self._expect_no_failure()
        self.stage.pause(strike.delay_s)
        self._expect_no_failure()
        victims = ranks if strike.victim == "all ranks" else [ranks[number]]
        killed = self.stage.kill(victims)
        self.counts["processes killed"] += killed
        self.counts[f"kills: {strike.victim}, {strike.moment} a {life.how}"] += killed > 0
        return [each for each in ranks if each not in victims]

    def _judge(self, keep: int) -> None:
        there = judge(self.plan, self.path, saved=self._saved, begun=self._begun, copies=self._copies, keep=keep)
        self._saved = sorted(set(there))
        self.counts["checkpoints judged"] += 1
        self.counts["saves that returned"] += len(self._steps("saved"))

    def _act(self, life: Life) -> None:
        """Does what users do between two jobs."""
        if life.copy and self.path.exists():
            copy = self.path.with_name(f"psi.h5.{life.copy}")
            if not copy.exists():
                shutil.copy(self.path, copy)
                self._copies[copy.name] = step_of(copy, self.plan)
                self.counts["copies that the user made"] += 1
        older = self.path.with_name(f"psi.h5.{life.removes}")
        if life.removes and older.exists() and older.name not in self._copies:
            step = step_of(older, self.plan)
            older.unlink()
            if step != step_of(self.path, self.plan):
                self._saved.remove(step)

    def _end_well(self) -> None:
        """A save that nothing disturbs removes what killed ones have left."""
        life = self.plan.lives[-1]
        self._said.clear()
        self.stage.run("last save", lambda _: self._save_once(life))
        require(not self._said, f"{self._said}")
        self._begun += 1
        self._saved.append(self._begun)
        self._judge(life.keep)
        require(not leftovers(self.path), f"{leftovers(self.path)} are left behind")

    def _save_once(self, life: Life) -> None:
        from thalweg.checkpoint import save

        alone = Life(**{**vars(life), "ranks": 1})
        step = self._begun + 1
        save(self.path, job.blocks(self.plan, alone, 0, step), keep=life.keep, attributes={"step": step})
