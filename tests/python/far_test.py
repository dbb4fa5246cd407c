"""Tests files whose bytes Python gives: file objects and URLs."""

import builtins
import io
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw
from thalweg._reading.far import Ranges, _Object

ROWS = 20_000
COUNTS = np.arange(ROWS) % 4
SCHEMA = {
    "time": "uint64",
    "energy": tw.array("float32", 4),
    "hits": tw.list_(tw.struct({"channel": "uint16"})),
    "name": tw.string,
}


class Counting(io.BytesIO):
    """How often it is asked."""

    calls = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.calls += 1
        return super().read(size)

    def readinto(self, buffer: Any, /) -> int:
        self.calls += 1
        return super().readinto(buffer)


class Grudging(io.BytesIO):
    """Gives less than it is asked for, as raw files may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, 1000))


@pytest.fixture(scope="module", params=["h5", "root"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("far") / f"run.{request.param}"
    energies = np.random.default_rng(5).random((ROWS, 4), dtype=np.float32)
    channels = np.arange(COUNTS.sum(), dtype=np.uint16)
    with tw.create(path, {"events": SCHEMA}, tuning=tw.Tuning(narrow_page_bytes=4096)) as out:
        out.producer("events").append(
            {
                "time": np.arange(ROWS, dtype=np.uint64),
                "energy": energies,
                "hits": tw.Ragged.from_lengths(COUNTS, {"channel": channels}),
                "name": [f"event {i}" for i in range(ROWS)],
            }
        )
    return path


def assert_same(far: tw.Run, path: Path) -> None:
    near = tw.open(path)
    assert list(far) == list(near)
    for name, table in near.items():
        assert far[name].schema == table.schema
        assert repr(far[name].arrays().tolist()) == repr(table.arrays().tolist())  # nan is not nan
        parts = [each[name].arrays(entry_start=7, entry_stop=99) for each in (far, near)]
        assert repr(parts[0].tolist()) == repr(parts[1].tolist())


def test_file_objects(path: Path) -> None:
    with builtins.open(path, "rb") as file:
        run = tw.open(file)
        assert_same(run, path)
        assert str(path) in run.path
    with builtins.open(path, "rb", buffering=0) as raw:
        assert_same(tw.open(raw), path)
    assert_same(tw.open(Grudging(path.read_bytes())), path)


def test_files_of_others(real_data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as made:
        made.create_dataset("t/x", data=np.arange(10_000.0), chunks=(100,), compression="gzip")
        made.create_dataset("t/y", data=np.arange(10_000, dtype="int16"))
    written = sorted(real_data.rglob("*rntuple*.root"))
    for path in [other, *written[:3]]:
        with builtins.open(path, "rb") as file:
            assert_same(tw.open(file), path)


def test_one_request_asks_for_all_that_is_read_of_a_column(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Ranges] = []
    ask = _Object.__call__

    def counted(self: _Object, ranges: Ranges) -> list[bytes]:
        requests.append(ranges)
        return ask(self, ranges)

    monkeypatch.setattr(_Object, "__call__", counted)
    events = tw.open(io.BytesIO(path.read_bytes()))["events"]
    assert len(requests) == 1  # all metadata are at the begin or the end
    values = events["energy"][:]
    assert len(requests) == 2  # of five pages and more
    assert np.array_equal(values, tw.open(path)["events"]["energy"][:])
    first = requests[0]
    assert events["energy"][100].tolist() == values[100].tolist()
    assert len(requests) == 3
    assert sum(size for _, size in requests[2]) < sum(size for _, size in requests[1]) / 2, "one page of them"
    assert sum(size for _, size in first) < 600 * 1024


def test_the_file_is_not_asked_more_often_than_by_h5py(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as made:
        made.create_dataset("x", data=np.arange(100_000.0), chunks=(1000,), compression="gzip")
    ours, theirs = (Counting((tmp_path / "other.h5").read_bytes()) for _ in range(2))
    with h5py.File(theirs) as other:
        expected = other["x"][5000:60_000]
    found = next(iter(tw.open(ours).values()))["x"][5000:60_000]
    assert np.array_equal(found, expected)
    assert ours.calls <= theirs.calls


def test_threads_share_a_file_object(path: Path) -> None:
    with builtins.open(path, "rb") as file:
        events = tw.open(file)["events"]
        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(lambda i: events["time"][i * 1000 : (i + 1) * 1000], range(20)))
    assert np.array_equal(np.concatenate(parts), np.arange(ROWS))


@pytest.mark.parametrize("protocol", ["memory", "file", "http"])
def test_urls(path: Path, server: str, protocol: str) -> None:
    fsspec = pytest.importorskip("fsspec")
    url = {"memory": f"memory://far/{path.name}", "file": f"file://{path}", "http": f"{server}{path}"}[protocol]
    if protocol == "memory":
        with fsspec.open(url, "wb") as file:
            file.write(path.read_bytes())
    run = tw.open(url)
    assert_same(run, path)
    assert run.path == url
    events = pickle.loads(pickle.dumps(run["events"]))
    assert np.array_equal(events["time"][:], np.arange(ROWS))
    with fsspec.open(url, "rb") as file:
        assert_same(tw.open(file), path)


def test_what_cannot_be_read_is_said(path: Path, tmp_path: Path, server: str) -> None:
    with builtins.open(path) as text, pytest.raises(tw.UsageError, match="text mode"):
        tw.open(text)  # type: ignore[arg-type]
    with builtins.open(path, "rb") as file:
        run = tw.open(file)
        with pytest.raises(tw.UsageError, match="'w'"):
            tw.open(file, "w")
        with pytest.raises(tw.UsageError, match="external="):
            tw.open(file, external=tmp_path)
    with pytest.raises(ValueError, match="closed"):  # what the file object says itself
        run["events"]["time"][:]
    with pytest.raises(tw.UsageError, match="it is closed"):
        tw.open(file)
    begin, end = os.pipe()
    os.close(end)
    with builtins.open(begin, "rb") as pipe, pytest.raises(tw.UsageError, match="cannot seek"):
        tw.open(pipe)
    with pytest.raises(FileNotFoundError):
        tw.open(f"file://{tmp_path}/nothing.h5")
    with pytest.raises(FileNotFoundError):
        tw.open(f"{server}{tmp_path}/nothing.h5")
    with pytest.raises(ValueError, match="nonsense"):
        tw.open("nonsense://run.h5")
    with pytest.raises(tw.UsageError, match="no known format"):
        tw.open(io.BytesIO(b"neither of both" * 100))
    with pytest.raises(tw.UsageError, match="no known format"):
        tw.open(io.BytesIO())


def test_objects_can_be_neither_pickled_nor_followed(path: Path) -> None:
    run = tw.open(io.BytesIO(path.read_bytes()))
    for each in (run, run["events"]):
        with pytest.raises(tw.UsageError, match="cannot be pickled"):
            pickle.dumps(each)
        with pytest.raises(tw.UsageError, match="cannot be followed"):
            next(each.follow())


def test_a_file_that_is_shorter_than_it_was_is_an_error(path: Path) -> None:
    file = io.BytesIO(path.read_bytes())
    events = tw.open(file)["events"]
    file.truncate(200_000)
    with pytest.raises(tw.SystemError, match=r"of \d+ bytes at offset \d+ came"):
        events["energy"][:]


def test_a_cut_or_damaged_file_is_an_error(path: Path) -> None:
    content = bytearray(path.read_bytes())
    with pytest.raises(tw.DataError):
        tw.open(io.BytesIO(content[: len(content) // 2]))
    at = len(content) // 2
    content[at : at + 4096] = bytes(4096)
    events = tw.open(io.BytesIO(content))["events"]
    with pytest.raises(tw.DataError, match="BytesIO"):
        events.read()


class FilesInRanges(BaseHTTPRequestHandler):
    """Files of this machine, in ranges: http.server gives whole ones only."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        path = Path(self.path)
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        wanted = self.headers.get("Range")
        begin, end = 0, len(content)
        if wanted:
            first, last = wanted.removeprefix("bytes=").split("-")
            begin, end = int(first), min(int(last) + 1, len(content))
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - begin))
        if wanted:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        self.end_headers()
        if with_body:
            self.wfile.write(content[begin:end])

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("aiohttp")
    with ThreadingHTTPServer(("127.0.0.1", 0), FilesInRanges) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
