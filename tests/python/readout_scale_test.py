"""The study of the readout at scale: small points are measured as large ones are, and the page has the results."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))

from readout.programs import NAMESPACES  # noqa: E402
from readout.scale import farm, model, results, tables  # noqa: E402
from readout.scale.incast import CLIENT_CREDIT_BYTES, Link, in_effect, in_namespaces, paced, point_of  # noqa: E402


@pytest.fixture
def program(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    build = Path(os.environ.get("THALWEG_BUILD", repository / "build" / "default"))
    found = build / "studies" / "readout" / "driver" / "readout_study"
    if not found.is_file():
        pytest.skip(f"{found} is not built: `cmake --build --preset default --target readout_study` does it")
    monkeypatch.setenv(farm.PROGRAM_VARIABLE, str(found))
    return found


@pytest.fixture
def namespaces() -> None:
    programs = ("unshare", "nsenter", "ip", "tc")
    if missing := [each for each in programs if shutil.which(each) is None]:
        pytest.skip(f"there is no {missing[0]}")
    if subprocess.run([*NAMESPACES, "--mount-proc", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no network namespaces without privilege")


@pytest.mark.usefixtures("program")
def test_many_handlers_serve_many_collectors() -> None:
    point = farm.Point(handlers=2, collectors=3, connections=4, rate_hz=2000, range_events=16, slots=1 << 13)
    found = farm.measure(point, 0.5)
    assert found["connections"] == 24
    assert found["setup_server_us"] > 0
    assert found["setup_client_us"] > 0
    # Two handlers with 56 streams, and fragments of 14.
    assert found["M_packets_per_s"] == pytest.approx(2 * 56 * 2000e-6, rel=0.5)
    assert found["fragments_per_s"] == pytest.approx(found["M_packets_per_s"] * 1e6 / 14, rel=0.5)
    assert 0 < found["fairness"] <= 1
    assert found["wrong"] == 0
    assert found["balances"]


@pytest.mark.usefixtures("program")
def test_a_part_is_measured_quickly() -> None:
    command = [sys.executable, str(STUDIES / "readout" / "scale" / "measure.py"), "connections", "--quick"]
    done = subprocess.run([*command, "--only", "100 connections"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| 100 connections |" in done.stdout
    assert tables.NOT_MEASURED not in done.stdout


@pytest.mark.usefixtures("program", "namespaces")
def test_cures_of_incast_are_in_effect() -> None:
    point, link = paced(point_of(4), Link()), Link(timer_floor_us=5000)
    found = in_namespaces(point, 0.5, link)
    assert found["pacing_in_effect"]
    assert found["timer_in_effect"]
    assert 0 < found["share"] < 1
    assert found["wrong"] == 0


def test_a_cure_that_the_kernel_did_not_take_is_not_in_effect() -> None:
    point, link = paced(point_of(4), Link()), Link(timer_floor_us=5000)
    told = {"least_pacing_bytes_s": point.pacing, "most_pacing_bytes_s": point.pacing, "most_outstanding_bytes": 40_000}
    told |= {"timer_floor_us": 5000, "least_timer_us": 5000}
    assert in_effect(point, link, told) == {"pacing": True, "timer": True}
    assert not in_effect(point, link, told | {"most_pacing_bytes_s": point.pacing + 1})["pacing"]
    assert not in_effect(point, link, told | {"least_timer_us": 200_000})["timer"]
    found = farm.Point(credit="auto")
    assert not in_effect(found, Link(), told | {"most_outstanding_bytes": CLIENT_CREDIT_BYTES})["auto"]


def test_spreads_are_medians_and_ranges() -> None:
    rounds = [{"share": 0.5, "auto": True, "text": "x"}, {"share": 0.9, "auto": False}, {"share": 0.8, "auto": True}]
    assert results.spreads(rounds) == {"share": [0.8, 0.5, 0.9], "auto": [0.0, 0.0, 1.0]}


def made_points() -> dict[str, dict[str, list[float]]]:
    """Returns points whose cores are exactly sums of the terms of a model."""
    costs = {"handlers": [0.01, 0.02, 0.2, 20.0, 3.0], "collectors": [0.03, 0.0, 0.1, 15.0, 5.0]}
    variants: dict[str, dict[str, list[float]]] = {}
    for name, point in {**model.FITTED, model.HELD_OUT: model.HELD_OUT_POINT}.items():
        packets = 56.0 * point.handlers * point.rate_hz
        fragments = packets / point.streams
        told = {"M_packets_per_s": packets / 1e6, "fragments_per_s": fragments}
        told["ranges_per_s"] = point.rate_hz / point.range_events
        measured = variants.setdefault(name, {})
        for side, work, key in zip(
            costs, model.work_of(point, told), ("handler_cores", "collector_cores"), strict=True
        ):
            measured |= {f"{side}: {each}": [value] for each, value in vars(work).items()}
            measured[key] = [float(work.terms() @ np.array(costs[side]))]
    return variants


def test_a_model_finds_the_costs_of_which_points_are_made() -> None:
    variants = made_points()
    found = model.modelled(variants)
    assert found["handlers: polling, cores each"] == pytest.approx(0.01, rel=1e-3)
    assert found["handlers: packet, ns"] == pytest.approx(20, rel=1e-3)
    assert found["handlers: part of a range, µs"] == pytest.approx(20, rel=1e-3)
    assert found["collectors: packet, ns"] == pytest.approx(0, abs=1e-6)
    assert found["handlers: held out, error, %"] == pytest.approx(0, abs=0.1)


def test_a_model_is_not_fitted_to_the_point_that_is_held_out() -> None:
    variants = made_points()
    before = model.modelled(variants)
    variants[model.HELD_OUT]["handler_cores"][0] *= 2
    after = model.modelled(variants)
    assert after["handlers: packet, ns"] == before["handlers: packet, ns"]
    assert after["handlers: held out, error, %"] == pytest.approx(-50, abs=0.1)


def test_the_page_has_the_results() -> None:
    page = tables.PAGE.read_text()
    kept = results.read()
    assert tables.with_tables(page, kept) == page, "run `python studies/readout/scale/tables.py`"
    for part in kept:
        assert tables.with_tables(page, {name: each for name, each in kept.items() if name != part}) != page
