"""`thalweg serve`: what viewers and programs read of runs that are written, and what bad clients get."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import fsspec
import h5py
import jsroot
import pytest
import uproot
from live_runs import OFTEN, SCHEMA, append, check, recovers, when, written_by_three
from readers.programs_of_others import Served, expected, reader_of
from recording import SMALL, recording
from serving import Shown, shown

import thalweg as tw


@contextlib.contextmanager
def opened(url: str) -> Iterator[object]:
    """What `check` takes: uproot has its own way to URLs."""
    if url.endswith(".root"):
        yield url
        return
    with fsspec.open(url, "rb", block_size=64 << 10) as file:
        yield file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "later").mkdir()
    with tw.create(folder / "later" / "closed & done.h5", SCHEMA) as out:
        append(out, 0, 5_000)
    shutil.copy(folder / "later" / "closed & done.h5", folder.with_name("outside.h5"))
    (folder / "link.h5").symlink_to(folder.with_name("outside.h5"))
    (folder / "noise.h5").write_bytes(bytes(range(256)) * 40)
    os.mkfifo(folder / "pipe.h5")
    return folder


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[Shown]:
    """A folder in which three processes write each of two runs."""
    with written_by_three(folder / "run.h5"), written_by_three(folder / "run.root"), shown(folder) as server:
        yield server


def test_the_list_has_all_runs(live: Shown) -> None:
    when(lambda: live.runs()["run.h5"]["rows"].get("events", 0) > 0)
    runs = live.runs()
    assert {name: run["state"] for name, run in runs.items()} == {
        "later/closed & done.h5": "complete",
        "link.h5": "unreadable",
        "noise.h5": "unreadable",
        "pipe.h5": "unreadable",
        "run.h5": "open",
        "run.root": "open",
    }
    closed = runs["later/closed & done.h5"]
    assert closed["rows"] == {"events": 5_000}
    assert live.get(closed["image"]).status == 200
    assert "no run 'link.h5'" in runs["link.h5"]["problem"]
    assert runs["noise.h5"]["problem"]
    page = live.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    text = page.body.decode()
    assert "closed &amp; done.h5" in text
    assert f'href="{live.runs()["later/closed & done.h5"]["image"]}"' in text


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_programs_read_open_runs_at_random_instants(live: Shown, name: str, long_mode: bool) -> None:
    rows: dict[int, int] = {}
    for _ in range(1_000 if long_mode else 15):
        time.sleep(random.uniform(0, 0.05))
        with opened(live.image_url(name)) as file:
            found = check(file)
        assert all(found[producer] >= count for producer, count in rows.items())
        rows = found
    assert sum(rows.values()) > 0


def test_an_image_stays_while_newer_ones_come(live: Shown) -> None:
    first = live.image("run.h5")
    bytes_ = live.get(first).body
    when(lambda: live.image("run.h5") != first)
    again = live.get(first)
    assert again.body == bytes_
    assert live.get(live.image("run.h5")).headers["etag"] != again.headers["etag"]


def test_jsroot_reads_an_open_run_by_its_address(live: Shown) -> None:
    url = live.image_url("run.root")
    found = jsroot.tables_of(url)["events"]
    arrays = uproot.open(url)["events"].arrays()
    assert found["rows"] == len(arrays) > 0
    for field in ("producer", "row", "hits"):
        assert jsroot.is_same(found["fields"][field], arrays[field].to_list()), field


def test_h5wasm_reads_an_open_run_by_its_address(live: Shown) -> None:
    wasm, why_not = reader_of("h5wasm")
    if not isinstance(wasm, Served):
        pytest.skip(why_not)
    try:
        url = live.image_url("run.h5")
        with opened(url) as file:
            right = expected(file)
        assert right
        found = wasm(url)
        assert {name: found[name] for name in right} == right
    finally:
        wasm.end()


def test_h5ls_reads_what_was_fetched(live: Shown, tmp_path: Path, stock_tool) -> None:
    (tmp_path / "fetched.h5").write_bytes(live.get(live.image("run.h5")).body)
    done = subprocess.run([stock_tool("h5ls"), "-r", tmp_path / "fetched.h5"], capture_output=True, text=True)
    assert "/events/row" in done.stdout
    assert sum(check(tmp_path / "fetched.h5").values()) > 0


def test_images_of_another_server_and_of_another_name_are_not_found(live: Shown) -> None:
    path = live.image("run.h5")
    assert live.get(path.replace("run.h5", "run.root")).status == 404
    assert live.get(path.replace("/images/", "/images/0")).status == 404
    assert b"take a newer one" in live.get(path.replace("-", "-9999999")).body


@pytest.mark.parametrize("suffix", [".h5", ".root"])
def test_what_becomes_of_a_run(tmp_path: Path, suffix: str) -> None:
    """Old images stay readable, and new ones show the new truth."""
    path = tmp_path / f"run{suffix}"
    with shown(tmp_path) as server:

        def image_of(rows: int) -> str:
            when(lambda: server.runs().get(path.name, {}).get("rows") == {"events": rows})
            return server.image_url(path.name)

        def rows_in(url: str) -> int:
            with opened(url) as file:
                return sum(check(file).values())

        out = tw.create(path, SCHEMA, tuning=OFTEN)
        append(out, 0, 1_000)
        images = {image_of(1_000): 1_000}
        out.abandon()
        when(lambda: server.runs()[path.name]["state"] == "unfinished")
        with tw.create(path, SCHEMA, resume=True) as out:
            append(out, 1_000, 1_000)
            images[image_of(2_000)] = 2_000
        when(lambda: server.runs()[path.name]["state"] == "complete")
        images[image_of(2_000)] = 2_000
        assert {url: rows_in(url) for url in images} == images
        with tw.create(path, SCHEMA, force=True) as out:
            append(out, 0, 10)
        images[image_of(10)] = 10
        assert {url: rows_in(url) for url in images} == images
        out = tw.create(path, SCHEMA, force=True, tuning=OFTEN)
        append(out, 0, 20)
        images[image_of(20)] = 20
        out.abandon()
        when(lambda: recovers(path))
        when(lambda: server.runs()[path.name]["state"] == "complete")
        images[image_of(20)] = 20
        path.unlink()
        assert server.runs() == {}
        assert {url: rows_in(url) for url in images} == images
        assert server.get(f"/newest/{path.name}").status == 404


def test_the_files_of_a_run_that_goes_on_in_the_next_one(tmp_path: Path) -> None:
    options = (*SMALL, "--rate", "30kHz", "--max-file-size", "100kB")
    with shown(tmp_path) as server, recording(tmp_path / "run.h5", *options) as recorder:
        when(lambda: any(run["rows"] for run in server.runs().values()))
        first = min(name for name, run in server.runs().items() if run["rows"])
        image = server.image(first)
        bytes_ = server.get(image).body
        when(lambda: [run["state"] for run in server.runs().values()].count("complete") >= 1)
        assert server.runs()[first]["state"] == "complete"
        assert server.get(image).body == bytes_
        recorder.signal(signal.SIGINT)
        recorder.report()
        when(lambda: {run["state"] for run in server.runs().values()} == {"complete"})


def test_a_copy_without_its_journal_is_not_called_complete(live: Shown, folder: Path) -> None:
    copied = folder / "later" / "copied.root"

    def is_readable() -> bool:  # once it has an interim footer
        shutil.copy(folder / "run.root", copied)
        return live.runs()["later/copied.root"]["state"] != "unreadable"

    when(is_readable)
    run = live.runs()["later/copied.root"]
    copied.unlink()
    assert run["state"] == "unfinished"
    assert "rows may be missing" in run["problem"]


def test_a_file_that_is_overwritten_is_an_error(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        append(out, 0, 100_000)
    with shown(tmp_path) as server:
        path = server.image("run.h5")
        assert server.get(path, method="HEAD").status == 200
        size = (tmp_path / "run.h5").stat().st_size
        with open(tmp_path / "run.h5", "r+b") as file:
            file.truncate(size // 2)
        answer = server.get(path)
        assert answer.status == 410
        assert b"is not the file that was opened" in answer.body


def test_a_server_that_is_killed_gives_errors(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        append(out, 0, 300_000)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(shown(tmp_path))
        file = stack.enter_context(fsspec.open(server.image_url("run.h5"), "rb", block_size=4096))
        begun = h5py.File(file)
        server.process.kill()
        server.process.wait()
        with pytest.raises((OSError, aiohttp.ClientError)):
            begun["events/row"][:]


def test_many_at_once_share_an_image(live: Shown) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(live.image("run.h5"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert len(set(found)) < 20
    assert json.loads(live.get("/runs.json").body)
