import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
import uproot
from readout_handler import STREAMS, Handler, fragment, payload

import thalweg
from thalweg import readout
from thalweg._readout.collect import unreached
from thalweg._readout.signals import Stop

Away = tuple[str, bool, bool]  # address, was met, may leave


@pytest.fixture
def handlers() -> Iterator[list[Handler]]:
    made = [Handler(), Handler(sources=(9,))]
    yield made
    for each in made:
        each.close()


def command(*arguments: object) -> list[str]:
    program = "import sys; from thalweg.cli import main; sys.argv[0] = 'thalweg'; main()"
    return [sys.executable, "-c", program, "readout", "collect", *map(str, arguments)]


def addresses(handlers: list[Handler]) -> list[str]:
    return [part for each in handlers for part in ("--handler", each.address)]


def collect(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=300, check=False)


def expected(event: int) -> list[bytes]:
    return [fragment(7, event, source) for source in (1, 2, 3, 9)]


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_a_file_holds_what_the_handlers_had(tmp_path: Path, handlers: list[Handler], name: str) -> None:
    path = tmp_path / name
    done = collect(*addresses(handlers), "--out", path, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["events"] == report["counters"]["complete"] == 2000
    assert report["not_cleared"] == 0
    assert all(len(each.cleared) == 2000 for each in handlers)
    run = thalweg.open(path)
    assert json.loads(run.metadata["counters"])["wrong"] == 0
    assert run.metadata["run_number"] == "7"
    rows = run["events"].read()
    events = np.asarray(rows["event"])
    assert sorted(events) == list(range(1 << 32, (1 << 32) + 2000))
    assert (np.asarray(rows["state"]) == 0).all()
    assert (np.asarray(rows["l1id"]) == events % (1 << 32)).all()
    found = [
        [bytes(each["data"]) for each in row]
        for row in run["events"].read(["fragments"]).to_awkward()["fragments"].to_list()
    ]
    assert found == [expected(int(event)) for event in events]


def test_uproot_reads_the_jagged_fragments(tmp_path: Path, handlers: list[Handler]) -> None:
    assert collect(*addresses(handlers), "--out", tmp_path / "run.root").returncode == 0
    with uproot.open(tmp_path / "run.root") as file:
        events = file["events"].arrays()
    found = [[bytes(data) for data in row] for row in events["fragments"]["data"].to_list()]
    assert found == [expected(event) for event in events["event"].to_list()]
    assert events["fragments"]["source_id"].to_list() == [[1, 2, 3, 9]] * 2000


def test_h5py_reads_the_jagged_fragments(tmp_path: Path, handlers: list[Handler]) -> None:
    assert collect(*addresses(handlers), "--out", tmp_path / "run.h5", "--codec", "none").returncode == 0
    with h5py.File(tmp_path / "run.h5") as file:
        events = file["events/event"][:]
        data = file["events/fragments/flattened_data/data"]
        ends, flat = data["cumulative_length"][:], data["flattened_data"][:]
    pieces = np.split(flat, ends.astype(int)[:-1])
    assert [piece.tobytes() for piece in pieces] == [each for event in events for each in expected(int(event))]


def test_the_client_finds_its_credit(tmp_path: Path, handlers: list[Handler]) -> None:
    done = collect(*addresses(handlers), "--out", tmp_path / "run.h5", "--credit", "auto", "--json")
    assert done.returncode == 0, done.stderr
    counters = json.loads(done.stdout)["counters"]
    assert counters["complete"] == 2000
    refused = collect(*addresses(handlers), "--out", tmp_path / "none.h5", "--credit", "automatic")
    assert refused.returncode == 2
    assert "automatic" in refused.stderr


def test_so_many_events_and_the_rest_stays(tmp_path: Path, handlers: list[Handler]) -> None:
    done = collect(*addresses(handlers), "--out", tmp_path / "some.h5", "--events", 300)
    assert done.returncode == 0
    assert "the requested number of events" in done.stdout
    assert len(handlers[0].cleared) == 300
    assert collect(*addresses(handlers), "--out", tmp_path / "rest.h5").returncode == 0
    both = [thalweg.open(tmp_path / name)["events"].read(["event"])["event"] for name in ("some.h5", "rest.h5")]
    seen = np.concatenate(both)
    assert len(seen) >= 2000
    assert set(seen) == set(range(1 << 32, (1 << 32) + 2000))


def test_a_file_that_is_there_is_kept(tmp_path: Path, handlers: list[Handler]) -> None:
    path = tmp_path / "run.h5"
    path.write_text("precious")
    done = collect(*addresses(handlers), "--out", path)
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert path.read_text() == "precious"
    assert collect(*addresses(handlers), "--out", path, "--force").returncode == 0


def wait_for(condition: object, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_signal_ends_it_with_what_is_here(tmp_path: Path) -> None:
    handler = Handler(events=5000)
    handler.closed = handler.first + 1500  # the run goes on
    path = tmp_path / "run.root"
    process = subprocess.Popen(command("--handler", handler.address, "--out", path), stdout=subprocess.PIPE, text=True)
    wait_for(lambda: len(handler.cleared) == 1500)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    assert "The collection was stopped" in said
    assert len(thalweg.open(path)["events"]) == 1500
    handler.close()


def test_after_kill_9_what_was_not_durable_comes_again(tmp_path: Path) -> None:
    handler = Handler(events=3000)
    handler.closed = handler.first + 2000
    first = tmp_path / "first.h5"
    process = subprocess.Popen(
        command("--handler", handler.address, "--out", first, "--flush-interval", "1h"),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: "2,000 events" in process.stderr.readline())  # type: ignore[union-attr]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not handler.cleared
    handler.closed = handler.end
    second = tmp_path / "second.h5"
    assert collect("--handler", handler.address, "--out", second).returncode == 0
    events = thalweg.open(second)["events"].read(["event"])["event"]
    assert sorted(events) == list(range(handler.first, handler.end))
    assert len(handler.cleared) == 3000
    handler.close()


def test_a_client_hands_events_to_a_function(handlers: list[Handler]) -> None:
    seen: dict[int, readout.Event] = {}
    client = readout.Client(*(each.address for each in handlers), role="collector")
    counters = client.run(lambda event: seen.setdefault(event.event, event))
    assert counters.events == len(seen) == 2000
    assert counters.as_json()["events"] == 2000
    assert pickle.loads(pickle.dumps(counters)) == counters == client.counters
    event = seen[(1 << 32) + 77]
    assert event.state is readout.State.complete
    assert [each.source_id for each in event.fragments] == [1, 2, 3, 9]
    for each in event.fragments:
        found = {stream: view.tobytes() for stream, view in readout.packets(each).items()}
        assert found == {stream: payload(event.event, each.source_id, stream) for stream in range(STREAMS)}


def test_what_the_function_raises_ends_the_client(handlers: list[Handler]) -> None:
    def refuse(event: readout.Event) -> None:
        raise ZeroDivisionError(event.event)

    with pytest.raises(ZeroDivisionError):
        readout.Client(handlers[0].address, role="collector").run(refuse)


def test_what_was_handed_on_before_the_function_raised_is_cleared(handlers: list[Handler]) -> None:
    seen: list[int] = []

    def refuse(event: readout.Event) -> None:
        if len(seen) == 300:
            raise ZeroDivisionError
        seen.append(event.event)

    client = readout.Client(*(each.address for each in handlers), role="collector", range_events=100)
    with pytest.raises(ZeroDivisionError):
        client.run(refuse)
    assert client.counters.events == 300
    for each in handlers:
        assert sorted(each.cleared) == sorted(seen)
    with pytest.raises(ZeroDivisionError):
        client.run(refuse)
    assert client.counters.events == 300


def test_ctrl_c_ends_a_client_that_waits(handlers: list[Handler]) -> None:
    handlers[0].closed = handlers[0].first
    program = "import sys; from thalweg import readout; readout.Client(sys.argv[1], role='collector').run(print)"
    process = subprocess.Popen([sys.executable, "-c", program, handlers[0].address], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: handlers[0].takes > 0)
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=120)[1]


def test_bytes_that_are_no_fragment_are_refused() -> None:
    for data in (b"", bytes(64), fragment(1, 2, 3)[:-4]):
        with pytest.raises(thalweg.DataError):
            readout.packets(data)


def test_plot_draws_events(tmp_path: Path, handlers: list[Handler]) -> None:
    path = tmp_path / "run.root"
    assert collect(*addresses(handlers), "--out", path).returncode == 0
    program = "import sys; from thalweg.cli import main; sys.argv[0] = 'thalweg'; main()"
    done = subprocess.run([sys.executable, "-c", program, "plot", path, "--json"], capture_output=True, check=True)
    assert json.loads(done.stdout)["panels"] == ["fragment sizes", "latencies", "build times", "states"]
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def nothing_there() -> Iterator[str]:
    """An address at which no process listens, and none can begin to."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_a_collector_that_reached_no_handler_says_so(tmp_path: Path, nothing_there: str) -> None:
    done = collect("--handler", nothing_there, "--out", tmp_path / "run.h5", "--duration", "1s")
    assert done.returncode == 1, done.stdout
    said = f"thalweg: no handler could be reached ({nothing_there}: "
    assert said in done.stderr
    assert "Connection refused): start the handlers, or correct their addresses" in done.stderr


def test_a_handler_that_was_never_reached_is_a_problem(
    tmp_path: Path, handlers: list[Handler], nothing_there: str
) -> None:
    """Its part is in none of the events."""
    words = [*addresses(handlers[:1]), "--handler", nothing_there, "--out", tmp_path / "run.h5", "--duration", "2s"]
    done = collect(*words, "--json")
    assert done.returncode == 1, done.stderr
    said = f"the file has nothing of a handler that could not be reached ({nothing_there}: "
    assert json.loads(done.stdout)["problem"].startswith(said)
    assert said in done.stderr


def test_a_handler_in_another_run_is_a_problem(tmp_path: Path, handlers: list[Handler]) -> None:
    handlers[1].run = 8
    done = collect(*addresses(handlers), "--out", tmp_path / "run.h5", "--json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    said = f"{report['events']:,} events have nothing of {handlers[1].address} (it was in run 8): give `start` the "
    assert report["problem"] == said + "number of the run"
    assert f"thalweg: {said}" in done.stderr
    assert report["complete"]


@pytest.mark.parametrize(
    ("at_end", "when_stopped", "said"),
    [
        ([], [], ""),
        ([("a", True, False)], [], ""),  # it left while the collector completed its file
        ([("a", True, True), ("b", True, True)], [("a", True, True), ("b", True, True)], ""),  # their run was over
        ([("a", True, False)], [("a", True, False)], ""),  # the other one was there
        ([("a", False, False)], [], "the file has nothing of a handler that could not be reached (a: why)"),
        ([("a", False, False), ("b", False, False)], [], "no handler could be reached (a: why, b: why): start the"),
        (
            [("a", True, False), ("b", True, False)],
            [("a", True, False), ("b", True, False)],
            "no handler could be reached any more when the collection was stopped (a: why, b: why)",
        ),
    ],
)
def test_which_handlers_a_file_lacks(at_end: list[Away], when_stopped: list[Away], said: str) -> None:
    def away(each: Away) -> Any:
        return SimpleNamespace(address=each[0], why="why", was_met=each[1], may_leave=each[2], is_there=False)

    found = unreached([away(each) for each in at_end], [away(each) for each in when_stopped], 2)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_signals_that_come_together_are_one_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout -s INT 10` sends one to the command and one to its group: that must not abandon a collection."""
    now_s = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    stop = Stop()
    for _ in range(2):
        stop.on_signal(signal.SIGINT, None)
    assert stop.times == 1
    now_s += 1
    stop.on_signal(signal.SIGINT, None)
    assert stop.times == 2
