"""Windows of energies that a page applies: the run is counted again, behind the spectra that are shown."""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import tab
from live_runs import recovers
from recording import record, recording, wait_for
from watching import Viewer, check_equal, viewer, watched
from websockets.exceptions import ConnectionClosed, InvalidStatus

import thalweg as tw
from thalweg import tdpac
from thalweg._watching.alarms import Limits
from thalweg._watching.changes import Changes
from thalweg._watching.coincidences import CountedPairs
from thalweg._watching.counting import Asked
from thalweg._watching.shown import Shown
from thalweg._watching.watcher import Watcher
from thalweg.cli._find_signals import signals_of

CONFIG = 'isotope = "181Hf"\nrange = [-150, 150]\ndelays = [0, 40, 0, -25, 0, 0]\n'
LIST = ("--waveforms", "none", "--isotope", "181Hf")
TOKEN = {"Authorization": "Bearer secret"}
WINDOW = {"kind": "start", "table": "ch2", "from": 100.0, "to": 165.5}
NARROW = {"kind": "stop", "table": "ch0", "from": 475.0, "to": 490.0}
OF_WINDOW = CONFIG + "start = [100, 165.5]\n"
OF_BOTH = OF_WINDOW + "stop = [475, 490]\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "tdpac.toml").write_text(CONFIG)
    (folder / "token").write_text("secret\n")
    return folder


@pytest.fixture(scope="module")
def closed(files: Path) -> Path:
    record(files / "run.h5", *LIST, "--records", 20_000, "--seed", 3)
    return files / "run.h5"


def options(files: Path) -> tuple[object, ...]:
    return "--config", files / "tdpac.toml", "--token-file", files / "token"


def applied(page: Viewer, window: Any) -> dict[str, Any]:
    page.applied = None
    page.socket.send(json.dumps({"apply": window}).encode())
    page.until(lambda: page.applied is not None)
    assert page.applied is not None
    return page.applied


def check_pairs(page: Viewer, run: Path, config: str) -> None:
    """A window below that of the configuration does not shorten the energies that are shown: only pairs are equal."""
    parsed = tdpac.parse_config(config)
    spectra = tdpac.count(str(run), parsed, parsed.delays_ps)
    for (start, stop), counts in page.blocks("pair").items():
        np.testing.assert_array_equal(counts, spectra.counts[spectra.tables.index(start), spectra.tables.index(stop)])
    assert page.status["coincidences"] == spectra.counts.sum() > 100


def test_what_is_applied_is_what_tdpac_counts_with_these_windows(closed: Path, files: Path) -> None:
    with watched(closed, *options(files)) as server, viewer(server, **TOKEN) as page, viewer(server, **TOKEN) as other:
        page.until(lambda: page.status["state"] == "read to its end" and "fit" in page.parts)
        assert page.parts["read_only"] == ""
        check_equal(page, closed, CONFIG)
        assert "start = [100, 165.5]" in applied(page, WINDOW)["windows"]
        page.until(lambda: page.status["applied"][:1] == ["start = [100, 165.5]"])
        check_equal(page, closed, OF_WINDOW)
        assert page.layout[0]["windows"]["start"] == [100, 165.5]
        # The next one is applied to what was applied before, and the fit is one of these spectra.
        applied(page, NARROW)
        for each in (page, other):
            each.until(lambda each=each: each.status["applied"] == ["start = [100, 165.5]", "stop = [475, 490]"])
            check_pairs(each, closed, OF_BOTH)
        page.until(lambda: page.status["fit_coincidences"] == page.status["coincidences"])
        assert tdpac.parse_config(CONFIG + "\n".join(page.status["applied"])).stop == (475, 490)
        assert "already" in applied(page, NARROW)["problem"]
        applied(page, "configuration")
        page.until(lambda: page.status["applied"] == [])
        check_equal(page, closed, CONFIG)
        assert [line.partition("Z ")[2] for line in page.status["log"] if "now" in line] == [
            "the spectra are those of start = [100, 165.5] and stop = [463.359, 500.641] now",
            "the spectra are those of start = [100, 165.5] and stop = [475, 490] now",
            "the spectra are those of the windows of the configuration now",
        ]


def test_a_run_that_is_taken_goes_on_while_windows_are_applied(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    often = ("--set", "extent_bytes=64KiB", "--set", "flush_interval=0.1s", "--max-file-size", "2MB")
    with recording(out, *LIST, "--rate", "20000/s", "--duration", "5s", "--seed", 6, *often) as recorder:
        out = tmp_path / "run-00001.h5"
        wait_for(lambda: out.exists() and any(len(table) for table in tw.open(out).values()))
        with watched(out, *options(files)) as server, viewer(server, **TOKEN) as page:
            page.until(lambda: sum(page.rows.values()) > 0)
            seen = [0]

            def more_rows() -> bool:
                seen.append(sum(page.rows.values()))
                assert seen[-1] >= seen[-2], "rows have gone back"
                return seen[-1] >= seen[0]

            for number, window in enumerate([WINDOW, "configuration", WINDOW] * 3):
                applied(page, window)
                page.until(lambda begin=number: more_rows() and seen[-1] > seen[begin])
            applied(page, NARROW)
            report = recorder.report()
            assert len(report["files"]) > 1
            page.until(lambda: more_rows() and page.status["state"] == "read to its end" and not page.status["rescan"])
            assert page.status["applied"] == ["start = [100, 165.5]", "stop = [475, 490]"]
            assert sum(page.rows.values()) == report["rows"]
            check_pairs(page, out, OF_BOTH)


def test_a_recorder_is_killed_while_a_window_is_applied(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    with (
        recording(out, *LIST, "--rate", "20000/s", "--set", "flush_interval=0.1s") as recorder,
        watched(out, *options(files)) as server,
        viewer(server, **TOKEN) as page,
    ):
        page.until(lambda: page.status["coincidences"] > 100)
        workers = recorder.workers()
        page.socket.send(json.dumps({"apply": WINDOW}).encode())
        recorder.process.kill()
        recorder.process.communicate()
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, 9)
        page.until(lambda: ("not written", "") in page.kinds() and page.status["applied"] != [])
        applied(page, NARROW)
        page.until(lambda: len(page.status["applied"]) == 2 and page.status["applied"][1] == "stop = [475, 490]")
        wait_for(lambda: recovers(out))
        page.until(lambda: page.status["state"] == "read to its end")
        check_pairs(page, out, OF_BOTH)


def test_wrong_windows_are_refused_with_their_reason(closed: Path, files: Path) -> None:
    with watched(closed, *options(files)) as server, viewer(server, **TOKEN) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        before = page.status["coincidences"]
        for wrong, said in (
            ({"from": 200}, "is empty or inverted"),
            ({"from": float("nan")}, "an end that is no number"),
            ({"to": float("inf")}, "an end that is no number"),
            ({"to": None}, "this is no window"),
            ({"to": 10**400}, "this is no window"),
            ({"to": 480}, "overlaps that of stops"),
            ({"kind": "stop"}, "overlaps that of starts"),
            ({"from": -1}, "lies outside of the energies of ch2"),
            ({"kind": "stop", "from": 500, "to": 10_000}, "lies outside of the energies of ch2"),
            ({"kind": "middle"}, "no window 'middle'"),
            ({"table": "ch9"}, "of 'ch9'"),
        ):
            assert said in applied(page, {**WINDOW, **wrong})["problem"]
        for other in (None, 7, "all", [1, 2], {}, "[" * 2000):
            assert "no window" in applied(page, other)["problem"]
        page.socket.send(b'{"apply":' + b"[" * 4000)  # is no JSON, and an answer to a proposal
        page.until(lambda: page.proposal is not None)
        assert page.proposal is not None
        assert "no window" in page.proposal["problem"]
        assert (page.status["coincidences"], page.status["applied"], page.status["rescan"]) == (before, [], None)
        page.socket.send(b" " * 4097)
        with pytest.raises(ConnectionClosed) as ended:
            page.until(lambda: False)
        assert ended.value.rcvd is not None
        assert ended.value.rcvd.code == 1009
    with watched(closed, "--token-file", files / "token") as server, viewer(server, **TOKEN) as page:
        assert "--config" in applied(page, WINDOW)["problem"]


def test_only_who_knows_the_token_can_apply(closed: Path, files: Path) -> None:
    with watched(closed, "--config", files / "tdpac.toml") as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        refused = applied(page, WINDOW)
        assert refused["status"] == 403
        assert "--token-file" in refused["problem"]
        assert page.parts["read_only"] == refused["problem"]
        with viewer(server, **TOKEN) as other:  # where there is no token, none is right
            assert applied(other, WINDOW)["status"] == 403
        assert (page.status["applied"], page.status["rescan"]) == ([], None)
        assert page.socket.ping().wait(30)
    with watched(closed, *options(files)) as server:
        own = server.url.rstrip("/")
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer Secret"}, 401),
            ({"Authorization": "Bearer secret1", "Origin": own}, 401),
            ({**TOKEN, "Origin": "http://evil.example"}, 403),
            ({**TOKEN, "Origin": "null"}, 403),
        ):
            with pytest.raises(InvalidStatus) as refusal, viewer(server, **headers):
                pass
            assert refusal.value.response.status_code == status
        with viewer(server, **TOKEN, Origin=own) as page:
            assert "windows" in applied(page, WINDOW)


class Held:
    """A watcher in this process, whose passes over the run wait until they are let go."""

    def __init__(self, run: Path, config: str = CONFIG) -> None:
        self.may_begin = threading.Event()
        self.may_begin.set()
        self.shown = Shown()
        parsed = tdpac.parse_config(config)

        def pairs(opened: tw.Run, changes: Changes) -> CountedPairs:
            assert self.may_begin.wait(60)
            return CountedPairs(opened, parsed, changes)

        asked = Asked(str(run), signals_of, pairs, config, True)
        self.watcher = Watcher(asked, self.shown, Limits(), 0.02, lambda: None)

    @property
    def status(self) -> dict[str, Any]:
        return self.watcher.status()

    def counts(self) -> np.ndarray:
        pairs = self.watcher.counting.pairs
        assert pairs is not None
        return pairs.spectra().counts

    def until(self, condition: Callable[[], bool]) -> None:
        wait_for(condition)


@contextlib.contextmanager
def held(run: Path) -> Iterator[Held]:
    made = Held(run)
    made.watcher.start()
    try:
        made.until(lambda: made.status["state"] == "read to its end")
        yield made
    finally:
        made.may_begin.set()
        made.watcher.stop()


def test_the_old_spectra_stay_until_the_new_ones_have_caught_up(closed: Path) -> None:
    parsed = tdpac.parse_config(OF_WINDOW)
    expected = tdpac.count(str(closed), parsed, parsed.delays_ps).counts
    with held(closed) as shown:
        shown.until(lambda: shown.watcher.fit is not None)
        before = shown.counts()
        shown.may_begin.clear()
        assert "problem" not in shown.watcher.apply(WINDOW)
        rescan = shown.status["rescan"]
        assert rescan["windows"][0] == "start = [100, 165.5]"
        assert (rescan["rows"], rescan["of"]) == (0, 120_000)
        assert shown.status["applied"] == []
        np.testing.assert_array_equal(shown.counts(), before)
        shown.until(lambda: not shown.watcher.is_over)  # `--end-with-run` waits for it, too
        shown.may_begin.set()
        shown.until(lambda: shown.status["applied"] != [])
        assert shown.status["rescan"] is None
        np.testing.assert_array_equal(shown.counts(), expected)
        assert not np.array_equal(before, expected)
        shown.until(lambda: shown.watcher.fit is not None and shown.watcher.fit.coincidences == expected.sum())


def test_a_window_that_is_applied_while_another_one_is_counted_takes_its_place(closed: Path) -> None:
    parsed = tdpac.parse_config(OF_BOTH)
    with held(closed) as shown:
        shown.may_begin.clear()
        shown.watcher.apply(WINDOW)
        shown.watcher.apply({**WINDOW, "from": 110.0})
        shown.watcher.apply(WINDOW)
        shown.watcher.apply(NARROW)
        assert shown.status["rescan"]["windows"] == ["start = [100, 165.5]", "stop = [475, 490]"]
        shown.may_begin.set()
        shown.until(lambda: shown.status["applied"] != [])
        assert shown.status["applied"] == ["start = [100, 165.5]", "stop = [475, 490]"]
        expected = tdpac.count(str(closed), parsed, parsed.delays_ps).counts
        np.testing.assert_array_equal(shown.counts(), expected)
        # What is shown is asked for again: the pass that was begun is given up.
        shown.may_begin.clear()
        shown.watcher.apply("configuration")
        shown.watcher.apply(WINDOW)
        shown.watcher.apply(NARROW)
        assert shown.status["rescan"] is None
        shown.may_begin.set()
        shown.until(lambda: shown.watcher.is_over)
        np.testing.assert_array_equal(shown.counts(), expected)


def test_a_run_that_cannot_be_counted_again_is_shown_as_it_was(closed: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.h5"
    run.write_bytes(closed.read_bytes())
    with held(run) as shown:
        before = shown.counts()
        run.rename(tmp_path / "away.h5")
        shown.watcher.apply(WINDOW)
        shown.until(lambda: any("cannot be counted again" in line for line in shown.status["log"]))
        assert (shown.status["rescan"], shown.status["applied"]) == (None, [])
        np.testing.assert_array_equal(shown.counts(), before)
        (tmp_path / "away.h5").rename(run)
        assert "problem" not in shown.watcher.apply(WINDOW)
        shown.until(lambda: shown.status["applied"] != [])


def test_a_browser_applies_a_window(closed: Path, files: Path, tmp_path: Path) -> None:
    def fill(page: Any) -> None:
        page.until("document.querySelectorAll('#energies canvas').length > 0")
        for end, energy in (("from", 100), ("to", 165.5)):
            page.value(f"document.getElementById('proposal-{end}').value = {energy}")

    with watched(closed, *options(files)) as server, tab(tmp_path / "profile") as page:
        page.open(server.url + "?token=secret", 1400, 2000)
        fill(page)
        page.until("!document.getElementById('proposal-apply').disabled")
        assert page.value("document.getElementById('applied').hidden")
        page.value("document.getElementById('proposal-apply').click()")
        page.until("document.getElementById('applied-toml').textContent.startsWith('start = [100, 165.5]')")
        assert not page.value("document.getElementById('applied').hidden")
        page.value("document.getElementById('proposal-from').value = 470")
        page.value("document.getElementById('proposal-to').value = 480")
        page.value("document.getElementById('proposal-apply').click()")
        page.until("document.getElementById('apply-answer').textContent.includes('overlaps that of stops')")
        page.value("document.getElementById('applied-return').click()")
        page.until("document.getElementById('applied').hidden")
        assert page.complaints == []
    with watched(closed, "--config", files / "tdpac.toml") as server, tab(tmp_path / "other") as page:
        page.open(server.url, 1400, 2000)
        fill(page)
        page.until("document.getElementById('apply-words').textContent.includes('--token-file')")
        assert page.value("document.getElementById('proposal-apply').disabled")
        assert page.complaints == []
