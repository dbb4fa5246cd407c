"""A window of energies that a viewer of the page proposes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import tab
from recording import record
from watching import Viewer, viewer, watched

from thalweg import tdpac
from thalweg._watching.proposals import HitMemory

CONFIG = 'isotope = "181Hf"\nrange = [-150, 150]\ndelays = [0, 40, 0, -25, 0, 0]\n'


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    record(path, "--waveforms", "none", "--isotope", "181Hf", "--records", 20_000, "--seed", 3)
    return path


@pytest.fixture(scope="module")
def config(closed: Path) -> Path:
    path = closed.with_name("tdpac.toml")
    path.write_text(CONFIG)
    return path


def asked(page: Viewer, said: bytes = b"", **window: Any) -> dict[str, Any]:
    page.proposal = None
    page.socket.send(said or json.dumps(window).encode())
    page.until(lambda: page.proposal is not None)
    assert page.proposal is not None
    return page.proposal


def test_a_proposal_is_what_tdpac_counts_with_these_windows(closed: Path, config: Path) -> None:
    parsed = tdpac.parse_config(CONFIG)
    with watched(closed, "--config", config) as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        for kind, window in (("start", (100.0, 165.5)), ("stop", (470.0, 490.0))):
            found = asked(page, kind=kind, table="ch2", **{"from": window[0], "to": window[1]})
            assert found["hits"] == 120_000
            for name, expected in (("now", parsed), ("then", replace(parsed, **{kind: window}))):
                spectra = tdpac.count(str(closed), expected, expected.delays_ps)
                assert found[name]["coincidences"] == spectra.between_detectors > 100
                of_all = spectra.counts.sum(axis=(0, 1)) - np.trace(spectra.counts)
                step = -(-len(of_all) // 400)
                whole = len(of_all) // step * step
                np.testing.assert_array_equal(found[name]["counts"], of_all[:whole].reshape(-1, step).sum(axis=1))
            assert tdpac.parse_config(CONFIG + found["toml"]).windows_of(2)[kind] == window
        # The run is shown as it was.
        assert page.status["coincidences"] == tdpac.count(str(closed), parsed, parsed.delays_ps).counts.sum()


def test_wrong_proposals_are_answered_and_end_nothing(closed: Path, config: Path) -> None:
    with watched(closed, "--config", config) as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        window = {"kind": "start", "table": "ch0", "from": 100, "to": 160}
        for wrong, said in (
            ({"kind": "middle"}, "no window 'middle'"),
            ({"table": "ch9"}, "of 'ch9'"),
            ({"from": 200}, "is empty or inverted"),
            ({"to": None}, "no window"),
            ({"from": float("nan")}, "an end that is no number"),
        ):
            assert said in asked(page, **{**window, **wrong})["problem"]
        assert "no window" in asked(page, b"\xff")["problem"]
        assert "problem" not in asked(page, **window)
    with watched(closed) as server, viewer(server) as page:
        assert "--config" in asked(page, **window)["problem"]


def test_the_oldest_hits_leave_the_memory() -> None:
    memory = HitMemory(12 * 1000)
    for number in range(30):
        memory.add(number % 3, (np.full(100, number, np.uint64), np.zeros(100)))
    pieces = memory.pieces()
    assert sum(len(times) for _, (times, _) in pieces) == 1000
    assert [int(times[0]) for _, (times, _) in pieces] == [*range(20, 30)]


def test_a_browser_proposes_a_window(closed: Path, config: Path, tmp_path: Path) -> None:
    with watched(closed, "--config", config) as server, tab(tmp_path / "profile") as page:
        page.open(server.url, 1400, 3000)
        page.until("document.querySelectorAll('#energies canvas').length == 6")
        box = page.value(
            "(({left, top, width, height}) => [left, top, width, height])"
            "(document.querySelector('#energies .u-over').getBoundingClientRect())"
        )
        y = box[1] + box[3] / 2
        for kind, part, buttons in (("mousePressed", 0.2, 1), ("mouseMoved", 0.25, 1), ("mouseReleased", 0.25, 0)):
            page.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0] + part * box[2],
                y=y,
                button="left",
                buttons=buttons,
                clickCount=1,
            )
        page.until("document.getElementById('proposal-words').textContent.startsWith('This is a proposal')")
        assert page.value("document.getElementById('proposal-toml').textContent").startswith("start = [")
        low, high = (page.value(f"document.getElementById('proposal-{end}').valueAsNumber") for end in ("from", "to"))
        end = 1.3 * tdpac.parse_config(CONFIG).stop[1]
        assert abs(low - 0.2 * end) < 0.02 * end
        assert abs(high - 0.25 * end) < 0.02 * end
        page.until("document.querySelectorAll('#proposal-chart canvas').length == 1")
        assert page.complaints == []
