"""`thalweg record` on disks that vanish, fail, are taken away or are small. Each has a mount namespace of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recording import THALWEG

PREPARE = """
import fcntl, json, os, re, shutil, struct, subprocess, sys, time, urllib.request
from pathlib import Path

thalweg, folder = sys.argv[1], Path(sys.argv[2])
disk, image = folder / "disk", folder / "image"
disk.mkdir()


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert code is None or done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def ext4(size, image=image):
    run("truncate", "-s", size, image)
    run("mkfs.ext4", "-q", "-F", "-O", "^has_journal" if "small" in str(image) else "has_journal", image)
    mount(image)


def mount(image=image):
    run("mount", "-o", "loop", image, disk)


def vanish():
    handle = os.open(disk, os.O_RDONLY)
    fcntl.ioctl(handle, 0x8004587D, struct.pack("I", 2))  # EXT4_IOC_SHUTDOWN, without a last write of its log
    os.close(handle)


class Recorder:
    def __init__(self, *options):
        words = [thalweg, "record", "--json", "--metrics", "0", *options]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""
        while "durable lag" not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line
        time.sleep(2)

    def end(self):
        out, err = self.process.communicate(timeout=100)
        self.said += err
        return json.loads(out)


def rows(path):
    return run(sys.executable, "-c", "import sys, h5py; print(len(h5py.File(sys.argv[1])['ch0/timestamp']))", path)
"""

VANISHES = """
ext4("120M")
recorder = Recorder("--channels", "1", "--rate", "500Hz", "--samples", "1000", "--out", disk / "run.h5")
begin = time.monotonic()
vanish()
report = recorder.end()
seconds = time.monotonic() - begin
assert seconds < 20, seconds
assert recorder.process.returncode == 1
assert report["ended_by"] == "failure"
# Whether the card had counted triggers that were not yet taken depends on the moment.
problem, *left = report["problems"]
not_taken = report["not_taken_triggers"]
assert len(left) == (not_taken > 0), left
assert all(each.startswith(f"at least {not_taken:,} of {report['triggers']:,} triggers ") for each in left), left
assert "its committer failed" in problem and "Input/output error" in problem, problem
assert recorder.said.count(f"thalweg: {problem}") == 2  # when it happened, and at the end
assert [file["complete"] for file in report["files"]] == [False]
done = run(thalweg, "record", "--channels", "1", "--records", "1", "--out", disk / "other.h5", code=None)
assert done.returncode in (1, 2) and "Traceback" not in done.stderr
run("umount", disk)
mount()
done = run(thalweg, "recover", disk / "run.h5", code=None)
assert "is complete" in done.stdout, done.stderr
assert int(rows(disk / "run.h5").stdout) > 500
print(f"{seconds:.1f} s")
"""

FAILS = """
# The disk is larger than what lies below it: writes fail as on a device with bad blocks.
below = folder / "small"
below.mkdir()
run("mount", "-t", "tmpfs", "-o", "size=30m", "none", below)
ext4("300M", below / "image")
options = ["--channels", "2", "--rate", "2kHz", "--samples", "1000", "--codec", "none", "--duration", "60s"]
recorder = Recorder(*options, "--out", disk / "run.h5")
report = recorder.end()
assert recorder.process.returncode == 1
assert report["ended_by"] == "failure", report
# What the kernel makes of a device that has no more: this depends on the call.
assert re.search("Input/output error|No space left", " ".join(report["problems"])), report["problems"]
assert recorder.said.count("thalweg: " + report["problems"][0]) == 2
assert [file["complete"] for file in report["files"]] == [False]
assert report["seconds"] + report["close_seconds"] < 50
"""

TAKEN_AWAY = """
ext4("120M")
options = ["--channels", "1", "--rate", "500Hz", "--samples", "1000", "--duration", "6s"]
recorder = Recorder(*options, "--out", disk / "run.h5")
run("umount", "-l", disk)
report = recorder.end()
assert report["ended_by"] == "duration", (report, recorder.said)
assert [file["complete"] for file in report["files"]] == [True]
assert "run.h5 was moved while it is being written" in recorder.said
assert "it is complete where it is now" in " ".join(report["files"][0]["notes"])
assert "not complete" not in recorder.said
mount()
assert int(rows(disk / "run.h5").stdout) == report["rows"] == report["triggers"] > 2000
done = run(thalweg, "recover", disk / "run.h5")
assert not (disk / "run.h5.journal").exists()
run(thalweg, "verify", disk / "run.h5")
"""

SMALL = """
def free():
    found = os.statvfs(disk)
    return found.f_bavail / found.f_blocks

for size, name, options in (
    ("70m", "run.h5", ["--channels", "2", "--rate", "2kHz"]),
    ("60m", "run.root", ["--channels", "1", "--samples", "4000", "--rate", "3kHz", "--max-file-size", "8MB"]),
):
    run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk)
    done = run(thalweg, "record", "--json", "--duration", "60s", "--out", disk / name, *options, code=1)
    report = json.loads(done.stdout)
    # Whether a file was due while the disk was full depends on the moment.
    full, *rotations, left = report["problems"]
    assert all(each.startswith("the next file cannot be begun") for each in rotations), rotations
    assert "takes no more rows at present (No space left on device)" in full, full
    assert "append again" not in done.stderr, done.stderr
    assert "were abandoned" not in done.stderr, done.stderr
    assert "memory_bytes" not in done.stderr, done.stderr
    rows = sum(sum(file["rows"].values()) for file in report["files"])
    not_taken = report["triggers"] - report["lost_triggers"] - rows
    assert left.startswith(f"at least {not_taken:,} of {report['triggers']:,} triggers are in no file"), left
    assert report["not_taken_triggers"] == not_taken > 0
    assert all(file["complete"] for file in report["files"])
    assert free() < 0.25, free()
    run(thalweg, "verify", report["files"][-1]["path"])
    run("umount", disk)
"""

RING = """
# A user removes old files: the run goes on for ever on a disk that has room for a few.
run("mount", "-t", "tmpfs", "-o", "size=40m", "none", disk)
options = ["--channels", "1", "--samples", "4000", "--rate", "1kHz", "--duration", "12s", "--max-file-size", "4MB"]
process = subprocess.Popen([thalweg, "record", "--json", *options, "--out", disk / "run.h5"], stdout=subprocess.PIPE)
while process.poll() is None:
    done = [file for file in sorted(disk.glob("*.h5")) if not Path(f"{file}.journal").exists()]
    for file in done[:-1]:
        file.unlink()
    time.sleep(0.3)
report = json.loads(process.stdout.read())
assert process.returncode == 0, report["problems"]
assert report["rows"] == report["triggers"] > 10_000
assert len(report["files"]) > 3
"""

SCRIPTS = {"vanishes": VANISHES, "fails": FAILS, "taken_away": TAKEN_AWAY, "small": SMALL, "ring": RING}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_on_disks_that_vanish_fail_or_are_small(tmp_path: Path, script: str) -> None:
    unshare = ["unshare", "--mount"]
    probe = (
        f"truncate -s 8M {tmp_path}/probe && mkfs.ext4 -q -F {tmp_path}/probe && mount -o loop {tmp_path}/probe /mnt"
    )
    if os.geteuid() != 0 or subprocess.run([*unshare, "sh", "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip("no loop device can be mounted here (not root)")
    words = [*unshare, sys.executable, "-c", PREPARE + script, THALWEG, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
