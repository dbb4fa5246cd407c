"""One round: a job runs undisturbed, and again with kills and resumptions; both outputs are compared."""

import os
import random
import signal
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kills import places
from kills.derive import job
from kills.derive.judge import judge
from kills.derive.plan import Plan, Strike
from kills.job_round import JobRound
from kills.judge import require
from kills.stage import LIMIT_S, Process, Say

GAVE_UP = "ended before they did anything"  # a job says this if five workers in succession do


class Round(JobRound[Plan]):
    def __init__(self, plan: Plan, folder: Path, keep: bool = False) -> None:
        super().__init__(plan, folder, keep)
        self._chance = random.Random(f"{plan.seed}/round")
        self._lives = 0

    def play(self) -> None:
        calm, killed = self.folder / "calm", self.folder / "killed"
        calm.mkdir()
        killed.mkdir()
        self._do("input", lambda _: job.write_inputs(self.plan, self.folder))
        self._do("undisturbed", lambda say: job.run(self.plan, self.folder, calm, 0, True, say))
        require(self._has_said("whole"), "the undisturbed job did not come to its end")
        strikes = deque(self.plan.strikes)
        while not self._live(partial(job.run, self.plan, self.folder, killed, self._lives, False), strikes):
            self._lives += 1
        deaths = len([each for each in killed.iterdir() if each.name.startswith(job.DEATH)])
        self.counts["kills: worker behind a commit"] += deaths
        self.counts["processes killed"] += deaths
        self._do("judge", lambda say: say("judged", *judge(self.plan, calm, killed)))
        ((_, rows, ranges),) = [words for words in self._said if words[0] == "judged"]
        self.counts.update({"rows judged": rows, "ranges judged": ranges, "lives": self._lives + 1})
        self.counts[f"rounds: {self.plan.extension}, {self.plan.way}, order {self.plan.order}"] += 1
        self.counts["rounds: chains of files"] += self.plan.files > 1
        self.counts["rounds: files that lack a column"] += self.plan.lacks
        self.counts["rounds: carried tables"] += self.plan.carries
        self._do("memory", lambda say: places.say_memory(say, self.folder, [calm, killed]))
        ((_, left),) = [words for words in self._said if words[0] == "memory"]
        require(not left, f"memory is left behind: {left}")

    def _do(self, name: str, work: Callable[[Say], None]) -> None:
        self._said.clear()
        self.stage.run(name, work)
        self._expect_no_failure()

    def _live(self, run: Callable[[Say], None], strikes: deque[Strike]) -> bool:
        """Runs the job from its start to its death. Returns True if it has finished."""
        self._said.clear()
        process = self.stage.start("job", run)
        while strikes and self._has_come(strikes[0].moment, process):
            strike = strikes.popleft()
            self.stage.pause(strike.delay_s)
            if self._strike(strike, process):
                self._expect_no_failure()
                return False
        self.stage.wait(process)
        if any(words[0] == "failed" and GAVE_UP in words[-1] for words in self._said):
            self.counts["jobs that gave up, and were resumed"] += 1
            return False
        self._expect_no_failure()
        require(self._has_said("whole"), "the job ended, and did not say that it is whole")
        return True

    def _has_come(self, moment: str, process: Process) -> bool:
        """Returns False if the job ended before the moment came."""
        if moment == "start":
            return process.is_alive
        first = len(self._said) if moment == "commit" else 0

        def is_there() -> bool:
            return self._has_said(moment, first) or self.stage.has_ended(process)

        require(self.stage.wait_until(is_there, LIMIT_S), f"in {LIMIT_S} s the job did not come to: {moment}")
        return process.is_alive

    def _strike(self, strike: Strike, process: Process) -> bool:
        """Returns True if the job is dead because of it."""
        workers = [each for each in children_of(process.pid) if is_running(each)]
        if strike.victim in ("worker", "workers"):
            count = 1 if strike.victim == "worker" else len(workers)
            victims = self._chance.sample(workers, min(count, len(workers)))
            self._count(f"{strike.victim}, {strike.moment}", [send_kill(each) for each in victims])
            return False
        is_alive = not self.stage.has_ended(process)
        if is_alive and strike.victim == "everything":
            send_kill(process.pid, to_group=True)
        killed = self.stage.kill([process])
        wait_for_group(process.pid)
        of = "resume" if strike.moment == "start" and self._lives else strike.moment
        self._count(f"{strike.victim}, {of}", [bool(killed), *([True] * len(workers) if killed else [])])
        return bool(killed)

    def _count(self, kind: str, killed: list[bool]) -> None:
        """Counts as one kill, however many processes it has ended."""
        self.counts["processes killed"] += sum(killed)
        self.counts[f"kills: {kind}"] += any(killed)


def children_of(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_group(pid: int) -> None:
    """Waits until the kernel has ended all workers of a dead job; until then a resumption is told that the output is
    still being written. On a busy machine this takes a while."""
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.001)


def send_kill(pid: int, to_group: bool = False) -> bool:
    try:
        (os.killpg if to_group else os.kill)(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
