"""`thalweg mount`: runs that are written, read through the kernel by programs that know nothing of Thalweg."""

import contextlib
import errno
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from live_runs import OFTEN, SCHEMA, append, check, recovers, when, written_by_three
from mounting import WHY_NOT, Held, mounted
from recording import THALWEG

import thalweg as tw

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def rows_of(path: Path) -> dict[int, int]:
    with Held(path) as file:
        return check(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "later").mkdir()
    with tw.create(folder / "later" / "closed.h5", SCHEMA) as out:
        append(out, 0, 5_000)
    shutil.copy(folder / "later" / "closed.h5", folder.with_name("outside.h5"))
    (folder / "link.h5").symlink_to(folder.with_name("outside.h5"))
    (folder / "later" / "up").symlink_to(folder.parent)
    (folder / "notes.txt").write_text("no run")
    return folder


@pytest.fixture(scope="module")
def live(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yields the place of a mount. Three processes write each of two runs."""
    place = tmp_path_factory.mktemp("shown")
    with written_by_three(folder / "run.h5"), written_by_three(folder / "run.root"), mounted(folder, place):
        yield place


def test_it_shows_runs_and_folders_and_nothing_else(folder: Path, live: Path) -> None:
    assert {path.name for path in live.iterdir()} == {"later", "link.h5", "run.h5", "run.root"}
    assert [path.name for path in (live / "later").iterdir()] == ["closed.h5"]
    closed = live / "later" / "closed.h5"
    assert closed.read_bytes() == (folder / "later" / "closed.h5").read_bytes()
    assert closed.stat().st_mtime_ns == (folder / "later" / "closed.h5").stat().st_mtime_ns
    for name in ("link.h5", "notes.txt", "none.h5", "later/up", "later/none/run.h5"):
        with pytest.raises(FileNotFoundError):
            (live / name).read_bytes()


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_programs_read_open_runs_at_random_instants(live: Path, name: str, long_mode: bool) -> None:
    rows: dict[int, int] = {}
    for _ in range(1_000 if long_mode else 15):
        time.sleep(random.uniform(0, 0.05))
        found = rows_of(live / name)
        assert all(found[producer] >= count for producer, count in rows.items())
        rows = found
    assert sum(rows.values()) > 0


def test_readers_of_different_images_do_not_disturb_each_other(live: Path) -> None:
    with contextlib.ExitStack() as stack:
        files, shapes = [], []
        for _ in range(4):
            before = shapes[-1] if shapes else 0
            when(lambda before=before: has_more_rows(live / "run.h5", before))
            files.append(stack.enter_context(h5py.File(live / "run.h5")))
            shapes.append(len(files[-1]["events/row"]))
        assert sorted(set(shapes)) == shapes
        for file, rows in zip(files, shapes, strict=True):
            assert len(file["events/row"][:]) == rows
            assert file["events/hits/cumulative_length"][-1] == len(file["events/hits/flattened_data"][:])


def has_more_rows(path: Path, rows: int) -> bool:
    with h5py.File(path) as file:
        return len(file["events/row"]) > rows


def test_h5ls_reads_an_open_run(live: Path, stock_tool: Callable[[str], str]) -> None:
    done = subprocess.run([stock_tool("h5ls"), "-r", live / "run.h5"], capture_output=True, text=True, check=True)
    assert re.search(r"/events/row +Dataset \{\d+/Inf\}", done.stdout)


def test_nothing_can_be_written(live: Path) -> None:
    for attempt in (
        lambda: os.open(live / "run.h5", os.O_RDWR),
        lambda: os.open(live / "new.h5", os.O_CREAT | os.O_WRONLY),
        lambda: os.remove(live / "run.h5"),
        lambda: os.rename(live / "run.h5", live / "other.h5"),
        lambda: (live / "new").mkdir(),
        lambda: os.truncate(live / "run.h5", 0),
    ):
        with pytest.raises(OSError, match="Read-only") as raised:
            attempt()
        assert raised.value.errno == errno.EROFS


@pytest.mark.parametrize("suffix", [".h5", ".root"])
def test_what_becomes_of_a_run(tmp_path: Path, suffix: str) -> None:
    """What was opened stays readable as it was, and what is opened next shows the new truth."""
    (tmp_path / "runs").mkdir()
    path, place = tmp_path / "runs" / f"run{suffix}", tmp_path / "shown"
    shown = place / path.name
    with contextlib.ExitStack() as stack:
        stack.enter_context(mounted(path.parent, place))
        opened: list[tuple[int, int]] = []  # descriptors and rows

        def rows_in(descriptor: int) -> int:
            (tmp_path / f"copy{suffix}").write_bytes(all_of(descriptor))
            return sum(check(tmp_path / f"copy{suffix}").values())

        def open_with(rows: int) -> None:
            when(lambda: shown.exists() and sum(rows_of(shown).values()) == rows)
            opened.append((stack.enter_context(open(shown, "rb")).fileno(), rows))

        out = tw.create(path, SCHEMA, tuning=OFTEN)
        append(out, 0, 1_000)
        open_with(1_000)
        out.abandon()
        with tw.create(path, SCHEMA, resume=True) as out:
            append(out, 1_000, 1_000)
            open_with(2_000)
        open_with(2_000)
        with tw.create(path, SCHEMA, force=True) as out:
            append(out, 0, 10)
        open_with(10)
        out = tw.create(path, SCHEMA, force=True, tuning=OFTEN)
        append(out, 0, 20)
        open_with(20)
        out.abandon()
        when(lambda: recovers(path))
        open_with(20)
        path.unlink()
        when(lambda: not shown.exists())
        assert [rows_in(descriptor) for descriptor, _ in opened] == [rows for _, rows in opened]


def all_of(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def test_a_file_that_is_overwritten_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "run.h5"
    path.write_bytes(np.random.default_rng(1).bytes(4 << 20))
    with mounted(path.parent, tmp_path / "shown") as mount, open(mount.place / "run.h5", "rb", buffering=0) as file:
        assert file.read(10)
        os.truncate(path, 2 << 20)
        with pytest.raises(OSError, match="Input/output"):
            os.pread(file.fileno(), 1 << 20, 3 << 20)
        time.sleep(0.3)  # a newer image is made
        assert (mount.place / "run.h5").read_bytes() == path.read_bytes()


def test_a_mount_whose_process_is_killed_gives_errors_and_is_cleared(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "shown"
    with mounted(folder, place) as mount, open(place / "later" / "closed.h5", "rb", buffering=0) as file:
        mount.process.kill()
        mount.process.wait()
        with pytest.raises(OSError, match="not connected") as raised:
            file.read(10)
        assert raised.value.errno == errno.ENOTCONN
        with pytest.raises(OSError, match="not connected"):
            list(place.iterdir())
        with pytest.raises(OSError, match="not connected"):
            file.close()
        again = subprocess.Popen([THALWEG, "mount", folder, place], stderr=subprocess.PIPE, text=True)
        try:
            assert again.stderr is not None
            assert "is shown in" in again.stderr.readline()
            assert (place / "later" / "closed.h5").stat().st_size
            subprocess.run(["fusermount3", "-u", place], check=True)
            assert (again.communicate(timeout=60)[1], again.returncode) == ("", 0)  # it was unmounted
        finally:
            again.kill()
            again.communicate()


def test_wrong_places(
    folder: Path, tmp_path: Path, thalweg_command: Callable[..., subprocess.CompletedProcess]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for place, said in [
        (folder / "later", "one is in the other"),
        (folder.parent, "one is in the other"),
        (tmp_path / "full", "it is not empty"),
        (tmp_path / "none", "No such file"),
        (tmp_path / "full" / "file", "Not a directory"),
    ]:
        done = thalweg_command("mount", folder, place)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_folder_that_was_removed_is_an_error_and_ends_nothing(tmp_path: Path) -> None:
    folder, place = tmp_path / "runs", tmp_path / "shown"
    (folder / "later").mkdir(parents=True)
    with mounted(folder, place):
        held = os.open(place / "later", os.O_PATH | os.O_DIRECTORY)
        try:
            (folder / "later").rmdir()
            with pytest.raises(FileNotFoundError):
                os.listdir(f"/proc/self/fd/{held}")
        finally:
            os.close(held)
        assert list(place.iterdir()) == []
