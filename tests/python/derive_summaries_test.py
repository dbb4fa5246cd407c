"""Summaries are whole objects: sums are those of the whole input, or the output and the range of a fault are named."""

import base64
import json
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
from derive_cases import EVENTS, events, write_input

import thalweg as tw
from thalweg._derive.summaries import _loaded

_MANY: dict[str, Any] = {"workers": 2, "range_bytes": 20_000, "attempts": 1}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def rows(of: Any) -> dict[str, Any]:
    return {"event": of.event}


def empty(storage: str) -> Any:
    axes = hist.Hist.new.StrCat([], growth=True, name="kind").Reg(10, 0, 100, name="met", label="MET (GeV)")
    return getattr(axes, storage)()


def filled(of: Any, storage: str) -> Any:
    """The categories appear in another order in each range."""
    histogram = empty(storage)
    for kind in np.unique(ak.to_numpy(of.event) // 100 % 7)[::-1]:
        of_kind = ak.to_numpy(of.MET_pt[of.event // 100 % 7 == kind])
        weights = {"weight": np.full(len(of_kind), 0.5)} if storage in ("Weight", "Double") else {}
        histogram.fill(kind=f"kind {kind}", met=of_kind, **weights)
    return histogram


@pytest.mark.parametrize("storage", ["Double", "Int64", "Weight"])
@pytest.mark.parametrize("ending", [".root", ".h5"])
def test_histograms_keep_axes_and_storage(inputs: Path, tmp_path: Path, storage: str, ending: str) -> None:
    def sums(of: Any) -> dict[str, Any]:
        return {"met": filled(of, storage)}

    out = tmp_path / f"a{ending}"
    report = tw.derive(inputs, [tw.Derivation(out, rows, summary=sums)], **_MANY).run()
    found, expected = report.outputs[0].summary.values["met"], filled(events(), storage)
    assert (found.axes.name, found.axes[1].label) == (("kind", "met"), "MET (GeV)")
    assert found.storage_type is expected.storage_type
    assert set(found.axes[0]) == set(expected.axes[0])
    for kind in expected.axes[0]:  # with the bins of underflow and overflow
        np.testing.assert_array_equal(found[kind, :].view(flow=True), expected[kind, :].view(flow=True))
    stored = json.loads(tw.open(out).metadata["derive.result"])["values"]["met"]
    assert stored["axes"][1]["bins"] == list(range(0, 101, 10))
    assert np.sum(stored["values"]) == (EVENTS if storage == "Int64" else EVENTS / 2)


@pytest.mark.parametrize("type_", ["int8", "uint8", "int16", "int64", "uint64"])
def test_an_overflow_is_refused(inputs: Path, tmp_path: Path, type_: str) -> None:
    def sums(_: Any) -> dict[str, Any]:
        return {"n": np.array([np.iinfo(type_).max // 2 + 1, 1], type_)}

    out = tmp_path / "a.root"
    said = rf"a\.root.*range \d+.*summary 'n'.*too large for {type_}"
    with pytest.raises((tw.DerivationError, tw.UsageError), match=said):
        tw.derive(inputs, [tw.Derivation(out, rows, summary=sums)], **_MANY).run()


@pytest.mark.parametrize("kind", ["shape", "type", "axes"])
def test_what_cannot_be_added_is_named_at_once(inputs: Path, tmp_path: Path, kind: str) -> None:
    """What was done before can be resumed by functions that are right."""
    right = tmp_path / "right"

    def sums(of: Any) -> dict[str, Any]:
        late = int(not right.exists() and len(of) > 0 and of.event[-1] > EVENTS // 2)
        values: dict[str, dict[str, Any]] = {
            "shape": {"c": np.ones(3 + late)},
            "type": {"c": np.ones(3) if late else 1},
            "axes": {"c": hist.Hist.new.Reg(3 + late, 0, 1).Double()},
        }
        return values[kind]

    one = [tw.Derivation(tmp_path / "a.root", rows, summary=sums)]
    with pytest.raises(tw.DerivationError, match=r"a\.root, range \d+: the summary 'c' cannot be added") as error:
        tw.derive(inputs, one, **_MANY).run()
    assert 0 < error.value.report.events_done < EVENTS
    right.touch()
    report = tw.derive(inputs, one, **_MANY, resume=True).run()
    assert report.outputs[0].rows == EVENTS


def test_a_histogram_of_many_bins(inputs: Path, tmp_path: Path) -> None:
    def sums(of: Any) -> dict[str, Any]:
        histogram = hist.Hist.new.Reg(100, 0, 130).Reg(100, 0, 7).Double()
        return {"met": histogram.fill(ak.to_numpy(of.MET_pt), ak.to_numpy(of.MET_phi))}

    report = tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", rows, summary=sums)], **_MANY).run()
    np.testing.assert_array_equal(report.outputs[0].summary.values["met"].values(), sums(events())["met"].values())


@pytest.mark.parametrize(("function", "keep"), [(rows, ()), (None, ("event",))], ids=["function", "keep"])
def test_events_that_fail_cost_their_range_and_no_other(
    inputs: Path, tmp_path: Path, function: Any, keep: tuple[str, ...]
) -> None:
    def sums(of: Any) -> dict[str, Any]:
        if len(of) and of.event[0] < 100:
            raise RuntimeError("the first events are wrong")
        return {"n": len(of)}

    one = tw.Derivation(tmp_path / "a.root", function, keep=keep, summary=sums)
    report = tw.derive(inputs, [one], on_error="skip", **_MANY).run()
    (skipped,) = report.skipped
    assert skipped.start == 0
    assert report.outputs[0].rows == report.outputs[0].summary.values["n"] == EVENTS - skipped.stop


HARM = {
    "a class of another module": b"cnumpy.testing._private.extbuild\nsubprocess.Popen\n(](Vtrue\ne\x85tR.",
    "a class that truncates files": b"cnumpy\nmemmap\n(Vnothing\ntR.",
    "a function": b"chist\nos.system\n(Vtrue\ntR.",
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM.keys())
def test_a_summary_of_a_file_calls_nothing_but_histograms(harm: bytes) -> None:
    stored = {"object": base64.b64encode(b"\x80\x04" + harm).decode()}
    with pytest.raises(tw.UsageError, match=r"needs .* and only histograms are loaded"):
        _loaded(stored, False)
