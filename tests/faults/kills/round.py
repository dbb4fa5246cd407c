"""One round: a run is created, lives and dies as the plan says, is recovered, and is judged."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kills import judge, places, recorder
from kills.life import Living, look
from kills.plan import Life, Plan
from kills.scene import Scene
from kills.stage import Say


def recover_it(path: Path, say: Say, _: int) -> None:
    places.recover(say, path)


class Round:
    def __init__(self, plan: Plan, folder: Path, keep: bool = False) -> None:
        self.plan, self.keep = plan, keep
        self.scene = Scene(plan, folder)
        self.stage, self.story = self.scene.stage, self.scene.story

    def play(self) -> None:
        for seconds in self.plan.creations_s:
            self._kill_after(seconds, "creation", self._create)
        is_resumed = False
        for life in self.plan.lives:
            record = self._resume if is_resumed else self._create
            if is_resumed:
                self.story.taken_over(time.monotonic_ns())
            has_lived = Living(self.scene, life, record, self.plan.max_bytes > 0 and not is_resumed).live()
            if has_lived and life.end.what == "deleted":
                return self._give_up()
            if has_lived and life.end.what != "closed":
                self._happen(life)
            is_resumed = has_lived and life.goes_on and self._is_ready_to_go_on(life)
            if not is_resumed:
                self._recover(life.stops_s)
                break
        self.scene.judge(self.story, self.scene.files(), judge.COMPLETE)
        return self._expect_nothing_left()

    def _create(self, say: Say, close: int) -> None:
        first = f"run{'-00001' if self.plan.max_bytes else ''}{self.plan.extension}"
        path = self.scene.path
        recorder.attend(say, recorder.create_in_place(say, self.plan, path, path.with_name(first)), close)

    def _resume(self, say: Say, close: int) -> None:
        path = places.unfinished(self.scene.place)[0]
        if file := recorder.resume(say, self.plan, path, self.story.sure_keys()):
            recorder.attend(say, file, close)

    def _kill_after(self, seconds: float, kind: str, work: Callable[[Say, int], None]) -> None:
        close_end, close = self.stage.signal_pipe()
        process = self.stage.start(kind, lambda say: work(say, close_end))
        self.stage.pause(seconds)
        self.scene.kill(kind, [process])
        self.scene.expect_no_failure()
        self.story.take("open")
        close()

    def _happen(self, life: Life) -> None:
        """What becomes of files and memory when nobody is alive."""
        scene = self.scene
        if "closing" not in self.story.said:
            look(scene)
        if life.drops_memory:
            places.drop_memory(self.story.handles)
            self.story.memory_lost()
            scene.counts["memory dropped"] += 1
        if life.files == "copied":
            self._judge_a_copy()
        if life.files == "moved":
            to = scene.new_folder("moved")
            places.move(scene.place, to)
            scene.place = to
            scene.counts["runs moved"] += 1

    def _judge_a_copy(self) -> None:
        scene, to = self.scene, self.scene.new_folder("copy")
        places.copy(scene.place, to, journals_first=True)
        scene.counts["copies of dead runs"] += 1
        for path in places.unfinished(to):
            scene.run("recovery of a copy", partial(places.recover, path=path), ("recovered", "nothing"))
        scene.judge(self.story.without_memory(), sorted(to.glob(f"run*{self.plan.extension}")), judge.COMPLETE)

    def _is_ready_to_go_on(self, life: Life) -> bool:
        """All files but the one that was written last are recovered. False: that one is complete."""
        newest = Path(self.story.opened[-1]).name
        for path in places.unfinished(self.scene.place):
            if path.name != newest:
                self._recover_file(path)
        if not places.unfinished(self.scene.place):
            return False
        for seconds in life.stops_s:
            self._kill_after(seconds, "resume", self._resume)
        return True

    def _recover(self, stops_s: tuple[float, ...]) -> None:
        if self.keep:
            places.keep(self.scene.place, self.story.handles, self.scene.folder / "as-it-was-left")
        for path in places.unfinished(self.scene.place):
            for seconds in stops_s:
                self._kill_after(seconds, "recover", partial(recover_it, path))
            self._recover_file(path)

    def _recover_file(self, path: Path) -> None:
        said = self.scene.run("recovery", lambda say: places.recover(say, path), ("recovered", "nothing"))
        if said[0] == "recovered":
            is_lost = said[1] and not self.story.lost_memory
            judge.require(not is_lost, f"{path.name}: recover says that something is lost: {said}")
        judge.require(path not in places.unfinished(path.parent), f"{path.name}: its journal is there after: {said}")

    def _give_up(self) -> None:
        """The file was removed: its journal says to whoever comes that there is something."""
        judge.require(places.unfinished(self.scene.place), "a run without a file has no journal either")
        places.drop_memory(self.story.handles)

    def _expect_nothing_left(self) -> None:
        scene = self.scene
        left = {path.name for path in scene.place.iterdir()} - {path.name for path in scene.files()}
        judge.require(not left, f"left behind: {sorted(left)}")
        places_ = [path for path in scene.folder.iterdir() if path.is_dir() and path.name != "as-it-was-left"]
        _, memory = scene.run("memory", lambda say: places.say_memory(say, scene.folder, places_), ("memory",))
        judge.require(not memory, f"memory is left behind: {memory}")
