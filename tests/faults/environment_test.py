"""Tests full disks, a full /dev/shm, unwritable places, unusual file systems: the error is clear, and no row is
lost."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from faults import Driver


@dataclass
class Said:
    """The output of all calls of the driver."""

    lines: list[str]
    published: dict[int, int] = field(default_factory=dict)
    sound: dict[int, int] | None = None

    def __post_init__(self) -> None:
        for line in self.lines:
            word, _, rest = line.partition(" ")
            if word == "rows":
                who, rows = map(int, rest.split())
                self.published[who] = rows
            if word == "sound":
                numbers = list(map(int, rest.split()))
                self.sound = dict(zip(numbers[::2], numbers[1::2], strict=True))

    def all(self, word: str) -> list[str]:
        return [line.partition(" ")[2] for line in self.lines if line.split(" ")[0] == word]

    def expect_all_there(self) -> None:
        assert self.sound is not None, self.lines[-5:]
        for who, rows in self.published.items():
            assert self.sound.get(who, 0) >= rows


@dataclass
class Place:
    """Runs shell commands with mounts of their own: `$driver`, `$place` (a folder), `$path` (a file there), `$name`."""

    driver: Driver
    folder: Path
    file_name: str

    def play(self, *commands: str, mounts: str = "", timeout_s: float = 300, **environment: str) -> Said:
        unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
        if mounts:
            mounted = subprocess.run([*unshare, "bash", "-c", self._words(mounts)], env=self._variables(), check=False)
            if mounted.returncode != 0:
                pytest.skip("this user may not mount here: " + mounts)
        script = "\n".join([self._words(mounts), *commands])
        done = subprocess.run(
            [*(unshare if mounts else []), "bash", "-c", script],
            env=os.environ | self._variables() | environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Said(done.stdout.splitlines())

    def _variables(self) -> dict[str, str]:
        place = self.folder / "place"
        place.mkdir(exist_ok=True)
        variables = {"driver": self.driver.program, "place": place, "folder": self.folder}
        variables |= {"name": self.file_name, "path": place / self.file_name}
        return dict(os.environ) | {name: str(value) for name, value in variables.items()}

    def _words(self, mounts: str) -> str:
        return f"set -e\n{mounts}\nset +e" if mounts else ""


@pytest.fixture(params=["run.h5", "run.root"])
def place(request: pytest.FixtureRequest, driver: Driver, tmp_path: Path) -> Place:
    return Place(Driver(driver.program.absolute()), tmp_path, request.param)


WRITE = '"$driver" write "$path" 3 1000000; echo code $?'
CHECK = '"$driver" check "$path"; ls "$place" | sed "s/^/there /"'


def tmpfs(size: str, where: str = "$place") -> str:
    return f'mount -t tmpfs -o size={size} none "{where}"'


def ext4(size: str) -> str:
    return (
        f'truncate -s {size} "$folder/image" && mkfs.ext4 -q -F "$folder/image" && '
        'mount -o loop "$folder/image" "$place" && rm -rf "$place/lost+found"'
    )


@pytest.mark.parametrize("mounts", [tmpfs("40m"), tmpfs("64m"), ext4("48m"), ext4("80m")])
def test_a_run_on_a_full_disk_is_closed_with_what_it_has(place: Place, mounts: str) -> None:
    said = place.play(WRITE, CHECK, mounts=mounts)
    errors = said.all("error")
    assert len(errors) >= 3
    assert all("No space left on device" in error for error in errors), errors
    assert said.all("closed"), said.lines[-8:]
    assert said.all("there") == [place.file_name]
    said.expect_all_there()


# The space that is kept free is a share of the disk: all else is for rows. (ext4 needs 8 MB for itself.)
@pytest.mark.parametrize(("mounts", "least_mb"), [(tmpfs("80m"), 55), (ext4("80m"), 45), (tmpfs("20m"), 6)])
def test_a_small_disk_is_filled_with_rows(place: Place, mounts: str, least_mb: int) -> None:
    said = place.play(WRITE, 'stat --format="size %s" "$path"', CHECK, mounts=mounts)
    assert said.all("closed"), said.lines[-8:]
    assert int(said.all("size")[0]) >= least_mb * 1e6
    said.expect_all_there()


@pytest.mark.parametrize("mounts", [tmpfs("64m"), ext4("80m")])
@pytest.mark.parametrize("delay_s", [0.05, 0.2])
def test_another_program_may_fill_the_disk(place: Place, mounts: str, delay_s: float) -> None:
    begun = 'until "$driver" check "$path" 2>/dev/null | grep -q "sound 0"; do sleep 0.01; done'
    filler = f'({begun}; sleep {delay_s}; cat /dev/zero > "$place/filler" 2>/dev/null) &'
    said = place.play(filler, WRITE, 'wait; rm "$place/filler"', CHECK, mounts=mounts)
    assert said.all("closed"), said.lines[-8:]
    said.expect_all_there()


def test_a_disk_too_small_for_any_run(place: Place) -> None:
    for size in ("4k", "16k", "64k", "1m"):
        said = place.play(WRITE, 'ls "$place" | sed "s/^/there /"', mounts=tmpfs(size))
        assert said.all("code") == ["1"]
        assert "No space left on device" in said.all("error")[-1]
        assert said.all("there") == []


def test_limit_on_the_size_of_files(place: Place) -> None:
    said = place.play("trap '' XFSZ; ulimit -f 60000", WRITE, CHECK)
    assert any("File too large" in error for error in said.all("error"))
    assert said.all("closed"), said.lines[-8:]
    said.expect_all_there()


# The default of containers is 64 MB; the driver's producers are small, so here it is less.
@pytest.mark.parametrize("size", ["64k", "600k"])
def test_without_room_in_shared_memory_files_beside_the_data_serve(place: Place, size: str) -> None:
    commands = ['"$driver" write "$path" 3 3000; echo code $?', CHECK, 'ls /dev/shm | sed "s/^/there /"']
    said = place.play(*commands, mounts=tmpfs(size, "/dev/shm"))
    assert said.all("code") == ["0"], said.lines[-8:]
    assert said.all("closed") == ["6300"]
    assert said.all("there") == [place.file_name]
    said.expect_all_there()


@pytest.mark.parametrize("size", ["64k", "600k"])
def test_without_room_in_shared_memory_a_kill_loses_nothing(place: Place, size: str) -> None:
    said = place.play(
        'setsid "$driver" write "$path" 3 1000000 & run=$!',
        'until "$driver" check "$path" 2>/dev/null | grep -q "sound 0"; do sleep 0.01; done; sleep 0.3',
        'kill -KILL -- -$run; wait $run',
        'until said=$("$driver" recover "$path"); do sleep 0.05; done; echo "$said"',  # when all of them are gone
        CHECK, 'ls /dev/shm | sed "s/^/there /"', mounts=tmpfs(size, "/dev/shm"),
    )  # fmt: skip
    assert [line.split()[1] for line in said.all("recovered")] == ["0"], said.lines[-8:]  # lost
    assert not said.all("note")
    assert said.all("there") == [place.file_name]
    assert said.published
    said.expect_all_there()


def test_room_neither_in_shared_memory_nor_in_the_folder_that_is_named(place: Place) -> None:
    mounts = tmpfs("64k", "/dev/shm") + ' && mkdir -p "$folder/memory" && ' + tmpfs("64k", "$folder/memory")
    commands = [WRITE, 'ls "$place" /dev/shm "$folder/memory" | grep -e run -e thalweg | sed "s/^/there /"']
    said = place.play(*commands, mounts=mounts, THALWEG_MEMORY_FOLDER=str(place.folder / "memory"))
    assert said.all("code") == ["1"]
    assert "let THALWEG_MEMORY_FOLDER name a folder with room" in said.all("error")[-1]
    assert said.all("there") == []


def test_a_place_that_cannot_be_written(place: Place) -> None:
    said = place.play(WRITE, mounts=tmpfs("8m") + ' && mount -o remount,ro "$place"')
    assert said.all("code") == ["1"]
    assert re.search(r"run\.\w+.*Read-only file system", said.all("error")[-1])
    said = place.play('"$driver" write "$place/no/$name" 1 10; echo code $?')
    assert re.search(r"run\.\w+ \(there is no folder .*/no\): make it first", said.all("error")[-1])


def test_overlayfs(place: Place) -> None:
    mounts = tmpfs("200m") + (
        ' && cd "$place" && mkdir lower upper work merged && '
        "mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged && path=$place/merged/$name"
    )
    said = place.play('"$driver" write "$path" 3 3000', '"$driver" check "$path"', mounts=mounts)
    assert said.all("closed") == ["6300"]
    said.expect_all_there()
    said = place.play(
        '"$driver" write "$path" 1 1000000 & run=$!',  # a slow stream
        'until "$driver" check "$path" | grep -q "sound 0"; do sleep 0.05; done; kill -KILL $run; wait $run',
        'until said=$("$driver" recover "$path"); do sleep 0.05; done; echo "$said"',  # when its producer is gone
        '"$driver" check "$path"', mounts=mounts,
    )  # fmt: skip
    assert said.all("recovered")
    assert said.published[0] > 0
    said.expect_all_there()


def test_two_recorders_on_one_path(place: Place) -> None:
    both = (
        '"$driver" write "$path" 2 20000 & until [ -e "$path.journal" ]; do sleep 0.01; done; '
        '"$driver" write "$path" 1 10; echo code $?; wait'
    )
    said = place.play(both, CHECK)
    assert said.all("code") == ["1"]
    assert "still being written" in said.all("error")[0] or "journal" in said.all("error")[0]
    assert said.all("closed") == ["22000"]
    assert said.all("there") == [place.file_name]


def test_io_uring_forbidden(place: Place) -> None:
    said = place.play('"$driver" write "$path" 3 3000', CHECK, THALWEG_IO_URING="0")
    assert said.all("closed") == ["6300"]
    said.expect_all_there()


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    static unsigned calls;
    if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    int const result = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += ++calls % 2 ? 86400 : -86400;
    return result;
}
"""


def test_a_wall_clock_that_steps(place: Place, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    (tmp_path / "clock.c").write_text(CLOCK)
    library = tmp_path / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c", "-ldl"], check=True)
    said = place.play('"$driver" write "$path" 3 3000', CHECK, LD_PRELOAD=str(library))
    assert said.all("closed") == ["6300"]
    said.expect_all_there()
