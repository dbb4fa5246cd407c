"""Derivations that fail: functions that raise, hang, or end their process; wrong input, wrong options, a full disk."""

import ctypes
import faulthandler
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from derive_cases import EVENTS, ROW, check, events, muons, train, write_input

import thalweg as tw

BAD = 5_003
"""The event on which functions fail."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def raises() -> None:
    raise ZeroDivisionError("as it was told")


def crashes() -> None:
    faulthandler.disable()  # pytest's would tell it at length
    ctypes.string_at(0)


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hangs() -> None:
    time.sleep(1000)


def exits() -> None:
    sys.exit(3)


FAILURES = [
    (raises, "ZeroDivisionError: as it was told"),
    (crashes, "SIGSEGV"),
    (is_killed, "SIGKILL.*if memory runs out"),
    (hangs, "longer than 8 s"),
    (exits, "SystemExit: 3"),
]


def failing(fail: Callable[[], None], marks: Path | None = None) -> Callable[[Any], Any]:
    """Fails in the range that has the event; with `marks` the first two times only."""

    def function(of: ak.Array) -> dict[str, Any]:
        if BAD in ak.to_numpy(of.event):
            times = len(list(marks.iterdir())) if marks else 0
            if times < 2:
                if marks:
                    (marks / str(times)).touch()
                fail()
        return muons(of)

    return function


@pytest.mark.parametrize(("fail", "said"), FAILURES)
def test_what_fails_is_tried_again(inputs: Path, tmp_path: Path, fail: Callable[[], None], said: str) -> None:
    (tmp_path / "marks").mkdir()
    (tmp_path / "out").mkdir()
    first, second = train(tmp_path / "out")
    failing_one = tw.Derivation(
        first.path, failing(fail, tmp_path / "marks"), select=first.select, summary=first.summary
    )
    report = tw.derive(inputs, [failing_one, second], workers=2, timeout=8 if fail is hangs else None).run()
    check(tmp_path / "out", report)
    (failure,) = report.failures
    assert failure.attempts == 2
    assert not failure.skipped
    assert failure.start <= BAD < failure.stop
    assert re.search(said, failure.reason)
    assert ("in raises" in failure.text) == (fail is raises)


@pytest.mark.parametrize(("fail", "said"), FAILURES)
def test_what_goes_on_failing_is_left_out(inputs: Path, tmp_path: Path, fail: Callable[[], None], said: str) -> None:
    both = [tw.Derivation(tmp_path / "a.root", failing(fail)), tw.Derivation(tmp_path / "b.h5", keep="event")]
    timeout = 8 if fail is hangs else None
    report = tw.derive(inputs, both, workers=2, timeout=timeout, on_error="skip", attempts=2).run()
    (failure,) = report.skipped
    assert re.search(said, failure.reason)
    assert (failure.attempts, failure.path) == (2, str(inputs))
    assert not report.is_whole
    expected = [*range(failure.start), *range(failure.stop, EVENTS)]
    for output in report.outputs:
        assert sorted(tw.open(output.path)["Events"].read(["event"])["event"]) == expected
        assert '"skipped":[[' in tw.open(output.path).metadata["derive.result"]
    assert f"events {failure.start} to {failure.stop} are left out" in str(report)


@pytest.mark.parametrize("on_error", ["retry", "stop"])
def test_a_job_that_stops_can_be_resumed(inputs: Path, tmp_path: Path, on_error: str) -> None:
    function = failing(raises)
    both = [tw.Derivation(tmp_path / "a.root", function), tw.Derivation(tmp_path / "b.h5", keep="event")]
    with pytest.raises(tw.DerivationError, match="ZeroDivisionError") as stopped:
        tw.derive(inputs, both, workers=2, on_error=on_error).run()
    assert stopped.value.report.failures[0].attempts == (3 if on_error == "retry" else 1)
    assert "in raises" in stopped.value.report.failures[0].text
    report = tw.derive(inputs, both, workers=2, on_error="skip", resume=True).run()
    assert len(report.skipped) == 1
    done = sum(len(tw.open(output.path)["Events"]) for output in report.outputs)
    assert done == 2 * (EVENTS - report.skipped[0].stop + report.skipped[0].start)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda of: {"a": of.event[:-1]}, "column 'a' has 11|rows instead of"),
        (lambda of: {"a": of.event, "b": of.MET_pt[1:]}, "column 'b' has"),
        (lambda _: {"a": 5}, "is 5: return one row"),
        (lambda of: of.event, "return a dictionary of columns"),
        (lambda _: {}, "return a dictionary of columns"),
        (lambda of: {"a": [[] for _ in range(len(of))]}, "give schema="),
        (lambda of: {"a": of.nothing}, "no field 'nothing'"),
        (lambda of: {"a": np.array(["x"] * len(of), object)}, "'a'"),
    ],
)
def test_wrong_results_are_told_before_anything_is_written(
    inputs: Path, tmp_path: Path, returned: Any, said: str
) -> None:
    with pytest.raises(tw.UsageError, match=said):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", returned)], workers=1).run()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("later", "said"),
    [
        ({"a": np.float64}, "float64"),
        ({"a": np.int32, "b": np.int32}, "no field 'b'"),
        ({}, "return a dictionary"),
    ],
)
def test_results_that_change_half_way(inputs: Path, tmp_path: Path, later: dict[str, Any], said: str) -> None:
    def function(of: ak.Array) -> dict[str, Any]:
        types = later if of.event[0] > BAD else {"a": np.int32}
        return {name: np.zeros(len(of), dtype) for name, dtype in types.items()}

    with pytest.raises(tw.DerivationError, match=said):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", function)], workers=2).run()


@pytest.mark.parametrize(
    ("select", "said"),
    [
        (lambda of: of.event, "bools, one for each event"),
        (lambda of: (of.event > 5)[:-1], "bools, one for each event"),
        (lambda of: of.Muon_pt > 5, "bool"),
        (lambda _: True, "bools, one for each event"),
        (lambda of: ak.firsts(of.Muon_pt) > 5, "ak.fill_none"),
    ],
)
def test_wrong_selections(inputs: Path, tmp_path: Path, select: Any, said: str) -> None:
    with pytest.raises(tw.UsageError, match=said):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", muons, select=select)], workers=1).run()


def test_a_function_that_ends_its_process_on_the_first_events(inputs: Path, tmp_path: Path) -> None:
    with pytest.raises(tw.Error, match=r"failed on the first events.*SIGKILL"):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", lambda _: is_killed())], workers=1).run()


def children_of(process: int) -> set[int]:
    return {int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def test_another_worker_may_die_while_the_functions_are_tried(inputs: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "out").mkdir()
    first, second = train(tmp_path / "out")
    before = children_of(os.getpid())  # such as those that watch over resources of the tests

    def kills_the_others(of: ak.Array) -> dict[str, Any]:
        if not mark.exists():
            mark.touch()
            for each in children_of(os.getppid()) - before - {os.getpid()}:
                os.kill(each, signal.SIGKILL)
            time.sleep(1)  # until that is noticed
        return muons(of)

    killing = tw.Derivation(first.path, kills_the_others, select=first.select, summary=first.summary)
    report = tw.derive(inputs, [killing, second], workers=2).run()
    check(tmp_path / "out", report)
    assert [each.how_it_ended for each in report.workers if "SIGKILL" in each.how_it_ended]


def test_wrong_inputs(inputs: Path, tmp_path: Path) -> None:
    one = [tw.Derivation(tmp_path / "a.root", muons)]
    other = dict(ROW, MET_pt=tw.float64)
    write_input(tmp_path / "other.h5", 0, 10, other)
    damaged = tmp_path / "damaged.root"
    damaged.write_bytes(inputs.read_bytes()[:-20_000])
    for given, said in [
        (tmp_path / "none.root", "none.root"),
        (f"{tmp_path}/*.none", "no file matches"),
        ([], "has no input"),
        (f"{inputs}:Nothing", "no table 'Nothing'; its tables are Events"),
        ([inputs, inputs], "given twice"),
        (
            [inputs, tmp_path / "other.h5"],
            r"other.h5: column 'MET_pt' of table 'Events' is float64, but float32 \(GeV\) in",
        ),
        (damaged, "damaged.root"),
    ]:
        with pytest.raises(tw.Error, match=said):
            tw.derive(given, one)
    for wrong, said in [
        ({"workers": 0}, "workers cannot be 0"),
        ({"order": "size"}, "order cannot be 'size'"),
        ({"on_error": "wait"}, "on_error cannot be"),
        ({"start": "thread"}, "give 'fork' or 'spawn'"),
        ({"train": []}, "no derivation"),
        ({"train": one * 2}, "output of two derivations"),
        ({"train": [tw.Derivation(inputs, muons)]}, "is both input and output"),
        ({"train": [tw.Derivation(tmp_path / "a.root", keep="Nope_*")]}, "keep='Nope_\\*' matches no column"),
        ({"train": [tw.Derivation(tmp_path / "a.h5", muons)], "order": "input"}, "only RNTuple files can"),
    ]:
        with pytest.raises(tw.UsageError, match=said):
            tw.derive(**{"inputs": inputs, "train": one, **wrong}).run()
    with pytest.raises(tw.UsageError, match="no columns"):
        tw.Derivation("a.root")
    with pytest.raises(tw.UsageError, match="is kept, and the function returns it"):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", muons, keep="event")]).run()
    assert not (tmp_path / "a.root").exists()


def test_a_damaged_page_is_named(inputs: Path, tmp_path: Path) -> None:
    content = bytearray(inputs.read_bytes())
    begin = len(content) // 2
    content[begin : begin + 64] = bytes(64)
    damaged = tmp_path / "damaged.root"
    damaged.write_bytes(content)
    report = tw.derive(damaged, [tw.Derivation(tmp_path / "a.root", keep="*")], workers=2, on_error="skip").run()
    assert report.skipped
    assert "damaged.root" in report.skipped[0].reason
    found = set(tw.open(tmp_path / "a.root")["Events"].read(["event"])["event"].tolist())
    missing = {event for each in report.skipped for event in range(each.start, each.stop)}
    assert found == set(range(EVENTS)) - missing


def test_columns_that_not_all_files_have(inputs: Path, tmp_path: Path) -> None:
    row = {name: type_ for name, type_ in ROW.items() if name != "MET_phi"}
    less = write_input(tmp_path / "less.root", EVENTS, 1000, row)
    (tmp_path / "out").mkdir()
    one = tw.Derivation(tmp_path / "out" / "a.root", keep=["MET_*", "event"])
    report = tw.derive([inputs, less], [one], workers=2).run()
    assert not report.is_whole
    assert "less.root does not have it" in str(report.left_out[0])
    assert list(tw.open(one.path)["Events"].schema) == ["event", "MET_pt"]
    with pytest.raises(tw.UsageError, match="column 'MET_phi' cannot be kept"):
        tw.derive([inputs, less], [tw.Derivation(tmp_path / "b.root", keep="MET_phi")])


def test_a_full_disk_stops_the_job_which_can_be_resumed(inputs: Path, tmp_path: Path) -> None:
    """A limit of the process on the size of files stands for the disk."""
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from derive_cases import *
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tuning = {{"allocate_ahead_bytes": "1 MiB", "extent_bytes": "64 KiB", **SMALL}}
one = tw.Derivation({str(tmp_path / "a.root")!r}, keep="*", tuning=tuning, codec="none")
report = tw.derive({str(inputs)!r}, [one], workers=2, resume=sys.argv[2] == "resume").run()
assert report.is_whole
"""

    def run(limit: int, how: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", program, str(limit), how]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    stopped = run(2 << 19, "begin")
    assert stopped.returncode == 1
    assert "DerivationError" in stopped.stderr or "SystemError" in stopped.stderr, stopped.stderr
    done = run(resource.RLIM_INFINITY, "resume")
    assert done.returncode == 0, done.stderr
    found = tw.open(tmp_path / "a.root")["Events"].read().to_awkward()
    assert ak.array_equal(found[ak.argsort(found.event)], events())
