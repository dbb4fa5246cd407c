"""A life of a run: from its creation or resumption to the death of all its processes."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kills import judge, places
from kills.context import Context
from kills.plan import Life, Worker
from kills.read import is_complete, opens
from kills.stage import Process, Say
from kills.worker import work


class Living:
    def __init__(self, context: Context, life: Life, record: Callable[[Say, int], None], can_rotate: bool) -> None:
        self.can_rotate = can_rotate
        self.context, self.life, self.stage, self.reports = context, life, context.stage, context.reports
        for word in ("open", "rotating", "closing", "closed"):
            self.reports.take(word)  # what was said in lives before
        self.close_end, self.close = self.stage.signal_pipe()
        self.stop_end, self.stop = self.stage.signal_pipe()
        self.recorder = self.stage.start("recorder", lambda say: record(say, self.close_end))
        self.workers: dict[int, tuple[Worker, Process]] = {}

    def live(self) -> bool:
        """Runs until all processes are dead. Returns False if the run is complete, so that there was nothing to
        resume."""
        said = self.reports.said
        self.stage.wait_for("the run is open", lambda: self.reports.failures or {"open", "complete"} & set(said))
        self.context.expect_no_failure()
        if "complete" in said:
            self._end()
            return False
        for worker in self.life.workers:
            self._start(worker)
        self._wait_until_attached()
        for strike in self.life.strikes:
            self.stage.pause(strike.delay_s)
            getattr(self, f"_{strike.what}")()
        self.context.expect_no_failure()
        getattr(self, f"_end_by_{self.life.end.what}")()
        self._end()
        return True

    def _start(self, worker: Worker) -> None:
        number, handle = self.context.workers, self.reports.handle
        self.context.workers += 1
        process = self.stage.start(
            f"worker {number}", lambda say: work(say, self.context.plan, worker, number, handle, self.stop_end)
        )
        self.workers[number] = (worker, process)

    def _wait_until_attached(self) -> None:
        def are_attached() -> bool:
            return bool(self.reports.failures) or all(number in self.reports.workers for number in self.workers)

        self.stage.wait_for("all workers are attached", are_attached)
        self.context.expect_no_failure()

    # Strikes

    def _producer(self) -> None:
        self._kill_workers("producer", 1)

    def _producers(self) -> None:
        self._kill_workers("several producers", self.context.chance.randint(1, len(self.workers)))

    def _kill_workers(self, kind: str, count: int) -> None:
        """Starts workers in place of the dead ones."""
        victims = self.context.chance.sample(sorted(self.workers), count)
        fallen = [self.workers.pop(number) for number in victims]
        self.context.kill(kind, [process for _, process in fallen])
        for worker, _ in fallen:
            self._start(worker)
        if self.context.chance.random() < 0.7:
            self._wait_until_attached()

    def _copy(self) -> None:
        """The copy may be refused, because file and journal have different ages, but it never has a wrong value."""
        context = self.context
        to = context.new_folder("copy")
        places.copy(context.place, to, journals_first=context.chance.random() < 0.5)
        context.counts["copies of living runs"] += 1
        for path in places.unfinished(to):
            if not path.exists():
                continue
            word, *_ = context.run(
                "recovery of a copy", partial(places.recover_copy, path=path), ("refused", "recovered")
            )
            if word == "recovered":
                context.judge(self.reports, [path], judge.OF_A_LIVE_COPY)
            else:
                context.counts["copies refused"] += 1

    def _look(self) -> None:
        look(self.context)

    # Ends

    def _end_by_everything(self) -> None:
        self.stage.pause(self.life.end.delay_s)
        self.context.kill("everything", self.stage.alive())

    def _end_by_committer(self) -> None:
        self.stage.pause(self.life.end.delay_s)
        self.context.kill("committer", [self.recorder])
        if self.life.survivors_see_it:  # appending workers are told; the others notice when they finish
            end = [process for _, process in self.workers.values()]
            self.stage.pause(1.2)
            self.stop()
            for process in end:
                self.stage.wait(process)

    def _end_by_close(self) -> None:
        self.stop()
        if self.life.survivors_see_it:
            self._wait_for_workers()
        self.close()
        self.stage.wait_for("the run is being closed", lambda: "closing" in self.reports.said or self.reports.failures)
        self.stage.pause(self.life.end.delay_s)
        if not self.life.survivors_see_it:
            self.context.forgive_refusals()
        self.context.expect_no_failure()
        self.context.kill("close", self.stage.alive())

    def _end_by_rotation(self) -> None:
        self.reports.take("rotating")
        self.stage.wait_until(lambda: "rotating" in self.reports.said, 3 if self.can_rotate else 0)
        self.stage.pause(self.life.end.delay_s)
        self.context.kill("rotation" if self.reports.take("rotating") else "everything", self.stage.alive())

    def _end_by_closed(self) -> None:
        self.stop()
        self._wait_for_workers()
        self.close()
        self.stage.wait(self.recorder)
        self.context.expect_no_failure()
        said = self.reports.take("closed")
        judge.require(said and (said[0][2] == 0 or self.reports.lost_memory), f"close said {said}")
        self.context.counts["runs closed"] += 1

    def _end_by_deleted(self) -> None:
        self._wait_until_attached()
        self.context.path.unlink()
        self.context.counts["files deleted"] += 1
        self.stage.pause(self.life.end.delay_s)
        self.stop()
        self._wait_for_workers()
        self.close()
        self.stage.wait(self.recorder)
        failures = self.reports.failures
        is_told = [text for name, _, text in failures if name == "recorder" and "was removed while it is being" in text]
        judge.require(is_told and len(failures) == 1, f"the file was removed, and close said: {failures}")

    def _wait_for_workers(self) -> None:
        for _, process in self.workers.values():
            self.stage.wait(process)
        self.context.expect_no_failure()

    def _end(self) -> None:
        self.stage.kill(self.stage.alive())
        self.stop()
        self.close()
        os.close(self.close_end)
        os.close(self.stop_end)
        self.context.forgive_failures()


def look(context: Context) -> None:
    """Reads a run that is open, or was left open, as other programs see it: with the rows up to interim metadata. HDF5
    files do not open before the first ones."""
    opened: list[Path] = [Path(path) for path in context.reports.opened if Path(path).exists()]
    for path in opened[-1:]:
        judge.require(path.suffix == ".root" or not is_complete(path), f"{path.name} opens, and is not complete")
        if opens(path):
            context.judge(context.reports, [path], judge.OF_AN_OPEN_FILE)
        context.counts["looks at open files"] += 1
