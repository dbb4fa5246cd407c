"""A folder as another machine sees it whose file system caches attributes and names: each node has its own bindfs.

    python tests/judges/cached_folder.py --seed 7 --rounds 10

`seen_through_cache` mounts such a view. A round lets 2 to 4 nodes record into one folder, each through its own view.
The file must have all rows, or a node must end with an error, and nothing is lost without a word.
"""

import contextlib
import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

import expected  # noqa: E402
import mounted  # noqa: E402
import reading  # noqa: E402
from kills.campaign import shortened  # noqa: E402
from result import Result, play_rounds, work_folder  # noqa: E402

LONGEST_S = 120
NODE_TIMEOUT_S = 20


@dataclass(frozen=True)
class Cache:
    """How long, in seconds, a view trusts what it has seen. Without any of it a view is a control."""

    attributes_s: float = 0
    names_s: float = 0
    missing_names_s: float = 0


CACHES = (Cache(1), Cache(10), Cache(1, 1, 1), Cache(10, 10, 1), Cache(0, 0, 1), Cache())


@contextlib.contextmanager
def seen_through_cache(folder: Path, view: Path, cache: Cache) -> Iterator[Path]:
    """Mounts the folder once more, at `view`, and yields the view."""
    view.mkdir(parents=True, exist_ok=True)
    options = (
        f"attr_timeout={cache.attributes_s},entry_timeout={cache.names_s},negative_timeout={cache.missing_names_s}"
    )
    with mounted.daemon(["bindfs", "-f", "-o", options, folder, view], lambda: os.path.ismount(view)):
        try:
            yield view
        finally:
            mounted.detach(view)


@dataclass(frozen=True)
class Plan:
    nodes: int
    cache: Cache
    extension: str
    rows: int  # of each node
    batch: int
    pauses_s: tuple[float, ...]  # of each node, so that they do not end at once
    codec: str

    @property
    def file(self) -> str:
        return f"run{self.extension}"


def choose(seed: int) -> Plan:
    any_ = random.Random(seed)
    nodes, extension = any_.choice([2, 2, 3, 4]), any_.choice([".h5", ".root"])
    codec = any_.choice(["none", "lz4"]) if extension == ".h5" else "zstd"
    pauses = tuple(any_.choice([0.0, 0.005, 0.02]) for _ in range(nodes))
    return Plan(nodes, any_.choice(CACHES), extension, any_.choice([400, 2000]), any_.choice([50, 200]), pauses, codec)


def be_node(plan: Plan, path: Path, node: int) -> dict[str, Any]:
    """Records the rows of one node, and returns what its report says."""
    import thalweg as tw

    options = {"nodes": plan.nodes, "node_timeout": NODE_TIMEOUT_S}
    schema = expected.schema()
    if node == 1:
        tuning = {"flush_interval": 0.05, "allocate_ahead_bytes": 4 << 20}
        out = tw.create(path, schema, codec=plan.codec, tuning=tuning, **options)
    else:
        out = tw.join(path, node=node, schema=schema, **options)
    with out.producer("events") as producer:
        for begin in range(0, plan.rows, plan.batch):
            producer.append(**expected.rows(node, begin, begin + plan.batch))
            time.sleep(plan.pauses_s[node - 1])
    report = out.close(60)
    return {"rows": report.rows, "whole": report.is_whole}


def start(plan: Plan, view: Path, node: int) -> tuple[int, int]:
    reading_, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading_
    try:
        answer = be_node(plan, view / plan.file, node)
    except BaseException as error:
        answer = {"error": shortened(f"{type(error).__name__}: {error}")}
    os.write(writing, json.dumps(answer).encode())
    os._exit(0)


def wait(child: int, pipe: int, end_s: float) -> dict[str, Any]:
    ready, _, _ = select.select([pipe], [], [], max(0, end_s - time.monotonic()))
    text = os.read(pipe, 60_000) if ready else b""
    os.close(pipe)
    if not ready:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not ready:
        return {"hangs": True}
    answer: dict[str, Any] = json.loads(text) if text else {"error": "the node ended without a word"}
    return answer


def play(seed: int) -> Result:
    """Plays a round in this process, which must have mounts of its own."""
    with mounted.folder_in_memory(work_folder()) as work:
        return play_in(work, seed)


def play_in(work: Path, seed: int) -> Result:
    plan = choose(seed)
    result = Result(Counter({"cached folders": 1, f"cached folders: {plan.nodes} nodes": 1}))
    folder = work / "folder"
    folder.mkdir()
    with contextlib.ExitStack() as views:
        where = [
            views.enter_context(seen_through_cache(folder, work / f"view-{node}", plan.cache))
            for node in range(1, plan.nodes + 1)
        ]
        nodes = [start(plan, view, index + 1) for index, view in enumerate(where)]
        end_s = time.monotonic() + LONGEST_S
        answers = [wait(*node, end_s) for node in nodes]
    wrong = judge(plan, folder, answers)
    if any("error" in answer for answer in answers):
        result.counts["cached folders: an error is said"] += 1
    again = f"python tests/judges/cached_folder.py --seed {seed} --rounds 1"
    result.wrong = [f"seed {seed}, {plan}: {each} ({answers})\n  to repeat: {again}" for each in wrong]
    return result


def judge(plan: Plan, folder: Path, answers: list[dict[str, Any]]) -> list[str]:
    """Compares the file with what the nodes have appended. After an error, the run is recovered first."""
    import thalweg as tw

    if any("hangs" in answer for answer in answers):
        return [f"a node hangs for more than {LONGEST_S} s"]
    path, errors = folder / plan.file, [answer["error"] for answer in answers if "error" in answer]
    if errors and path.with_name(f"{path.name}.parts").exists():
        try:
            tw.recover(path, all_nodes_are_down=True)
        except tw.Error as error:
            if "complete" not in str(error):
                return [f"after the error of a node: {error}"]
    if len(errors) == len(answers) and not path.exists():
        return []  # it was not begun
    try:
        found = reading.read(path)
    except reading.NotOpenError as error:
        return [f"the file does not open: {error}"]
    wrong = found.wrong_values()
    for index, answer in enumerate(answers):
        there = found.by_producer.get(index + 1, [])
        if list(there) != list(range(len(there))):
            wrong.append(f"node {index + 1}: the rows are no prefix")
        if len(there) < plan.rows and "error" not in answer:
            wrong.append(f"node {index + 1} ended well, and {len(there)} of its {plan.rows} rows are there")
    return wrong + [f"left behind: {name}" for name in left_behind(folder, path, plan.cache)]


def left_behind(folder: Path, path: Path, cache: Cache) -> list[str]:
    """Returns what should not be there. With cached names, a node that does not yet see that the run is complete may
    give one more sign of life, in a folder of its own."""
    left = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each != path)
    if not cache.names_s:
        return left
    beats = f"{path.name}.parts"
    return [name for name in left if name != beats and not name.startswith(f"{beats}/beats-")]


if __name__ == "__main__":
    sys.exit(play_rounds("Records with nodes that see their folder through caches.", play))
