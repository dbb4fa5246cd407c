"""Summaries above 64 KiB: they are summed, resumed and merged like small ones, and lie in a table of their own."""

import importlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from derive_cases import EVENTS, events, write_input

import thalweg as tw
from thalweg._derive.large_summaries import TABLE, summary_of
from thalweg._derive.summaries import MOST_BYTES, Summary

_MANY: dict[str, Any] = {"workers": 2, "range_bytes": 20_000, "attempts": 1}
BINS = 50_000


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def rows(of: Any) -> dict[str, Any]:
    return {"event": of.event}


def large(of: Any) -> dict[str, Any]:
    """Values that cannot be compressed, and whose sums are exact."""
    noise = np.random.default_rng(7).integers(0, 2**40, BINS)
    numbers = ak.to_numpy(of.event).astype(np.int64)
    return {
        "noise": noise * len(numbers),
        "bins": np.bincount(numbers * 7919 % BINS, minlength=BINS),
        "n": len(numbers),
    }


def check(values: dict[str, Any], files: int = 1) -> None:
    expected = large(events())
    assert values["n"] == EVENTS * files
    for name in ("noise", "bins"):
        np.testing.assert_array_equal(np.asarray(values[name]), expected[name] * files)


@pytest.mark.parametrize("ending", ["root", "h5"])
@pytest.mark.parametrize("order", ["any", "input"])
def test_large_summaries_are_summed(inputs: Path, tmp_path: Path, ending: str, order: Any) -> None:
    if (ending, order) == ("h5", "input"):
        pytest.skip("only .root files are ordered")
    out = tmp_path / f"a.{ending}"
    report = tw.derive(inputs, [tw.Derivation(out, rows, summary=large)], order=order, **_MANY).run()
    check(report.outputs[0].summary.values)
    run = tw.open(out)
    check(json.loads(run.metadata["derive.result"])["values"])
    assert len(run) == 2
    assert len(run.units) == len(run[TABLE]) > 1
    total = Summary()
    for unit in sorted(run.units, key=lambda unit: int(unit.key)):
        assert len(unit.summary) < 100
        assert len(summary_of(run, unit)) > MOST_BYTES
        total.add(Summary.decoded(summary_of(run, unit)))
    check(total.values)
    name = next(each for each in run if each != TABLE)
    assert sorted(run[name].read()["event"].tolist()) == sorted(events().event.tolist())
    again = tw.derive(out, [tw.Derivation(tmp_path / f"b.{ending}", rows)], workers=1).run()
    assert again.outputs[0].rows == EVENTS


def test_a_small_summary_makes_no_table(inputs: Path, tmp_path: Path) -> None:
    tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", rows, summary=lambda of: {"n": len(of)})], **_MANY).run()
    assert len(tw.open(tmp_path / "a.root")) == 1


def other_keys(is_late: bool, of: Any) -> dict[str, Any]:
    return large(of) if is_late else {"n": 1}


def longer_array(is_late: bool, _: Any) -> dict[str, Any]:
    return {"bins": np.arange(BINS if is_late else 5)}


@pytest.mark.parametrize(
    ("grows", "said"),
    [
        (other_keys, r"the summary takes [\d,]+ bytes, and at most 65,536"),
        (longer_array, r"the summary 'bins' cannot be added \(its shape is \(50000,\) after \(5,\)\)"),
    ],
)
def test_one_that_becomes_large_is_refused_by_name(inputs: Path, tmp_path: Path, grows: Any, said: str) -> None:
    def growing(of: Any) -> dict[str, Any]:
        summary: dict[str, Any] = grows(bool(ak.max(of.event) > EVENTS // 2 and len(of) < 1000), of)
        return summary

    with pytest.raises((tw.UsageError, tw.DerivationError), match=rf"a\.root, range \d+: {said}"):
        tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", rows, summary=growing)], **_MANY).run()


GROWING = """
import os, signal
import awkward as ak
import hist
import numpy as np
import thalweg as tw

BINS = 50


def growing(of):
    # The later the events, the more categories they have.
    number = ak.to_numpy(of.event).astype(np.int64)
    histogram = hist.Hist.new.StrCat([], growth=True, name="kind").Reg(BINS, 0, BINS, name="bin").Double()
    for event in number:
        weights = (event + 1) * 7919 * np.arange(1, BINS + 1) ** 3 % (1 << 31)
        histogram.fill(kind=f"kind {event * event // 20_000}", bin=np.arange(BINS), weight=weights)
    return {"n": len(number), "kinds": histogram, "by_name": {"kinds": histogram.values().sum(axis=0)}}


def rows(of):
    if os.path.exists("kill") and of.event[0] > 8_000:
        os.unlink("kill")
        os.kill(os.getppid(), signal.SIGKILL)
    return {"event": of.event}


def job(out, **options):
    train = [tw.Derivation(out, rows, summary=growing)]
    return tw.derive("in.root", train, workers=2, range_bytes=40_000, **options)


if __name__ == "__main__":
    job("a.root").run()
"""


def by_kind(histogram: Any) -> dict[str, list[float]]:
    kinds, values = histogram["axes"][0]["bins"], histogram["values"]
    return {kind: row[1:-1] for kind, row in zip(kinds, values, strict=False)}


def test_a_histogram_that_grows_is_summed_resumed_and_merged(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is small in the first ranges, and too large for a work unit in the last ones."""
    (tmp_path / "growing_job.py").write_text(GROWING)
    (tmp_path / "kill").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("in.root").symlink_to(inputs)
    first = subprocess.run([sys.executable, "growing_job.py"], timeout=300, check=False)
    assert first.returncode == -signal.SIGKILL
    module: Any = importlib.import_module("growing_job")
    module.job("a.root", resume="trust").run()
    module.job("b.root").run()
    expected = by_kind(Summary(values=module.growing(events())).to_json()["values"]["kinds"])
    run = tw.open("a.root")
    sizes = [len(summary_of(run, unit)) for unit in run.units]
    assert min(sizes) < MOST_BYTES // 4 < MOST_BYTES < max(sizes)
    assert 0 < len(run[TABLE]) < len(run.units)
    tw.merge(["a.root", "b.root"], "both.root")
    for path, times in (("a.root", 1), ("both.root", 2)):
        values = json.loads(tw.open(path).metadata["derive.result"])["values"]
        assert values["n"] == EVENTS * times
        found = by_kind(values["kinds"])
        assert found.keys() == expected.keys()
        for kind, row in expected.items():
            assert found[kind] == [each * times for each in row]


class Joined:
    """A value of the user that grows, of a kind that nothing is known about."""

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts

    def merge(self, other: "Joined") -> "Joined":
        return Joined(self.parts + other.parts)


@pytest.mark.parametrize("kind", ["object", "dictionary", "empty"])
def test_other_values_that_grow_are_summed(kind: str, inputs: Path, tmp_path: Path) -> None:
    def growing(of: Any) -> dict[str, Any]:
        first = int(of.event[0])
        noise = np.random.default_rng(first).integers(0, 2**40, BINS if first > EVENTS // 2 else 3)
        if kind == "object":
            return {"parts": Joined([noise.tobytes()])}
        return {"parts": {str(first): noise} if kind == "dictionary" or first else {}}

    tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", rows, summary=growing)], **_MANY).run()
    run = tw.open(tmp_path / "a.root")
    total = Summary()
    for unit in run.units:
        total.add(Summary.decoded(summary_of(run, unit)))
    parts = total.values["parts"].parts if kind == "object" else list(total.values["parts"].values())
    assert max(map(len, parts)) >= BINS
    assert len(run[TABLE]) > 0


def test_large_summaries_are_resumed(inputs: Path, tmp_path: Path) -> None:
    flag, out = str(tmp_path / "flag"), tmp_path / "a.root"
    Path(flag).touch()

    def failing(of: Any) -> dict[str, Any]:
        if Path(flag).exists() and of.attrs["first_event"] > 2 * EVENTS // 3:
            raise ValueError("not yet")
        return large(of)

    train = [tw.Derivation(out, rows, summary=failing)]
    with pytest.raises(tw.DerivationError):
        tw.derive(inputs, train, **_MANY).run()
    Path(flag).unlink()
    report = tw.derive(inputs, train, **_MANY, resume="trust").run()
    check(report.outputs[0].summary.values)


def test_large_summaries_are_merged(inputs: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        tw.derive(inputs, [tw.Derivation(tmp_path / f"{name}.root", rows, summary=large)], **_MANY).run()
    tw.merge([tmp_path / "a.root", tmp_path / "b.root"], tmp_path / "ab.root")
    check(json.loads(tw.open(tmp_path / "ab.root").metadata["derive.result"])["values"], 2)
    tw.merge([tmp_path / "ab.root", tmp_path / "c.root"], tmp_path / "abc.root")
    run = tw.open(tmp_path / "abc.root")
    check(json.loads(run.metadata["derive.result"])["values"], 3)
    assert len({summary_of(run, unit) for unit in run.units}) == len(run.units) // 3
