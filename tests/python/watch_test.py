"""`thalweg watch`: a run as a page while it is taken."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browsing import tab
from live_runs import recovers
from recording import record, recording, wait_for
from serving import answer_of
from watching import check_equal, viewer, watched
from websockets.exceptions import InvalidStatus

import thalweg as tw
from thalweg import tdpac
from thalweg._watching import files as of_page

PHYSICS = "[[site]]\nomega0 = 0.8\neta = 0.3\ndelta = 0.02\n" + "[[detector]]\n" * 5 + "[[detector]]\ndelay = 300\n"
CONFIG = """
isotope = "181Hf"
places = "axes"
range = [-150, 150]
delays = [0, 40, 0, -25, 0, 0]
[[site]]
omega0 = 0.8
eta = 0.3
delta = 0.01
"""
LIST = ("--waveforms", "none", "--isotope", "181Hf")
OFTEN = {"flush_interval": 0.05}
PAIR = 'places = "line"\nrange = [-20, 40]\nbin = 1\n'
HIT = {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32(unit="keV")}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "physics.toml").write_text(PHYSICS)
    (folder / "tdpac.toml").write_text(CONFIG)
    (folder / "pair.toml").write_text(PAIR)
    (folder / "token").write_text("secret\n")
    return folder


@pytest.fixture(scope="module")
def closed(files: Path) -> Path:
    record(files / "closed.h5", *LIST, "--physics", files / "physics.toml", "--records", 60_000, "--seed", 5)
    return files / "closed.h5"


@pytest.fixture(scope="module")
def shown(closed: Path, files: Path) -> Iterator:
    with watched(closed, "--config", files / "tdpac.toml") as server:
        yield server


def test_a_closed_run_is_shown_as_tdpac_counts_it(shown, closed: Path) -> None:
    with viewer(shown) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        check_equal(page, closed, CONFIG)
        page.until(lambda: "fit" in page.parts)
        assert page.parts["fit"]["true_coincidences"] > 1000
        assert page.status["alarms"] == []


def test_delays_are_fitted_and_the_run_is_counted_again(closed: Path, files: Path) -> None:
    (files / "free.toml").write_text(CONFIG.replace("delays", "# delays"))
    with watched(closed, "--config", files / "free.toml") as server, viewer(server) as page:
        page.until(lambda: any("subtracted" in line for line in page.status["log"]))
        values = {name: value for each in page.parts["fit"]["fits"] for name, value in each["values"].items()}
        found, error = values["delay_5"]
        assert abs(found - 300) < 4 * error < 120


def test_live_is_equal_to_closed_bin_by_bin(files: Path, tmp_path: Path) -> None:
    """A run that is taken in several files, watched from its first rows on."""
    out = tmp_path / "run.h5"
    options = (*LIST, "--physics", files / "physics.toml", "--rate", "20000/s", "--duration", "4s", "--seed", 6)
    often = ("--set", "extent_bytes=64KiB", "--set", "flush_interval=0.1s", "--max-file-size", "2MB")
    with recording(out, *options, *often) as recorder:
        out = tmp_path / "run-00001.h5"
        wait_for(lambda: out.exists() and any(len(table) for table in tw.open(out).values()))
        with watched(out, "--config", files / "tdpac.toml") as server, viewer(server) as page:
            page.until(lambda: sum(page.rows.values()) > 0)
            assert page.status["state"] != "read to its end"
            report = recorder.report()
            assert len(report["files"]) > 1
            page.until(lambda: page.status["state"] == "read to its end")
            assert sum(page.rows.values()) == report["rows"]
            check_equal(page, out, CONFIG)
            # Changes come, not the whole state again and again.
            assert np.median(page.sizes) < max(page.sizes) / 3


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_several_producers_count_once_and_units_when_they_count(tmp_path: Path, files: Path, name: str) -> None:
    rng = np.random.default_rng(3)
    starts = np.sort(rng.integers(1000, 2_000_000, 4000)).astype(np.uint64)
    stops = starts + rng.integers(0, 15, 4000).astype(np.uint64)
    path = tmp_path / name
    with tw.create(path, {"a": HIT, "b": HIT}, tuning=OFTEN) as out:

        def write(table: str, times: np.ndarray, energy: float) -> None:
            with out.producer(table) as producer:
                for part in np.array_split(times, 40):
                    producer.append(timestamp=part, energy=np.full(len(part), energy, np.float32))
                    time.sleep(0.01)

        parts = [("a", starts[::2], 133), ("a", starts[1::2], 133), ("b", stops[::2], 482), ("b", stops[1::2], 482)]
        threads = [threading.Thread(target=write, args=part) for part in parts]
        for thread in threads:
            thread.start()
        with watched(path, "--config", files / "pair.toml") as server, viewer(server) as page:
            for thread in threads:
                thread.join()
            page.until(lambda: page.rows == {"a": 4000, "b": 4000})
            page.until(
                lambda: page.status["coincidences"] == tdpac.count(str(path), tdpac.parse_config(PAIR)).counts.sum()
            )
            live = page.blocks("pair")["a", "b"].copy()
            out.close()
            page.until(lambda: page.status["state"] == "read to its end")
            np.testing.assert_array_equal(page.blocks("pair")["a", "b"], live)
            check_equal(page, path, PAIR)


def test_a_run_without_energies_or_times_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    schema = {"wave": {"waveform": tw.array(tw.int16, 2000, unit="adc")}, "plain": {"x": tw.int32}}
    with tw.create(path, schema) as out:
        samples = np.zeros((3, 2000), np.int16)
        samples[:, 1234] = 99
        out.producer("wave").append(waveform=samples)
        out.producer("plain").append(x=np.arange(7))
    with watched(path) as server, viewer(server) as page:
        page.until(lambda: page.rows == {"wave": 3, "plain": 7} and "scopes" in page.parts)
        assert page.layout == []
        assert page.status["coincidences"] is None
        scope = page.parts["scopes"]["wave"]
        assert max(scope["values"]) == 99
        assert len(scope["values"]) <= 600
        assert scope["times"][int(np.argmax(scope["values"]))] == 1234


def test_silent_and_flooding_detectors_and_missing_peaks_are_alarms(tmp_path: Path, files: Path) -> None:
    path = tmp_path / "run.h5"
    config = files / "three.toml"
    config.write_text("places = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nrange = [-20, 40]\nbin = 1\n")
    rng = np.random.default_rng(1)

    def energies(count: int, peak: float, sigma: float) -> np.ndarray:
        found = np.where(rng.random(count) < 0.5, rng.normal(peak, 4, count), rng.normal(482, sigma, count))
        return found.astype(np.float32)

    with tw.create(path, dict.fromkeys("abc", HIT), tuning=OFTEN) as out:
        producers = {name: out.producer(name) for name in "abc"}
        clock = 0

        def second(counts: dict[str, int], peaks: dict[str, float], sigma: float = 7) -> None:
            nonlocal clock
            for name, count in counts.items():
                times = np.sort(rng.integers(clock, clock + 10**9, count)).astype(np.uint64)
                producers[name].append(timestamp=times, energy=energies(count, peaks.get(name, 133), sigma))
            clock += 10**9

        for _ in range(20):
            second({"a": 500, "b": 500, "c": 500}, {})
        with watched(path, "--config", config, "--silence", "3s") as server, viewer(server) as page:
            page.until(lambda: page.rows == {"a": 10_000, "b": 10_000, "c": 10_000})
            assert page.kinds() <= {("no rows", "")}
            for _ in range(12):
                second({"a": 500, "c": 20_000}, {"c": 139})
            page.until(lambda: page.rows["c"] == 250_000)
            page.until(lambda: {("silent", "b"), ("flooding", "c"), ("drift", "c")} <= page.kinds())
            assert ("silent", "a") not in page.kinds()
            assert {kind for kind, table in page.kinds() if table == "a"} == set()
            metrics = server.get("/metrics/").body.decode()
            assert 'thalweg_watch_alarms{kind="silent",table="b"} 1.0' in metrics
            for _ in range(2):
                second({"a": 500, "b": 500, "c": 30_000}, {"c": 300})
            page.until(lambda: ("no peak", "c") in page.kinds() and ("silent", "b") not in page.kinds())
            assert any("silent, b: this is over" in line for line in page.status["log"])
            assert "resolution" not in {kind for kind, _ in page.kinds()}
            second({"a": 500, "b": 12_000, "c": 500}, {})
            second({"a": 500, "b": 60_000, "c": 500}, {}, sigma=14)
            page.until(lambda: ("resolution", "b") in page.kinds())
            assert {table for kind, table in page.kinds() if kind == "resolution"} == {"b"}
            page.until(lambda: ("no rows", "") in page.kinds())


def test_a_recorder_is_killed_under_the_page_and_the_run_recovered(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    options = (*LIST, "--rate", "2000/s", "--set", "flush_interval=0.1s")
    with recording(out, *options) as recorder, watched(out, "--silence", "0.5s") as server, viewer(server) as page:
        page.until(lambda: sum(page.rows.values()) > 500)
        workers = recorder.workers()
        recorder.process.kill()
        recorder.process.communicate()
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, 9)
        page.until(lambda: ("not written", "") in page.kinds())
        wait_for(lambda: recovers(out))
        page.until(lambda: page.status["state"] == "read to its end")
        assert sum(page.rows.values()) == sum(len(table) for table in tw.open(out).values())


def test_only_pages_of_this_server_see_the_run(shown) -> None:
    answer = shown.get("/")
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert b"<script>" not in answer.body
    assert b"style=" not in answer.body
    assert shown.get("/", {"Host": "evil.example"}).status == 421
    assert shown.get("/", {"Origin": "http://evil.example"}).status == 403
    for path in ("/metrics", "/metrics/"):
        assert shown.get(path, {"Sec-Fetch-Site": "cross-site"}).status == 403
    assert shown.get("/../server.py").status == 404
    assert shown.get("/watch.js", method="POST").status == 405
    for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403)):
        with pytest.raises(InvalidStatus) as refused, viewer(shown, **headers):
            pass
        assert refused.value.response.status_code == status
    with viewer(shown, Origin=shown.url.rstrip("/")) as page:
        page.take()


def test_a_token_is_asked_for_and_kept_as_a_cookie(closed: Path, files: Path) -> None:
    with watched(closed, "--token-file", files / "token") as server:
        for path in ("/", "/watch.js", "/metrics", "/metrics/", "/?token=wrong"):
            assert server.get(path).status == 401
        with pytest.raises(InvalidStatus), viewer(server):
            pass
        answer = server.get("/?token=secret")
        assert (answer.status, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        kept = {"Cookie": cookie.partition(";")[0]}
        assert server.get("/", kept).status == 200
        with viewer(server, **kept) as page:
            page.take()
        with viewer(server, Authorization="Bearer secret") as page:
            page.take()


def test_half_a_request_is_ended(shown) -> None:
    half = [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"]
    begin = time.monotonic()
    connections = [socket.create_connection(shown.address, timeout=30) for _ in half]
    for connection, sent in zip(connections, half, strict=True):
        connection.sendall(sent)
    for connection in connections:
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(1000):  # an answer may come before the end
                pass
        connection.close()
    assert 4 < time.monotonic() - begin < 20
    # One whole request, and then half a one.
    with socket.create_connection(shown.address, timeout=30) as connection:
        connection.sendall(b"GET /watch.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HT")
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while more := connection.recv(10_000):
                received += more
        assert answer_of(received).status == 200
    with viewer(shown) as page:  # a WebSocket is no half request
        time.sleep(6)
        assert page.socket.ping().wait(10)


def test_viewers_that_do_not_read_hold_no_other_up(shown) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(viewer(shown))
        page = stack.enter_context(viewer(shown))
        before = len(page.sizes)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            page.take()
        assert len(page.sizes) - before >= 2
        text = shown.get("/metrics").body.decode()
        assert "thalweg_watch_viewers 11.0" in text


def test_viewers_that_were_sent_the_same_are_known_apart(closed: Path, files: Path) -> None:
    """The server would go on to send to one that has left, and say that it cannot (`watched` wants nothing said)."""
    with watched(closed, "--config", files / "tdpac.toml") as server:
        with viewer(server) as page:
            with viewer(server) as other:
                for each in (page, other):
                    each.until(lambda each=each: each.status["state"] == "read to its end" and "fit" in each.parts)
                    each.take()
            for _ in range(2):
                page.take()
        time.sleep(3)  # ages are sent each second
        assert "thalweg_watch_viewers 0.0" in server.get("/metrics").body.decode()


def drawn_in(chart: str) -> str:
    """An expression: whether there is more in a chart than its ground."""
    pixels = "c.getContext('2d').getImageData(0, 0, c.width, c.height).data"
    return f"[...document.querySelectorAll('{chart} canvas')].some(c => new Set({pixels}).size > 20)"


def test_a_browser_draws_the_page(shown, tmp_path: Path) -> None:
    with tab(tmp_path / "profile") as page:
        page.open(shown.url, 1400, 1500)
        page.until("document.querySelectorAll('#pairs .card').length == 30")
        page.until("document.getElementById('state').textContent == 'read to its end'")
        page.until("document.querySelectorAll('#ratio canvas').length == 1")
        assert not page.value("document.getElementById('ratio-charts').hidden")
        page.until(drawn_in("#ratio") + "&&" + drawn_in("#residuals") + "&&" + drawn_in("#frequencies"))
        assert "in bins of 0." in page.value("document.getElementById('ratio-words').textContent")
        drawn = "[...document.querySelectorAll('#energies canvas')].filter(c => new Set(c.getContext('2d')"
        page.until(drawn + ".getImageData(0, 0, c.width, c.height).data).size > 20).length == 6")
        assert page.value("document.querySelectorAll('#tables tr').length") == 6
        # Charts that are not on the screen are not drawn.
        assert page.value("document.querySelectorAll('#pairs canvas').length") < 30
        assert page.value("document.documentElement.dataset.error") is None
        assert page.complaints == []
        page.open(shown.url, 360, 980, "dark")
        page.until("document.documentElement?.dataset.updates > 0 && document.querySelectorAll('canvas').length > 2")
        assert page.value("document.documentElement.scrollWidth") <= 360
        assert page.complaints == []


def test_wrong_requests_are_said(closed: Path, thalweg_command, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, said in (
        (["missing.h5"], "missing.h5"),
        ([closed, "--listen", "8.8.8.8:80"], "--token-file"),
        ([closed, "--config", "missing.toml"], "cannot read missing.toml"),
        ([closed, "--silence", "0s"], "too short"),
    ):
        done = thalweg_command("watch", *words)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    monkeypatch.setattr(of_page, "_FILES", ("index.html", "uPlot.missing.js"))
    with pytest.raises(tw.UsageError, match="built without npm"):
        of_page.page_files()
