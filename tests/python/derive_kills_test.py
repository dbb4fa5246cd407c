"""Jobs whose workers are killed, or all at once, and that are resumed, give what an undisturbed job gives, exactly."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot
from derive_cases import sorted_rows, write_input

import thalweg as tw


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def start(inputs: Path, folder: Path, ending: str, order: str, workers: int) -> subprocess.Popen[str]:
    words = [sys.executable, str(Path(__file__).with_name("derive_program.py")), inputs, folder, ending, order, workers]
    return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(job: subprocess.Popen[str]) -> str:
    said, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors
    return said


def undisturbed(inputs: Path, folder: Path, ending: str, order: str, workers: int) -> Path:
    folder.mkdir()
    finished(start(inputs, folder, ending, order, workers))
    return folder


def children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def disturbed(inputs: Path, folder: Path, ending: str, order: str, workers: int, kills: int, seed: int) -> int:
    """Kills that many times, workers or all, and lets the job come to its end. Returns how many workers it killed."""
    folder.mkdir()
    choose, killed, is_going = random.Random(seed), 0, False
    job = start(inputs, folder, ending, order, workers)
    try:
        for _ in range(kills):
            if not is_going and choose.random() < 0.8:  # while ranges are done; else at any time
                assert job.stdout
                is_going = bool(job.stdout.readline())
            with suppress(subprocess.TimeoutExpired):
                job.wait(choose.random() * 0.4)
                break
            victims = children(job.pid)
            # A worker that dies while the functions are tried ends the job, which says so.
            if is_going and victims and choose.random() < 0.7:
                kill(choose.choice(victims))
                killed += 1
            else:
                job.kill()
                job.communicate()
                job, is_going = start(inputs, folder, ending, order, workers), False
        finished(job)
    finally:
        job.kill()
        job.communicate()
    return killed


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def facts(folder: Path, ending: str) -> list[Any]:
    """Summaries of all ranges, what is made of them, and the rows, of both outputs."""
    found: list[Any] = []
    for name in ("muons", "lite"):
        run = tw.open(folder / f"{name}{ending}")
        found.append({unit.key: unit.summary for unit in run.units})
        found.append(run.metadata["derive.result"])
    return found


def same(first: Path, second: Path, ending: str) -> None:
    assert facts(first, ending) == facts(second, ending)
    for name in ("muons", "lite"):
        a, b = (sorted_rows(folder / f"{name}{ending}") for folder in (first, second))
        assert ak.array_equal(a, b, dtype_exact=True)


def pages(path: Path) -> list[Any]:
    """Of each cluster and column: rows counted, and the bytes of each page."""
    content, found = path.read_bytes(), []
    with uproot.open(path) as file:
        for cluster, columns in enumerate(file["Events"].page_link_list):
            for column, description in enumerate(columns):
                bytes_of = [content[page.locator.offset :][: page.locator.num_bytes] for page in description.pages]
                found.append((cluster, column, [page.num_elements for page in description.pages], bytes_of))
    return found


@pytest.mark.parametrize(("ending", "workers"), [(".root", 2), (".h5", 3)])
def test_whatever_is_killed_the_outputs_are_the_same(
    inputs: Path, tmp_path: Path, ending: str, workers: int, long_mode: bool
) -> None:
    expected = undisturbed(inputs, tmp_path / "alone", ending, "any", workers)
    assert len(facts(expected, ending)[0]) > 20
    killed = 0
    for seed in range(20):
        folder = tmp_path / f"killed{seed}"
        killed += disturbed(inputs, folder, ending, "any", workers, 12, seed)
        same(expected, folder, ending)
        if killed > 3 and seed > 0 and not long_mode:  # the faster the machine is, the fewer meet a job that still runs
            break
    assert killed > 3


def test_in_the_order_of_the_input_pages_are_the_same_too(inputs: Path, tmp_path: Path, long_mode: bool) -> None:
    expected = undisturbed(inputs, tmp_path / "alone", ".root", "input", 1)
    events = tw.open(expected / "muons.root")["Events"].read(["event"])["event"]
    assert (events[1:] > events[:-1]).all()
    for workers, kills in ((2, 0), (4, 12), *([(3, 12)] * (20 if long_mode else 0))):
        folder = tmp_path / f"{workers}.{kills}"
        disturbed(inputs, folder, ".root", "input", workers, kills, workers)
        same(expected, folder, ".root")
        for name in ("muons.root", "lite.root"):
            assert pages(folder / name) == pages(expected / name)
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_ctrl_c_once_stops_cleanly_and_twice_at_once(inputs: Path, tmp_path: Path) -> None:
    expected = undisturbed(inputs, tmp_path / "alone", ".root", "any", 2)
    folder = tmp_path / "interrupted"
    folder.mkdir()
    for interrupts in (1, 2):
        job = start(inputs, folder, ".root", "any", 2)
        assert job.stdout
        assert job.stdout.readline() == "ranges are being done\n"
        for _ in range(interrupts):
            job.send_signal(signal.SIGINT)
            time.sleep(0.01)
        _, errors = job.communicate(timeout=120)
        assert job.returncode != 0
        assert "KeyboardInterrupt" in errors
        assert "resume=True" in errors
        assert (folder / "lite.root.journal").exists()
    finished(start(inputs, folder, ".root", "any", 2))
    same(expected, folder, ".root")
