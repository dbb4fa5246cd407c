"""The lives of workers: what functions leave behind, random numbers, open files, and how workers are started."""

import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from derive_cases import EVENTS, check, events, muons, sorted_rows, train, write_input

import thalweg as tw
from thalweg._derive import executors, opened

LATE = 9_002
"""Functions fail in the range that has this event, which is selected, and so not when they are tried."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Path]:
    """A file in which functions note the processes that they leave. They are killed at the end."""
    yield tmp_path / "children"
    if (tmp_path / "children").exists():
        for each in (tmp_path / "children").read_text().split():
            os.kill(int(each), signal.SIGKILL)


def has_late(of: ak.Array) -> bool:
    return LATE in ak.to_numpy(of.event)


def leave_child(note: Path) -> None:
    child = os.fork()
    if child == 0:
        time.sleep(600)
        os._exit(0)
    with note.open("a") as file:
        file.write(f"{child}\n")


def test_the_timeout_covers_the_first_events(inputs: Path, tmp_path: Path) -> None:
    def hangs(_: ak.Array) -> Any:
        time.sleep(600)

    with pytest.raises(tw.Error, match=r"failed on the first events.*killed: they took longer than 1 s"):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", hangs)], workers=2, timeout=1).run()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_child_does_not_hide_the_death_of_its_worker(
    inputs: Path, tmp_path: Path, children: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setenv("CHILDREN", str(children))
    begin = time.monotonic()
    one = [tw.Derivation(tmp_path / "a.root", dies_with_child)]
    with pytest.raises(tw.DerivationError, match="killed by SIGKILL"):
        tw.derive(inputs, one, workers=1, attempts=1, start=start).run()
    assert time.monotonic() - begin < 60  # the child sleeps for ten times as long
    assert len(children.read_text().split()) == 1


def dies_with_child(of: ak.Array) -> dict[str, Any]:
    if has_late(of):
        leave_child(Path(os.environ["CHILDREN"]))
        os.kill(os.getpid(), signal.SIGKILL)
    return {"event": of.event}


def leaves_thread(_: Path) -> None:
    threading.Thread(target=time.sleep, args=(600,)).start()


def leaves_pool(_: Path) -> None:
    ThreadPoolExecutor(1).submit(time.sleep, 600)


def leaves_process(note: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    process.start()
    with note.open("a") as file:
        file.write(f"{process.pid}\n")


@pytest.mark.parametrize("leaves", [leaves_thread, leaves_pool, leaves_process, leave_child])
def test_a_finished_job_does_not_wait_for_what_functions_left(
    inputs: Path, tmp_path: Path, children: Path, leaves: Callable[[Path], None]
) -> None:
    def function(of: ak.Array) -> dict[str, Any]:
        if has_late(of):
            leaves(children)
        return muons(of)

    first, second = train(tmp_path)
    changed = tw.Derivation(first.path, function, select=first.select, summary=first.summary)
    begin = time.monotonic()
    report = tw.derive(inputs, [changed, second], workers=2).run()
    assert time.monotonic() - begin < 60
    check(tmp_path, report)
    assert not any(each.how_it_ended for each in report.workers)


def test_a_worker_that_closes_its_connection_is_replaced(inputs: Path, tmp_path: Path) -> None:
    def closes(of: ak.Array) -> dict[str, Any]:
        if has_late(of) and not (tmp_path / "closed").exists():
            (tmp_path / "closed").touch()
            os.closerange(3, 256)
            time.sleep(600)
        return muons(of)

    report = tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", closes)], workers=2).run()
    assert report.outputs[0].rows == EVENTS
    assert "its connection to the job was closed" in report.failures[0].reason


OWN = np.random.default_rng(5)
OLD = np.random.RandomState(5)
PLAIN = random.Random(5)


def draws(of: ak.Array) -> dict[str, Any]:
    count = len(of)
    return {
        "event": of.event,
        "global": np.random.random(count),
        "plain": np.array([random.random() for _ in range(count)]),
        "own": OWN.random(count),
        "old": OLD.random_sample(count),
        "own_plain": np.array([PLAIN.random() for _ in range(count)]),
    }


def drawn(inputs: Path, path: Path, **options: Any) -> ak.Array:
    tw.derive(inputs, [tw.Derivation(path, draws)], range_bytes=20_000, **options).run()
    return sorted_rows(path)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_no_two_ranges_draw_the_same_numbers(inputs: Path, tmp_path: Path, start: str) -> None:
    rows = drawn(inputs, tmp_path / "a.root", workers=3, start=start, order="input")
    for name in rows.fields:
        assert len(np.unique(ak.to_numpy(rows[name]))) == EVENTS, name
    again = drawn(inputs, tmp_path / "b.root", workers=1, start=start, order="input")
    for name in ("own", "old", "own_plain"):  # the others depend on what the tests have drawn before
        assert ak.array_equal(rows[name], again[name]), name


def test_a_seed_makes_random_numbers_the_same_for_any_number_of_workers(inputs: Path, tmp_path: Path) -> None:
    found = []
    for workers in (1, 3):
        random.seed(1)
        np.random.seed(1)
        found.append(drawn(inputs, tmp_path / f"{workers}.root", workers=workers, order="input"))
    assert ak.array_equal(*found)


def test_derivations_of_a_train_draw_the_same_numbers(inputs: Path, tmp_path: Path) -> None:
    both = [tw.Derivation(tmp_path / f"{name}.root", draws) for name in "ab"]
    tw.derive(inputs, both, workers=2).run()
    assert ak.array_equal(*(sorted_rows(each.path) for each in both))


def draws_in_process(of: ak.Array) -> dict[str, Any]:
    return {"event": of.event, "global": np.random.random(len(of))}


def test_processes_of_an_executor_draw_different_numbers(inputs: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as pool:
        one = [tw.Derivation(tmp_path / "a.root", draws_in_process)]
        tw.derive(inputs, one, executor=pool, range_bytes=20_000).run()
    assert len(np.unique(ak.to_numpy(sorted_rows(tmp_path / "a.root")["global"]))) == EVENTS


@pytest.mark.parametrize("ending", [".root", ".h5", ".tree.root"])
def test_inputs_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(opened, "_MOST_KEPT", 1)  # four trees
    (tmp_path / "in").mkdir()
    paths = [write_input(tmp_path / "in" / f"{number:02d}{ending}", 15 * number, 15) for number in range(40)]
    before = len(os.listdir("/proc/self/fd"))

    def descriptors(of: ak.Array) -> dict[str, Any]:
        return {"event": of.event, "open": np.full(len(of), len(os.listdir("/proc/self/fd")))}

    job = tw.derive(paths, [tw.Derivation(tmp_path / "a.root", descriptors)], workers=2)
    assert len(os.listdir("/proc/self/fd")) <= before + 8
    job.run()
    rows = sorted_rows(tmp_path / "a.root")
    assert rows.event.to_list() == list(range(600))
    assert max(rows.open) < before + 40


def test_pages_are_counted_that_files_had_which_are_closed(tmp_path: Path) -> None:
    paths = [write_input(tmp_path / f"{number:02d}.root", 500 * number, 500) for number in range(25)]
    report = tw.derive(paths, [tw.Derivation(tmp_path / "a.root", keep="*", copy_pages=True)], workers=1).run()
    counted = 0
    for path in paths:
        one = [tw.Derivation(tmp_path / "one.root", keep="*", copy_pages=True)]
        counted += tw.derive(path, one, workers=1, force=True).run().copied_pages
    assert report.copied_pages == counted > 0


def test_threads_work_if_the_process_cannot_be_forked(inputs: Path, tmp_path: Path) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="poller")
    thread.start()
    try:
        with pytest.raises(tw.UsageError, match=r"would lack: poller.*start='spawn'"):
            tw.derive(inputs, train(tmp_path), workers=2, start="fork").run()
        with pytest.raises(tw.UsageError, match=r"timeout= is given.*would lack: poller"):
            tw.derive(inputs, train(tmp_path), workers=2, timeout=60).run()
        assert os.listdir(tmp_path) == []
        report = tw.derive(inputs, train(tmp_path), workers=2).run()
    finally:
        end.set()
        thread.join()
    check(tmp_path, report)
    (note,) = report.notes
    assert re.search(r"threads, as with executor=ThreadPoolExecutor\(2\).*would lack: poller", note)
    assert not executors._sessions


def test_a_notebook_works_by_default(inputs: Path, tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel()
    try:
        said = []
        code = (
            "import awkward as ak, thalweg as tw\n"
            "def derived(of):\n    return {'event': of.event, 'sum_pt': ak.sum(of.Muon_pt, axis=1)}\n"
            f"job = tw.derive({str(inputs)!r}, [tw.Derivation({str(tmp_path / 'a.root')!r}, derived)], workers=2)\n"
            "print(job.run())\n"
        )
        reply = client.execute_interactive(
            code, timeout=120, output_hook=lambda each: said.append(str(each["content"]))
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok", said
    assert any("the workers were threads" in each for each in said)
    assert sorted_rows(tmp_path / "a.root").event.to_list() == list(range(EVENTS))


def dies_once(of: ak.Array) -> dict[str, Any]:
    mark = Path(os.environ["DIED"])
    if has_late(of) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return muons(of)


def always_dies(of: ak.Array) -> dict[str, Any]:
    if has_late(of):
        os.kill(os.getpid(), signal.SIGKILL)
    return muons(of)


def test_a_pool_that_breaks_is_replaced(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, context) as pool:
        one = [tw.Derivation(tmp_path / "a.root", dies_once)]
        report = tw.derive(inputs, one, executor=pool, range_bytes=20_000).run()
    assert report.is_whole
    assert sorted_rows(tmp_path / "a.root").event.to_list() == list(range(EVENTS))
    assert any("the job went on with a new one like it" in each for each in report.notes)


def test_only_the_range_that_breaks_a_pool_is_left_out(inputs: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as pool:
        one = [tw.Derivation(tmp_path / "a.root", always_dies)]
        report = tw.derive(inputs, one, executor=pool, range_bytes=20_000, on_error="skip", attempts=2).run()
    (skipped,) = report.skipped
    assert skipped.start <= LATE < skipped.stop
    left = [*range(skipped.start), *range(skipped.stop, EVENTS)]
    assert sorted_rows(tmp_path / "a.root").event.to_list() == left


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": -1}, "timeout cannot be -1"),
        ({"timeout": 0}, "timeout cannot be 0"),
        ({"timeout": float("nan")}, "timeout cannot be nan"),
        ({"timeout": "60s"}, "timeout cannot be '60s'"),
        ({"range_bytes": -5}, "range_bytes cannot be -5"),
        ({"range_bytes": 0}, "range_bytes cannot be 0"),
        ({"range_bytes": 1.5}, "range_bytes cannot be 1.5"),
        ({"ranges_per_group": 0, "order": "input"}, "ranges_per_group cannot be 0"),
        ({"attempts": 0}, "attempts cannot be 0"),
        ({"attempts": 2.5}, "attempts cannot be 2.5"),
        ({"workers": True}, "workers cannot be True"),
        ({"workers": -2}, "workers cannot be -2"),
        ({"node_timeout": -1}, "node_timeout cannot be -1"),
        ({"nodes": -1}, "nodes cannot be -1"),
        ({"order": None}, "order cannot be None"),
        ({"resume": "yes"}, "resume cannot be 'yes'"),
    ],
)
def test_wrong_numbers_are_refused(inputs: Path, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(tw.UsageError, match=said):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", muons)], **options)


def test_folders_are_looked_at_before_anything_is_tried(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.root").mkdir()
    (tmp_path / "file").touch()
    for name, said in [
        ("no/such/a.root", r"a.root cannot be created in .*no/such \(there is no such folder\): make the folder first"),
        ("file/a.root", "it is not a folder"),
        ("folder.root", r"folder.root cannot be created \(it is a folder\)"),
    ]:
        with pytest.raises(tw.UsageError, match=said):
            tw.derive(inputs, [tw.Derivation(tmp_path / name, muons)])


@pytest.mark.parametrize("ending", [".root", ".h5"])
def test_values_that_may_be_missing_are_found_by_their_types(inputs: Path, tmp_path: Path, ending: str) -> None:
    def function(of: ak.Array) -> dict[str, Any]:
        is_there = of.event < EVENTS - 1  # all but the last event
        met = ak.to_numpy(of.MET_pt)
        return {
            "event": of.event,
            "first": ak.firsts(ak.singletons(ak.mask(of.MET_pt, is_there))),
            "text": ak.mask(of.label, is_there),
            "masked": np.ma.MaskedArray(met, ~ak.to_numpy(is_there)),
            "largest": ak.max(ak.singletons(ak.mask(of.MET_pt, is_there)), axis=1),
        }

    path = tmp_path / f"a{ending}"
    tw.derive(inputs, [tw.Derivation(path, function)], workers=2, attempts=1, range_bytes=20_000).run()
    rows = sorted_rows(path)
    expected = function(events())
    for name in ("first", "text", "largest", "masked"):
        assert rows[name].to_list() == ak.to_list(ak.Array(expected[name])), name
        assert rows[name].to_list()[-1] is None


def test_records_that_may_be_missing_are_refused_at_the_trial(inputs: Path, tmp_path: Path) -> None:
    def function(of: ak.Array) -> dict[str, Any]:
        return {"jet": ak.firsts(of.Jet)}

    with pytest.raises(tw.UsageError, match=r"column 'jet' may have missing values.*ak.fill_none"):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", function)]).run()
    assert os.listdir(tmp_path) == []


SEEDED = """import sys, random, numpy as np, thalweg as tw
def f(of):
    n = len(of)
    return {"event": of.event, "a": np.array([random.uniform(0, 1) for _ in range(n)]), "b": np.random.random(n),
            "c": np.array([random.choice([1, 2, 3, 4]) for _ in range(n)])}
if __name__ == "__main__":
    LIBRARY.seed(1)
    tw.derive(sys.argv[1], [tw.Derivation(sys.argv[2], f)], workers=2, order="input", range_bytes=20_000,
              start=sys.argv[3]).run()
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize(("library", "same"), [("np.random", "b"), ("random", "ac")])
def test_a_seed_of_one_library_makes_its_numbers_the_same(
    inputs: Path, tmp_path: Path, start: str, library: str, same: str
) -> None:
    (tmp_path / "program.py").write_text(SEEDED.replace("LIBRARY", library))
    for name in "xy":
        command = [sys.executable, "program.py", str(inputs), f"{name}.root", start]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    x, y = (sorted_rows(tmp_path / f"{name}.root") for name in "xy")
    for column in same:
        assert ak.array_equal(x[column], y[column]), column


SYSTEM = random.SystemRandom()


def test_a_generator_without_a_state_is_left_alone(inputs: Path, tmp_path: Path) -> None:
    def function(of: ak.Array) -> dict[str, Any]:
        return {"event": of.event, "x": np.full(len(of), SYSTEM.random())}

    report = tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", function)], workers=2).run()
    assert report.outputs[0].rows == EVENTS
