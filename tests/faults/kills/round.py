"""One round: a run is created, lives and dies as the plan says, is recovered, and is judged."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kills import judge, places, recorder
from kills.context import Context
from kills.life import Living, look
from kills.plan import Life, Plan
from kills.stage import Say


def recover_it(path: Path, say: Say, _: int) -> None:
    places.recover(say, path)


class Round:
    def __init__(self, plan: Plan, folder: Path, keep: bool = False) -> None:
        self.plan, self.keep = plan, keep
        self.context = Context(plan, folder)
        self.stage, self.reports = self.context.stage, self.context.reports
        self.counts = self.context.counts

    def end(self) -> None:
        self.stage.end()

    def save_reports(self, path: Path) -> None:
        self.reports.save(path)

    def play(self) -> None:
        for seconds in self.plan.creations_s:
            self._kill_after(seconds, "creation", self._create)
        is_resumed = False
        for life in self.plan.lives:
            record = self._resume if is_resumed else self._create
            if is_resumed:
                self.reports.taken_over(time.monotonic_ns())
            has_lived = Living(self.context, life, record, self.plan.max_bytes > 0 and not is_resumed).live()
            if has_lived and life.end.what == "deleted":
                return self._give_up()
            if has_lived and life.end.what != "closed":
                self._happen(life)
            is_resumed = has_lived and life.goes_on and self._is_ready_to_go_on(life)
            if not is_resumed:
                self._recover(life.stops_s)
                break
        self.context.judge(self.reports, self.context.files(), judge.COMPLETE)
        return self._expect_nothing_left()

    def _create(self, say: Say, close: int) -> None:
        first = f"run{'-00001' if self.plan.max_bytes else ''}{self.plan.extension}"
        path = self.context.path
        recorder.attend(say, recorder.create_in_place(say, self.plan, path, path.with_name(first)), close)

    def _resume(self, say: Say, close: int) -> None:
        unfinished = places.unfinished(self.context.place)
        if not unfinished:  # it was only begun, and a killed resumption has removed it
            say("complete", "")
        elif file := recorder.resume(say, self.plan, unfinished[0], self.reports.sure_keys()):
            recorder.attend(say, file, close)

    def _kill_after(self, seconds: float, kind: str, work: Callable[[Say, int], None]) -> None:
        close_end, close = self.stage.signal_pipe()
        process = self.stage.start(kind, lambda say: work(say, close_end))
        self.stage.pause(seconds)
        self.context.kill(kind, [process])
        self.context.expect_no_failure()
        self.reports.take("open")
        close()

    def _happen(self, life: Life) -> None:
        """Changes files and memory while no process is alive."""
        context = self.context
        if "closing" not in self.reports.said:
            look(context)
        if life.drops_memory:
            places.drop_memory(self.reports.handles)
            self.reports.memory_lost()
            context.counts["memory dropped"] += 1
        if life.files == "copied":
            self._judge_a_copy()
        if life.files == "moved":
            to = context.new_folder("moved")
            places.move(context.place, to)
            context.place = to
            context.counts["runs moved"] += 1

    def _judge_a_copy(self) -> None:
        context, to = self.context, self.context.new_folder("copy")
        places.copy(context.place, to, journals_first=True)
        context.counts["copies of dead runs"] += 1
        for path in places.unfinished(to):
            context.run("recovery of a copy", partial(places.recover, path=path), ("recovered", "nothing"))
        context.judge(self.reports.without_memory(), sorted(to.glob(f"run*{self.plan.extension}")), judge.COMPLETE)

    def _is_ready_to_go_on(self, life: Life) -> bool:
        """Recovers all files but the last one. Returns False if that one is complete."""
        newest = max([*places.unfinished(self.context.place), *self.context.files()])
        for path in places.unfinished(self.context.place):
            if path != newest:
                self._recover_file(path)
        if not places.unfinished(self.context.place):
            return False
        for seconds in life.stops_s:
            self._kill_after(seconds, "resume", self._resume)
        return True

    def _recover(self, stops_s: tuple[float, ...]) -> None:
        if self.keep:
            places.keep(self.context.place, self.reports.handles, self.context.folder / "as-it-was-left")
        for path in places.unfinished(self.context.place):
            for seconds in stops_s:
                self._kill_after(seconds, "recover", partial(recover_it, path))
            self._recover_file(path)

    def _recover_file(self, path: Path) -> None:
        said = self.context.run("recovery", lambda say: places.recover(say, path), ("recovered", "nothing"))
        if said[0] == "recovered":
            is_lost = said[1] and not self.reports.lost_memory
            judge.require(not is_lost, f"{path.name}: recover says that something is lost: {said}")
        judge.require(path not in places.unfinished(path.parent), f"{path.name}: its journal is there after: {said}")

    def _give_up(self) -> None:
        """The file was removed: its journal must show that there is something."""
        judge.require(places.unfinished(self.context.place), "a run without a file has no journal either")
        places.drop_memory(self.reports.handles)

    def _expect_nothing_left(self) -> None:
        context = self.context
        left = {path.name for path in context.place.iterdir()} - {path.name for path in context.files()}
        judge.require(not left, f"left behind: {sorted(left)}")
        places_ = [path for path in context.folder.iterdir() if path.is_dir() and path.name != "as-it-was-left"]
        _, memory = context.run("memory", lambda say: places.say_memory(say, context.folder, places_), ("memory",))
        judge.require(not memory, f"memory is left behind: {memory}")
