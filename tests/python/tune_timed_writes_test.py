"""Writes that are timed in a folder: k on storages with a known law, full disks, and disks that fail."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from storage_law import Law

MIB = 1 << 20
MEASURE = """
import dataclasses, json, sys
from pathlib import Path
from thalweg._base.errors import Error
from thalweg._tune.timed_writes import Effort, measure
folder, largest, repeats, most_s = Path(sys.argv[1]), *map(float, sys.argv[2:])
try:
    found, writes = measure(folder, Effort(int(largest), int(repeats), most_s))
except Error as error:
    sys.exit(f"{type(error).__name__}: {error}")
counts = {size: len(each) for size, each in writes.seconds.items()}
print(json.dumps(vars(found) | {"why": writes.why_no_larger, "counts": counts, "bytes": writes.bytes}))
"""


WITHOUT_UNNAMED = """
import os
real = os.open
def refusing(path, flags, *more):
    if flags & os.O_TMPFILE == os.O_TMPFILE:
        raise OSError(95, "Operation not supported")
    return real(path, flags, *more)
os.open = refusing
"""


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder whose own times are none beside those of a law."""
    folder = Path(tempfile.mkdtemp(prefix="thalweg-law-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def words(folder: Path, largest: int, repeats: int, most_s: float) -> list[str]:
    return [sys.executable, "-c", MEASURE, *map(str, (folder, largest, repeats, most_s))]


def measured(folder: Path, law: Law, largest: int, repeats: int = 5, most_s: float = 300) -> dict[str, Any]:
    done = subprocess.run(
        words(folder, largest, repeats, most_s),
        env=law.environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []  # nothing is left
    found: dict[str, Any] = json.loads(done.stdout)
    assert law.counts().bytes == found["bytes"]  # these are real writes
    return found


@pytest.mark.alone
@pytest.mark.parametrize(("latency_us", "bandwidth"), [(4_000, 20_000_000), (10_000, 20_000_000), (20_000, 10_000_000)])
def test_k_of_a_law(tmp_path: Path, in_memory: Path, latency_us: int, bandwidth: int) -> None:
    law = Law(in_memory, tmp_path / "law", stripe=1 << 40, latency_us=latency_us, bandwidth=bandwidth)
    found = measured(in_memory, law, 64 * MIB)
    assert found["k"] == pytest.approx(9 * latency_us * 1e-6 * bandwidth, rel=0.1), found
    assert found["why"] == ""
    assert set(found["counts"].values()) == {5}


@pytest.mark.alone
def test_k_of_stripes(tmp_path: Path, in_memory: Path) -> None:
    latency_s, bandwidth = 4e-3, 100_000_000
    law = Law(in_memory, tmp_path / "law", servers=4, stripe=MIB, latency_us=4000, bandwidth=bandwidth)
    found = measured(in_memory, law, 16 * MIB)
    highest = MIB / (latency_s + MIB / bandwidth)
    expected = 0.9 * highest * latency_s / (1 - 0.9 * highest / bandwidth)
    assert found["k"] == pytest.approx(expected, rel=0.1), found
    assert found["latency_s"] is None


def test_why_no_larger_writes_were_tried(tmp_path: Path, in_memory: Path) -> None:
    law = Law(in_memory, tmp_path / "law", stripe=1 << 40, latency_us=50_000, bandwidth=400_000_000)
    found = measured(in_memory, law, MIB, 1)
    assert (found["k"], found["largest"]) == (None, MIB)
    assert found["why"] == "larger ones than 1.05 MB are not tried"
    found = subprocess.run(
        words(in_memory, MIB, 1, 0.06), env=law.environment, capture_output=True, text=True, check=False
    )
    assert f"no writes can be timed in {in_memory} (those so far took 0.06 s)" in found.stderr


@pytest.mark.parametrize(
    ("size", "says"), [("16m", "8.39 MB are more than a quarter of the free space"), ("40k", "no writes can")]
)
def test_a_small_disk_is_not_filled(tmp_path: Path, size: str, says: str) -> None:
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    mount = f"mount -t tmpfs -o size={size} none {tmp_path}"
    if subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount here")
    line = [*unshare, "sh", "-c", f'{mount} && exec "$0" "$@"', *words(tmp_path, 64 * MIB, 2, 60)]
    # With 10 ms a write, only larger writes than those that have room would show a plateau.
    (tmp_path.parent / "law").mkdir(exist_ok=True)
    law = Law(tmp_path, tmp_path.parent / "law" / size, stripe=1 << 40, latency_us=10_000, bandwidth=1_000_000_000)
    done = subprocess.run(line, env=law.environment, capture_output=True, text=True, check=False)
    assert says in (done.stdout if done.returncode == 0 else done.stderr), done
    if done.returncode == 0:
        assert max(map(int, json.loads(done.stdout)["counts"])) == 4 * MIB


def failing(folder: Path, fault: str) -> subprocess.CompletedProcess[str]:
    strace = ["strace", "-f", "-o", "/dev/null", "-e", f"inject={fault}"]
    if subprocess.run([*strace[:-1], "inject=getuid:error=EPERM", "true"], check=False).returncode != 0:
        pytest.skip("strace cannot inject errors here")
    line = [*strace, *words(folder, MIB, 3, 60)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_disk_that_fails_is_named(tmp_path: Path, call: str) -> None:
    done = failing(tmp_path, f"{call}:error=EIO:when=6+")
    assert done.returncode == 1
    assert f"SystemError: writes in {tmp_path} cannot be timed (Input/output error): mend that, or" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_becomes_full_ends_the_measurement(tmp_path: Path) -> None:
    done = failing(tmp_path, "pwrite64:error=ENOSPC:when=7+")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sum(found["counts"].values()) == 6
    assert found["why"] == f"{tmp_path} is full: No space left on device"
    done = failing(tmp_path, "pwrite64:error=EDQUOT:when=2+")
    assert f"no writes can be timed in {tmp_path} ({tmp_path} is full: Disk quota exceeded)" in done.stderr


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = subprocess.run(words(tmp_path / "no", MIB, 3, 60), capture_output=True, text=True, check=False)
    assert f"writes in {tmp_path}/no cannot be timed (No such file or directory)" in done.stderr


def test_file_systems_without_unnamed_files_are_measured_too(tmp_path: Path) -> None:
    line = words(tmp_path, MIB, 2, 60)
    line[2] = WITHOUT_UNNAMED + line[2]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] > MIB
    assert list(tmp_path.iterdir()) == []
