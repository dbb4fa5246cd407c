"""The derivations of a train are independent: what one of them does to its events is not seen by another one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from derive_cases import EVENTS, events, write_input

import thalweg as tw

Rows = dict[str, Any]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def rows(of: Any) -> Rows:
    return {"event": of.event, "met": of.MET_pt, "jets": of.Jet.pt}


def sums(of: Any) -> dict[str, float]:
    return {"met": float(ak.sum(of.MET_pt)), "jets": float(ak.sum(of.Jet.pt))}


def scaled(factor: float) -> Callable[[Any], Rows]:
    """A systematic variation, as it is written for coffea: it sets fields of the events."""

    def of_variation(of: Any) -> Rows:
        of["MET_pt"] = of.MET_pt * factor
        of["Jet", "pt"] = of.Jet.pt * factor
        return rows(of)

    return of_variation


def read(path: Path) -> Any:
    with uproot.open(path) as file:
        found = file["Events"].arrays()
    return found[np.argsort(found.event)]


@pytest.mark.parametrize("nominal_first", [True, False])
def test_systematics_as_a_train(inputs: Path, tmp_path: Path, nominal_first: bool) -> None:
    factors = {"up": 2.0, "down": 0.5}
    train = [tw.Derivation(tmp_path / f"{name}.root", scaled(each), summary=sums) for name, each in factors.items()]
    train.insert(0 if nominal_first else 2, tw.Derivation(tmp_path / "nominal.root", rows, summary=sums))
    train.append(tw.Derivation(tmp_path / "kept.root", keep=["event", "MET_pt", "Jet"], copy_pages=False))
    report = tw.derive(inputs, train, workers=2, range_bytes=20_000).run()
    of = events()
    for name, factor in {**factors, "nominal": 1.0}.items():
        found = read(tmp_path / f"{name}.root")
        np.testing.assert_array_equal(found.met, of.MET_pt * np.float32(factor))
        assert ak.array_equal(found.jets, of.Jet.pt * factor)
    np.testing.assert_array_equal(read(tmp_path / "kept.root").MET_pt, of.MET_pt)
    assert ak.array_equal(read(tmp_path / "kept.root").Jet.pt, of.Jet.pt)
    for output in report.outputs[:3]:  # a summary is one of the input, whatever its function does
        np.testing.assert_allclose(output.summary.values["met"], ak.sum(of.MET_pt), rtol=1e-4)


@pytest.mark.parametrize("share", [EVENTS, EVENTS // 2])
def test_a_selection_keeps_its_changes_to_itself(inputs: Path, tmp_path: Path, share: int) -> None:
    """This holds for ranges in which each event passes, and for the others."""

    def select(of: Any) -> Any:
        of["MET_pt"] = of.MET_pt * 3
        return of.event < share

    train = [tw.Derivation(tmp_path / "a.root", rows, select=select), tw.Derivation(tmp_path / "b.root", rows)]
    tw.derive(inputs, train, workers=2, range_bytes=20_000).run()
    np.testing.assert_array_equal(read(tmp_path / "a.root").met, events().MET_pt[:share])
    np.testing.assert_array_equal(read(tmp_path / "b.root").met, events().MET_pt)


def in_place(of: Any) -> Rows:
    values = np.asarray(of.MET_pt)
    values *= 2
    return {"event": of.event, "met": values}


def inside_jets(of: Any) -> Rows:
    ak.to_numpy(ak.flatten(of.Jet.pt))[:] = 0
    return {"event": of.event, "met": of.MET_pt}


@pytest.mark.parametrize("function", [in_place, inside_jets])
@pytest.mark.parametrize("ending", [".root", ".h5"])
def test_a_change_in_place_is_refused(tmp_path: Path, function: Callable[[Any], Rows], ending: str) -> None:
    source = write_input(tmp_path / f"in{ending}", count=2000)
    out = tmp_path / "out.root"
    with pytest.raises(tw.UsageError, match=r"out\.root: the function changes events in place .*: copy them first"):
        tw.derive(source, [tw.Derivation(out, function)], workers=1).run()
    assert not out.exists()


def test_a_copy_may_be_changed(inputs: Path, tmp_path: Path) -> None:
    def copied(of: Any) -> Rows:
        values = np.array(of.MET_pt)
        values *= 2
        return {"event": of.event, "met": values}

    tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", copied)], workers=2).run()
    np.testing.assert_array_equal(read(tmp_path / "a.root").met, events().MET_pt * 2)
