"""Derivations by the workers of an executor."""

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from derive_cases import EVENTS, check, muons, train, two_muons, write_input

import thalweg as tw
from thalweg._derive import executors
from thalweg._derive.nodes import NodePlace


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


@pytest.fixture(scope="module", params=["processes", "threads"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
            yield processes


def met(of: Any) -> Any:
    return of.MET_pt > 30


def picklable(folder: Path, ending: str = ".root") -> list[tw.Derivation]:
    first, second = train(folder, ending)
    return [first, replace(second, select={"two muons": two_muons, "met": met})]


@pytest.mark.parametrize(("ending", "order"), [(".root", "any"), (".h5", "any"), (".root", "input")])
def test_an_executor_does_it(inputs: Path, tmp_path: Path, executor: Executor, ending: str, order: str) -> None:
    both = picklable(tmp_path, ending)
    report = tw.derive(inputs, both, executor=executor, order=order, range_bytes=100_000).run()
    check(tmp_path, report, ending)
    assert report.columns == ["MET_phi", "MET_pt", "Muon_pt", "event", "label", "weight"]
    assert sum(each.events for each in report.workers) == EVENTS


def raises_late(of: Any) -> dict[str, Any]:
    if len(of) and of.event[0] > EVENTS // 2 and not Path(os.environ["MAY_PASS"]).exists():
        raise RuntimeError("not yet")
    return muons(of)


def dies_late(of: Any) -> dict[str, Any]:
    if len(of) and of.event[0] > EVENTS // 2 and not Path(os.environ["MAY_PASS"]).exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return muons(of)


@pytest.mark.parametrize(("function", "said"), [(raises_late, "not yet"), (dies_late, "lost a call")])
def test_a_job_that_stops_is_resumed(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: Callable[[Any], Any], said: str
) -> None:
    monkeypatch.setenv("MAY_PASS", str(tmp_path / "pass"))
    (tmp_path / "out").mkdir()
    first, second = picklable(tmp_path / "out")
    both = [replace(first, function=function), second]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool, pytest.raises(tw.DerivationError, match=said):
        tw.derive(inputs, both, executor=pool, range_bytes=20_000).run()
    (tmp_path / "pass").touch()
    with ProcessPoolExecutor(2, context) as pool:
        report = tw.derive(inputs, both, executor=pool, resume=True).run()
    check(tmp_path / "out", report)
    assert 0 < report.events_done < EVENTS


class Elsewhere(Executor):
    """Its one worker is on another machine."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        call = replace(arguments[0], places={"another machine": NodePlace(1, (None,))})
        future.set_result(function(call))
        return future


class Losing(ThreadPoolExecutor):
    """Loses pieces of work, by their numbers, as engines say it that go on all the same."""

    def __init__(self, is_lost: Callable[[int], bool]) -> None:
        super().__init__(2)
        self._numbers, self._is_lost = itertools.count(), is_lost

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        if not self._is_lost(next(self._numbers)):
            return super().submit(function, *arguments)
        lost: Future[Any] = Future()
        lost.set_exception(KeyError("a worker is gone"))
        return lost


def test_what_an_executor_loses_is_done_again(inputs: Path, tmp_path: Path) -> None:
    with Losing(lambda number: number % 4 == 3) as executor:
        report = tw.derive(inputs, picklable(tmp_path), executor=executor, range_bytes=20_000).run()
    check(tmp_path, report)
    assert report.failures
    assert all("a worker is gone" in each.reason for each in report.failures)
    one = [tw.Derivation(tmp_path / "a.root", muons)]
    with Losing(lambda number: number > 0) as executor:
        job = tw.derive(inputs, one, executor=executor)
        with pytest.raises(tw.DerivationError, match=r"failed 3 times .*lost a call"):
            job.run()


def test_what_an_executor_cannot_do_is_said(inputs: Path, tmp_path: Path) -> None:
    one = [tw.Derivation(tmp_path / "a.root", muons)]
    with pytest.raises(tw.Error, match=r"on another machine.*: give nodes="):
        tw.derive(inputs, one, executor=Elsewhere()).run()
    with ThreadPoolExecutor(1) as pool:
        for wrong, said in [
            ({"executor": 5}, "5 is not an executor"),
            ({"executor": pool, "timeout": 1}, "cannot be ended"),
            ({"executor": pool, "start": "spawn"}, "starts its own workers"),
            ({"executor": pool, "nodes": 0}, "nodes cannot be 0"),
            ({"nodes": 2}, "without executor="),
            ({"executor": pool, "nodes": 2, "order": "input"}, "rows of several nodes cannot be ordered by key"),
            ({"executor": pool, "nodes": 2, "resume": True}, "each node would have to return to its machine"),
        ]:
            with pytest.raises(tw.UsageError, match=said):
                tw.derive(inputs, one, **wrong)
    with pytest.raises(tw.Error, match="takes no more work"):
        tw.derive(inputs, one, executor=pool).run()
    assert not executors._sessions or len(executors._sessions) < 4
