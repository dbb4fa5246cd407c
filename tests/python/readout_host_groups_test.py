"""The control groups and the folder of `thalweg readout host`: what is made, and what a killed host has left."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thalweg._readout.host.child import Child
from thalweg._readout.host.folder import own_folder
from thalweg._readout.host.groups import ControlGroups, Group, Share
from thalweg._readout.host.hierarchies import own_groups

# Which groups there are

VERSION_1 = "4:memory:/daq\n3:cpuset:/\n1:name=systemd:/\n0::/\n"
VERSION_2 = "0::/system.slice/host.service\n"


def proc(folder: Path, cgroup: str, *mounts: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cgroup").write_text(cgroup)
    (folder / "mountinfo").write_text("".join(f"{30 + n} 23 0:{n} {line}\n" for n, line in enumerate(mounts)))
    return folder


def test_groups_of_version_1_have_a_folder_for_each_controller(tmp_path: Path) -> None:
    at = proc(
        tmp_path / "proc", VERSION_1,
        "/ /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory",
        "/ /sys/fs/cgroup/cpu\\040set rw,relatime - cgroup cgroup rw,cpuset",
        "/ /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
    )  # fmt: skip
    own = own_groups(at)
    assert (own["memory"].version, str(own["memory"].folder)) == (1, "/sys/fs/cgroup/memory/daq")
    assert (own["cpuset"].version, str(own["cpuset"].folder)) == (1, "/sys/fs/cgroup/cpu set")


def test_a_container_sees_its_own_part_of_the_tree(tmp_path: Path) -> None:
    at = proc(tmp_path / "proc", "4:memory:/docker/abc/inner\n", "/docker/abc /cg rw - cgroup cgroup rw,memory")
    assert str(own_groups(at)["memory"].folder) == "/cg/inner"
    at = proc(tmp_path / "proc", "4:memory:/docker/abc\n", "/docker/other /cg rw - cgroup cgroup rw,memory")
    assert "is mounted without the group of this process, /docker/abc" in own_groups(at)["memory"].problem
    at = proc(tmp_path / "proc", "4:memory:/../abc\n", "/ /cg rw - cgroup cgroup rw,memory")
    assert "without the group" in own_groups(at)["memory"].problem


def test_what_is_not_there_has_a_reason(tmp_path: Path) -> None:
    assert own_groups(proc(tmp_path / "a", VERSION_1))["memory"].problem == "the controller memory is not mounted"
    assert own_groups(proc(tmp_path / "b", "1:cpu:/\n"))["cpuset"].problem == "the kernel has no controller cpuset"
    assert "cannot be read (No such file" in own_groups(tmp_path / "none")["cpuset"].problem


class Fake:
    """A tree of files in the place of a hierarchy of version 2, as systemd delegates it to a service."""

    def __init__(self, folder: Path, controllers: str = "cpuset cpu memory pids") -> None:
        self.own = folder / "cg" / "system.slice" / "host.service"
        self.own.mkdir(parents=True)
        files = {"cgroup.controllers": controllers, "cgroup.subtree_control": "", "cpuset.mems.effective": "0-1\n"}
        for name, text in (files | {"cgroup.procs": f"{os.getpid()}\n"}).items():
            (self.own / name).write_text(text)
        self.proc = proc(folder / "proc", VERSION_2, f"/ {folder / 'cg'} rw - cgroup2 cgroup2 rw")

    def groups(self) -> ControlGroups:
        return ControlGroups(own_groups(self.proc))

    def inside(self, what: str) -> Path:
        return self.own / f"thalweg-host-{os.getpid()}-{what}"


def test_groups_of_version_2(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    made = fake.groups().make(0, Share((2, 3, 5), (1,), 1 << 30))
    assert made.refused == {}
    assert made.granted == {"cpuset": "processors 2-3,5, memory node 1", "memory": "at most 1.07 GB"}
    assert made.joins == [str(fake.inside("0") / "cgroup.procs")]
    assert (fake.own / "cgroup.subtree_control").read_text() == "+cpuset +memory"
    assert (fake.inside("supervisor") / "cgroup.procs").read_text() == str(os.getpid())
    files = {"cpuset.cpus": "2-3,5", "cpuset.mems": "1", "memory.max": str(1 << 30), "memory.oom.group": "1"}
    assert {name: (fake.inside("0") / name).read_text() for name in files} == files


def test_a_kill_for_memory_is_seen_once(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    made = fake.groups().make(0, Share(memory_bytes=1 << 30))
    assert list(made.granted) == ["memory"]
    (fake.inside("0") / "memory.events").write_text("low 0\nmax 7\noom 0\noom_kill 0\n")
    assert not made.was_killed_for_memory()
    (fake.inside("0") / "memory.events").write_text("low 0\nmax 7\noom 1\noom_kill 1\n")
    assert made.was_killed_for_memory()
    assert not made.was_killed_for_memory()


def test_a_kill_that_cannot_be_asked_about_is_no_other_kill(tmp_path: Path) -> None:
    """A handler that was killed is not said to have been killed by a user, if the kernel does not say."""
    fake = Fake(tmp_path)
    group = fake.groups().make(0, Share(memory_bytes=1 << 30))
    counts = fake.inside("0") / "memory.events"
    with pytest.raises(OSError, match="No such file"):
        group.was_killed_for_memory()
    counts.write_text("low 0\noom 3\n")  # an old kernel
    with pytest.raises(OSError, match="it has no line oom_kill"):
        group.was_killed_for_memory()
    counts.write_text("oom_kill 1\n")
    with pytest.raises(OSError, match="it could not be read before"):
        group.was_killed_for_memory()
    assert not group.was_killed_for_memory()
    counts.unlink()
    child = Child(["/bin/sleep", "1000"], Group(kills=counts), Share(), [].append)
    child.kill()
    while not (ending := child.ending()):
        time.sleep(0.01)
    assert (ending.why, ending.for_memory) == ("signal", False)
    assert ending.sentence() == (
        f"it was ended by SIGKILL (whether for its memory could not be asked: {counts}: No such file or directory)"
    )


def test_groups_that_cannot_be_removed_are_named(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = fake.own / f"thalweg-host-{ended.pid}-0"
    (left / "has something").mkdir(parents=True)
    (left / "cgroup.procs").write_text("12\n34\n")
    groups = fake.groups()
    assert groups.left_over == [f"{left} (Directory not empty, it has the processes 12, 34)"]
    groups.make(0, Share(memory_bytes=1 << 30))
    (fake.inside("0") / "inner").mkdir()
    found = groups.close()
    assert found[0] == f"{fake.inside('0')} (Directory not empty)"


def test_a_group_that_has_other_processes_cannot_hand_its_controllers_on(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    (fake.own / "cgroup.procs").write_text(f"1\n{os.getpid()}\n")
    made = fake.groups().make(0, Share((0,), (0,), 1 << 30))
    assert made.granted == {}
    assert set(made.refused) == {"cpuset", "memory"}
    assert re.search(r"host\.service has other processes \(1\): start the command", made.refused["memory"])


def test_controllers_that_are_not_delegated_are_named(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "pids memory")
    made = fake.groups().make(0, Share((0,), (0,), 1 << 30))
    assert list(made.granted) == ["memory"]
    assert "has no controller cpuset: a unit of systemd needs Delegate=yes" in made.refused["cpuset"]


def test_what_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    (fake.inside("0") / "memory.max").mkdir(parents=True)
    made = fake.groups().make(0, Share((1,), (0,), 1 << 30))
    assert list(made.granted) == ["cpuset"]
    assert re.search(r"memory\.max: Is a directory", made.refused["memory"])


def test_groups_of_a_supervisor_that_was_killed_are_removed(tmp_path: Path) -> None:
    fake = Fake(tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = fake.own / f"thalweg-host-{ended.pid}-0"
    left.mkdir()
    fake.inside("0").mkdir()
    fake.groups()
    assert not left.exists()
    assert fake.inside("0").exists()


# The folder of the control sockets

HOST = """
import sys, time
from thalweg._readout.host.folder import own_folder
with own_folder(print) as folder:
    (folder / "0.sock").touch()
    print(folder, flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_when_its_host_was_killed_and_not_before(place: Path) -> None:
    said: list[str] = []
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True, env=environment) as host:
        assert host.stdout
        folder = Path(host.stdout.readline().strip())
        with own_folder(said.append) as ours:
            assert {each.name for each in place.iterdir()} == {folder.name, ours.name}
        assert [each.name for each in place.iterdir()] == [folder.name]
        host.send_signal(signal.SIGKILL)
        host.wait()
    assert (folder / "0.sock").exists()
    with own_folder(said.append) as ours:
        assert [each.name for each in place.iterdir()] == [ours.name]
    assert (list(place.iterdir()), said) == ([], [])


def test_folders_that_are_not_known_to_be_ours_stay(place: Path) -> None:
    """One without a lock may be of another program, and one whose lock cannot be opened may have a host that lives."""
    said: list[str] = []
    (place / "thalweg-host-other").mkdir()
    (place / "thalweg-host-file").touch()
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "lock").touch()
    (place / "thalweg-host-link").symlink_to(place / "elsewhere")
    (place / "thalweg-host-odd").mkdir()
    (place / "thalweg-host-odd" / "lock").symlink_to(place / "elsewhere" / "lock")
    before = sorted(place.iterdir())
    with own_folder(said.append):
        pass
    assert sorted(place.iterdir()) == before
    assert (place / "elsewhere" / "lock").exists()
    (problem,) = said
    assert problem.startswith(f"cannot say whether the host of {place / 'thalweg-host-odd'} lives (")
