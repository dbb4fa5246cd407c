"""A file that is to be replaced stays until the new one is there."""

import os
from pathlib import Path
from typing import Any

import pytest
from derive_cases import muons, write_input

import thalweg as tw

ROW = {"events": {"i": tw.uint64}}


def write(path: Path, count: int = 3) -> None:
    with tw.create(path, ROW) as out, out.producer("events") as events:
        events.append(i=list(range(count)))


def leave_open(path: Path) -> None:
    """Leaves a run that was not closed, as after a crash."""
    child = os.fork()
    if child == 0:
        out = tw.create(path, ROW)
        producer = out.producer("events")
        producer.append(i=[7, 8])
        os._exit(0)
    os.waitpid(child, 0)


def content(folder: Path) -> dict[str, Any]:
    return {each.name: os.readlink(each) if each.is_symlink() else each.read_bytes() for each in folder.iterdir()}


REFUSED = {
    "memory": {"tuning": {"memory_folder": "/nonexistent"}},
    "codec": {"codec": "nonsense"},
    "order": {"order": "size"},
    "nodes": {"nodes": 2, "node_timeout": 0.2},
}


@pytest.mark.parametrize("ending", [".h5", ".root"])
@pytest.mark.parametrize("reason", list(REFUSED))
@pytest.mark.parametrize("kind", ["file", "run", "link", "other"])
def test_a_creation_that_is_refused_leaves_what_was_there(tmp_path: Path, kind: str, reason: str, ending: str) -> None:
    path = tmp_path / f"old{ending}"
    if kind == "run":
        leave_open(path)
    elif kind == "other":
        path.write_bytes(b"no file of ours")
    elif kind == "link":
        write(tmp_path / f"target{ending}")
        path.symlink_to(f"target{ending}")
    else:
        write(path)
    before = content(tmp_path)
    with pytest.raises(tw.Error):
        tw.create(path, ROW, force=True, **REFUSED[reason])
    assert content(tmp_path) == before
    if kind == "run":
        tw.recover(path)
    if kind != "other":
        assert len(tw.open(path)["events"]) == (2 if kind == "run" else 3)


@pytest.mark.parametrize("kind", ["file", "run", "link"])
def test_a_creation_that_succeeds_leaves_nothing_of_the_old_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "old.h5"
    shared = set(os.listdir("/dev/shm"))
    if kind == "run":
        leave_open(path)
        memory = set(os.listdir("/dev/shm")) - shared  # and what other programs have just made
    elif kind == "link":
        write(tmp_path / "target.h5")
        path.symlink_to("target.h5")
    else:
        write(path)
    with tw.create(path, ROW, force=True) as out, out.producer("events") as events:
        events.append(i=[1, 2, 3, 4])
    assert {each.name for each in tmp_path.iterdir()} == {"old.h5"} | ({"target.h5"} if kind == "link" else set())
    assert len(tw.open(path)["events"]) == 4
    assert kind != "run" or not memory <= set(os.listdir("/dev/shm"))
    if kind == "link":
        assert len(tw.open(tmp_path / "target.h5")["events"]) == 3


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match=r"cannot create .*run.h5 \(there is no folder .*no/such\)"):
        tw.create(tmp_path / "no" / "such" / "run.h5", ROW)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root", count=500)


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("kind", ["file", "run"])
def test_a_job_replaces_nothing_before_all_outputs_can_be_created(
    inputs: Path, tmp_path: Path, kind: str, force: bool
) -> None:
    if force:
        (leave_open if kind == "run" else write)(tmp_path / "a.root")
        (leave_open if kind == "run" else write)(tmp_path / "b.root")
    before = content(tmp_path)
    train = [
        tw.Derivation(tmp_path / "a.root", muons),
        tw.Derivation(tmp_path / "b.root", muons),
        tw.Derivation(tmp_path / "c.root", muons, tuning={"memory_folder": "/nonexistent"}),
    ]
    with pytest.raises(tw.Error, match="nonexistent"):
        tw.derive(inputs, train, workers=1, force=force).run()
    assert content(tmp_path) == before
    report = tw.derive(inputs, train[:2], workers=1, force=force).run()
    assert report.is_whole
    assert {each.name for each in tmp_path.iterdir()} == {"a.root", "b.root"}


def test_a_job_leaves_a_run_alone_that_is_still_written(inputs: Path, tmp_path: Path) -> None:
    write(tmp_path / "a.root")
    before = (tmp_path / "a.root").read_bytes()
    with tw.create(tmp_path / "b.root", ROW) as out:
        train = [tw.Derivation(tmp_path / name, muons) for name in ("a.root", "b.root")]
        with pytest.raises(tw.UsageError, match="still being written"):
            tw.derive(inputs, train, workers=1, force=True).run()
        assert (tmp_path / "a.root").read_bytes() == before
        with out.producer("events") as events:
            events.append(i=[5])
    assert len(tw.open(tmp_path / "b.root")["events"]) == 1


def test_a_long_name_may_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    long = "x" * 240 + ".h5"
    write(Path(long))
    with tw.create(long, ROW, force=True) as out, out.producer("events") as events:
        events.append(i=[1])
    assert os.listdir() == [long]
    assert len(tw.open(long)["events"]) == 1
