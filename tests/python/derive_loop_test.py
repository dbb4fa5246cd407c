"""Event loops of a user's own: what `job.unit` is given is in the outputs once, whatever fails meanwhile."""

import os
import signal
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from derive_cases import EVENTS, events, sums, write_input

import thalweg as tw
from thalweg._derive.unit import EventRange, LoopJob

MUONS = {"event": tw.uint64, "pt": tw.list_(tw.float32(unit="GeV")), "label": tw.string}
MET = {"event": tw.uint64, "met": tw.float32}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def train(folder: Path, ending: str = ".root") -> list[tw.Derivation]:
    return [tw.Derivation(folder / f"muons{ending}", schema=MUONS), tw.Derivation(folder / f"met{ending}", schema=MET)]


class Loop:
    """Row by row in one output, all at once in the other."""

    def __init__(self, folder: Path, ending: str = ".root") -> None:
        self.muons, self.met = f"{folder}/muons{ending}", f"{folder}/met{ending}"

    def __call__(self, job: LoopJob, range_: EventRange) -> None:
        rows = range_.open().read(rows=slice(range_.start, range_.stop)).to_awkward()
        with job.unit(range_) as unit:
            for event in rows[ak.num(rows.Muon_pt) >= 3][:20]:
                unit[self.muons].append(event=event.event, pt=event.Muon_pt.to_list(), label=event.label)
                unit.fill("cutflow", {"first three": 1})
            again = np.zeros(len(rows), np.float32)
            for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                part = again[: len(half)]
                part[:] = ak.to_numpy(half.MET_pt)  # the same array, filled anew
                unit[self.met].append(event=ak.to_numpy(half.event), met=part)
            unit.fill("cutflow", {"all": len(rows)})
            unit.fill("met", sums(rows)["met"])
            unit.fill("weight", float(ak.sum(rows.weight)))


def check(folder: Path, report: tw.DerivationReport, ending: str = ".root") -> None:
    of = events()
    muons, met = (tw.open(f"{folder}/{name}{ending}")["Events"].read().to_awkward() for name in ("muons", "met"))
    met = met[ak.argsort(met.event)]
    assert ak.array_equal(met.event, of.event)
    assert ak.array_equal(met.met, of.MET_pt)
    assert len(np.unique(muons.event)) == len(muons) > 100
    there = of[ak.to_numpy(muons.event).astype(int)]
    assert ak.array_equal(muons.pt, there.Muon_pt)
    assert muons.label.to_list() == there.label.to_list()
    for output, rows in zip(report.outputs, (len(muons), EVENTS), strict=True):
        assert (output.rows, output.summary.events) == (rows, EVENTS)
        assert output.summary.values["cutflow"] == {"first three": len(muons), "all": EVENTS}
        np.testing.assert_array_equal(output.summary.values["met"], sums(of)["met"])
        assert output.summary.values["weight"] == pytest.approx(ak.sum(of.weight), rel=1e-12)
    assert report.is_whole


@pytest.mark.parametrize(("ending", "order"), [(".root", "any"), (".h5", "any"), (".root", "input")])
def test_a_loop_fills_two_outputs(inputs: Path, tmp_path: Path, ending: str, order: str) -> None:
    loop = Loop(tmp_path, ending)
    report = tw.derive(inputs, train(tmp_path, ending), loop=loop, workers=2, order=order, range_bytes=30_000).run()
    check(tmp_path, report, ending)
    if order == "input":
        found = tw.open(loop.met)["Events"].read(["event"])["event"]
        assert (found == np.arange(EVENTS)).all()


def test_a_loop_that_dies_raises_and_is_resumed(inputs: Path, tmp_path: Path) -> None:
    """Rows and sums are those of one pass: nothing of what died counts."""
    fails = tmp_path / "fails"
    fails.touch()
    both = train(tmp_path)
    loop = Disturbed(Loop(tmp_path), fails)
    with pytest.raises(tw.DerivationError, match=r"events \d+ to \d+ failed \(.*a bad range"):
        tw.derive(inputs, both, loop=loop, workers=2, on_error="stop", range_bytes=30_000).run()
    fails.unlink()
    Path(loop.loop.met).with_name("died").unlink(missing_ok=True)
    report = tw.derive(inputs, both, loop=loop, workers=2, resume=True, range_bytes=30_000).run()
    check(tmp_path, report)
    assert 0 < report.events_done < EVENTS
    assert any("SIGKILL" in each.how_it_ended for each in report.workers)


class Disturbed:
    """Fails late while there is a mark, and once kills its process in the middle of a unit."""

    def __init__(self, loop: Loop, mark: Path) -> None:
        self.loop, self.mark = loop, mark

    def __call__(self, job: LoopJob, range_: EventRange) -> None:
        if self.mark.exists() and range_.number == 9:
            raise RuntimeError("a bad range")
        self.loop(job, range_)
        died = Path(self.loop.met).with_name("died")
        if not self.mark.exists() and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def never_asks(job: LoopJob, range_: EventRange) -> None:
    del job, range_


def asks_twice(job: LoopJob, range_: EventRange) -> None:
    for _ in range(2):
        with job.unit(range_):
            pass


def swallows(job: LoopJob, range_: EventRange) -> None:
    try:
        with job.unit(range_):
            raise RuntimeError("half of a unit")
    except RuntimeError:
        pass


def appends_late(job: LoopJob, range_: EventRange) -> None:
    with job.unit(range_) as unit:
        pass
    unit.fill("a", 1)


def another_range(job: LoopJob, range_: EventRange) -> None:
    with job.unit(EventRange(5, "", "", 0, 1, range_.file)):
        pass


def unknown_output(job: LoopJob, range_: EventRange) -> None:
    with job.unit(range_) as unit:
        unit["elsewhere.root"].append(event=1)


def wrong_column(job: LoopJob, range_: EventRange) -> None:
    with job.unit(range_) as unit:
        unit[f"{Path.cwd()}/met.root"].append(event=[1, 2], met=["a", "b"])


def wrong_sum(job: LoopJob, range_: EventRange) -> None:
    with job.unit(range_) as unit:
        unit.fill("n", np.zeros(3))
        unit.fill("n", np.zeros(4))


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        (never_asks, r"in\.root: the loop made no unit for events \d+ to \d+"),
        (asks_twice, "has a unit already"),
        (swallows, "did not complete the `with` block of its unit"),
        (appends_late, "accepts nothing more"),
        (another_range, "the loop was called with range"),
        (unknown_output, "the train has no output 'elsewhere.root'; its outputs are .*muons.root"),
        (wrong_column, "table 'Events'.*column 'met'"),
        (wrong_sum, "summary 'n'.*cannot be added"),
    ],
)
def test_what_a_loop_does_wrong_is_said(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tw.DerivationError, match=said):
        tw.derive(inputs, train(tmp_path), loop=loop, workers=1, on_error="stop").run()


def test_what_does_not_go_with_a_loop(inputs: Path, tmp_path: Path) -> None:
    one = tw.Derivation(tmp_path / "a.root", schema=MET)
    kept = tw.Derivation(tmp_path / "a.root", keep="event")
    with pytest.raises(tw.UsageError, match="only a schema, and nothing appends rows"):
        tw.derive(inputs, [one])
    with pytest.raises(tw.UsageError, match="has function or keep, and the job has a loop"):
        tw.derive(inputs, [kept], loop=never_asks)
    with pytest.raises(tw.UsageError, match="cannot select or sum up"):
        tw.Derivation("a.root", schema=MET, select=len)
    with pytest.raises(tw.UsageError, match="loop is 5"):
        tw.derive(inputs, [one], loop=5)  # type: ignore[arg-type]
    with pytest.raises(tw.UsageError, match="top of a module"):
        tw.derive(inputs, [one], loop=lambda *_: None, start="spawn").run()
    assert os.listdir(tmp_path) == []
