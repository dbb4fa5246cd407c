"""Saves replace and remove what saves to the same path have made, and nothing else; a list says what that is."""

from __future__ import annotations

import errno
import os
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import thalweg as tw
from thalweg.checkpoint import Block, restore, save

_COUNT = 5000


@pytest.fixture
def psi(tmp_path: Path) -> Path:
    return tmp_path / "psi.h5"


def save_step(path: Path, step: int, keep: int = 2) -> None:
    save(path, {"psi": Block(np.full(_COUNT, float(step)), (_COUNT,), (0,))}, attributes={"step": step}, keep=keep)


def step_of(path: Path) -> int:
    """As h5py reads it."""
    with h5py.File(path) as file:
        values = file["psi"][:]
        assert np.all(values == file.attrs["step"])
        return int(values[0])


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))


def restored_step(path: Path) -> int:
    return int(restore(path).attributes["step"])


def test_copies_that_the_user_keeps_stay(psi: Path) -> None:
    save_step(psi, 1, keep=1)
    copies = [Path(f"{psi}.{ending}") for ending in ("1", "3", "20261125", "old")]
    for copy in copies:
        shutil.copy(psi, copy)
    for step, keep in enumerate([3, 3, 1, 5, 2, 2, 8, 1], 2):
        save_step(psi, step, keep)
        assert restored_step(psi) == step
    for copy in copies:
        assert step_of(copy) == 1
    assert names(psi.parent) == sorted(["psi.h5", *(copy.name for copy in copies)])


@pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2])
def test_a_copy_in_the_place_of_an_older_one_stays(psi: Path, copy: Callable[[Path, Path], object]) -> None:
    for step in (1, 2, 3):
        save_step(psi, step, keep=3)
    for number in (1, 2):
        Path(f"{psi}.{number}").unlink()
        copy(psi, Path(f"{psi}.{number}"))
    for step, keep in ((4, 3), (5, 3), (6, 1)):
        save_step(psi, step, keep)
        assert restored_step(psi) == step
    assert (step_of(Path(f"{psi}.1")), step_of(Path(f"{psi}.2"))) == (3, 3)
    assert names(psi.parent) == ["psi.h5", "psi.h5.1", "psi.h5.2"]


def test_a_folder_that_was_copied_is_gone_on_with(psi: Path, tmp_path: Path) -> None:
    for step in (1, 2):
        save_step(psi, step)
    copied = tmp_path / "copy" / "psi.h5"
    copied.parent.mkdir()
    for each in [*tmp_path.glob("psi*"), *tmp_path.glob(".psi*")]:
        shutil.copy2(each, copied.with_name(each.name))
    assert restored_step(copied) == 2
    save_step(copied, 3)
    save_step(copied, 4)
    assert {name: step_of(copied.with_name(name)) for name in names(copied.parent)} == {
        "psi.h5": 4,
        "psi.h5.1": 1,
        "psi.h5.2": 3,
    }
    damage(copied, 5000)
    with pytest.warns(UserWarning, match=r"psi\.h5\.2 is restored instead"):
        assert restored_step(copied) == 3


def test_numbers_that_others_have_are_passed_over(psi: Path) -> None:
    save_step(psi, 1)
    shutil.copy(psi, f"{psi}.2")
    for step in (2, 3, 4):
        save_step(psi, step, keep=3)
    steps = {name: step_of(psi.parent / name) for name in names(psi.parent)}
    assert steps == {"psi.h5": 4, "psi.h5.1": 3, "psi.h5.2": 1, "psi.h5.3": 2}
    damage(psi, 5000)
    damage(Path(f"{psi}.1"), 5000)
    with pytest.warns(UserWarning, match=r"psi\.h5\.3 is restored instead"):
        assert restored_step(psi) == 2


def test_another_checkpoint_at_a_number_of_the_list_is_not_restored(psi: Path) -> None:
    other = psi.with_name("other.h5")
    save_step(other, 9)
    for step in (1, 2):
        save_step(psi, step)
    shutil.copy(other, f"{psi}.1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert restored_step(psi) == 2
    damage(psi, 5000)
    with pytest.raises(tw.DataError, match=r"no save to this path has made .*psi\.h5\.1"):
        restore(psi)


@pytest.mark.parametrize("ending", ["1", "100", "20261125"])
def test_a_checkpoint_that_never_was_is_not_restored(psi: Path, ending: str) -> None:
    other = psi.with_name("other.h5")
    save_step(other, 1)
    shutil.copy(other, f"{psi}.{ending}")
    with pytest.raises(tw.SystemError) as missing:
        restore(psi)
    assert missing.value.errno == errno.ENOENT
    save_step(psi, 5, keep=3)
    shutil.copy(other, psi.with_name(f"psi.h5.{ending}"))
    damage(psi, 5000)
    with pytest.raises(tw.DataError, match="no checkpoint is whole"):
        restore(psi)


def test_a_newest_one_that_is_missing_is_reported(psi: Path) -> None:
    for step in (1, 2, 3):
        save_step(psi, step, keep=3)
    aside = psi.with_name("aside")
    psi.rename(aside)
    with pytest.warns(UserWarning, match=r"psi\.h5\.1 is restored instead of .*psi\.h5 is not there"):
        assert restored_step(psi) == 2
    Path(f"{psi}.1").rename(psi)
    with pytest.warns(UserWarning, match="the checkpoint that was saved to .* last, .*, is not there"):
        assert restored_step(psi) == 2
    save_step(psi, 4, keep=3)
    assert restored_step(psi) == 4
    assert {name: step_of(psi.parent / name) for name in names(psi.parent) if name != "aside"} == {
        "psi.h5": 4,
        "psi.h5.1": 2,
        "psi.h5.2": 1,
    }
    assert step_of(aside) == 3


def test_files_that_were_moved_without_their_list_are_used(psi: Path, tmp_path: Path) -> None:
    for step in (1, 2):
        save_step(psi, step)
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "psi.h5"
    for ending in ("", ".1"):
        os.rename(f"{psi}{ending}", f"{moved}{ending}")
    assert restored_step(moved) == 2
    damage(moved, 5000)
    with pytest.warns(UserWarning, match=r"psi\.h5\.1 is restored instead"):
        assert restored_step(moved) == 1
    save_step(moved, 3)
    assert restored_step(moved) == 3
    assert step_of(Path(f"{moved}.1")) == 1


def damage(path: Path, offset: int, size: int = 1) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        before = file.read(size)
        file.seek(offset)
        file.write(bytes(byte ^ 0x5A for byte in before))


def zero(path: Path, begin: int, end: int) -> None:
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(bytes(end - begin))


_HEAD_DAMAGES: dict[str, Callable[[Path], None]] = {
    "zeros": lambda path: zero(path, 0, 4096),
    "superblock": lambda path: zero(path, 0, 48),
    "seal": lambda path: damage(path, 1030),
    "mark": lambda path: damage(path, 2048),
    "id": lambda path: damage(path, 2070),
    "place": lambda path: damage(path, 3072),
    "all but the record": lambda path: damage(path, 0, 8192),
    "cut to 0": lambda path: os.truncate(path, 0),
    "cut to 5": lambda path: os.truncate(path, 5),
    "cut to 100": lambda path: os.truncate(path, 100),
    "cut to 2000": lambda path: os.truncate(path, 2000),
    "cut to 2060": lambda path: os.truncate(path, 2060),
    "cut to 4095": lambda path: os.truncate(path, 4095),
}


@pytest.mark.parametrize("how", _HEAD_DAMAGES)
def test_after_damage_in_the_first_block_the_next_save_goes_on(psi: Path, how: str) -> None:
    for step in (1, 2):
        save_step(psi, step)
    _HEAD_DAMAGES[how](psi)
    with pytest.warns(UserWarning, match=r"psi\.h5\.1 is restored instead"):
        assert restored_step(psi) == 1
    if how in ("superblock", "seal"):  # all arrays can be read, so it is kept
        save_step(psi, 3)
        assert restored_step(psi) == 3
        assert np.all(restore(f"{psi}.1", verify=False).read("psi") == 2)
        return
    with pytest.warns(UserWarning, match=r"psi\.h5 is replaced, and not kept"):
        save_step(psi, 3)
    assert restored_step(psi) == 3
    assert (step_of(psi), step_of(Path(f"{psi}.1"))) == (3, 1)
    save_step(psi, 4)
    assert (step_of(psi), step_of(Path(f"{psi}.1"))) == (4, 3)
    assert names(psi.parent) == ["psi.h5", "psi.h5.1"]


@pytest.mark.parametrize("how", _HEAD_DAMAGES)
def test_a_damaged_older_one_is_handed_on_and_removed(psi: Path, how: str) -> None:
    for step in (1, 2):
        save_step(psi, step, keep=3)
    _HEAD_DAMAGES[how](Path(f"{psi}.1"))
    for step in (3, 4, 5):
        save_step(psi, step, keep=3)
    assert {name: step_of(psi.parent / name) for name in names(psi.parent)} == {
        "psi.h5": 5,
        "psi.h5.1": 4,
        "psi.h5.2": 3,
    }


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w", libver="latest") as file:
        file["x"] = np.zeros(10_000)


_FOREIGN: dict[str, Callable[[Path], object]] = {
    "HDF5": write_hdf5,
    "notes": lambda path: path.write_text("my notes"),
    "much text": lambda path: path.write_text("x" * 100_000),
}


@pytest.mark.parametrize("kind", _FOREIGN)
@pytest.mark.parametrize("ending", ["", ".1"])
def test_files_of_others_in_the_place_of_a_checkpoint_stay(psi: Path, kind: str, ending: str) -> None:
    for step in (1, 2):
        save_step(psi, step)
    foreign = Path(f"{psi}{ending}")
    _FOREIGN[kind](foreign)
    before = foreign.read_bytes()
    with pytest.raises(tw.UsageError, match="it is no checkpoint"):
        save_step(psi, 3)
    assert foreign.read_bytes() == before
    if ending:
        assert step_of(psi) == 2


def test_what_hdf5_needs_is_compared(psi: Path) -> None:
    for step in (1, 2):
        save_step(psi, step)
    size = psi.stat().st_size
    with h5py.File(psi) as file:
        pages_end = file["psi"].id.get_offset() + _COUNT * 8
        record_end = file["thalweg/checksums"].id.get_offset() + file["thalweg/checksums"].nbytes
    assert pages_end < record_end < size
    whole = psi.read_bytes()
    chosen = random.Random(3)
    places = [*chosen.sample(range(48), 6), *(chosen.randrange(record_end, size) for _ in range(20)), size - 1]
    for place in places:
        damage(psi, place)
        with pytest.warns(UserWarning, match=r"psi\.h5\.1 is restored instead"):
            assert restored_step(psi) == 1, place
        assert restore(psi, verify=False).attributes["step"] == 2
        psi.write_bytes(whole)
    assert restored_step(psi) == 2
    os.truncate(psi, size - 1)
    with pytest.warns(UserWarning, match=r"psi\.h5\.1 is restored instead"):
        assert restored_step(psi) == 1


def test_a_damaged_list_is_said_and_written_anew(psi: Path) -> None:
    for step in (1, 2):
        save_step(psi, step)
    damage(psi.with_name(".psi.h5.saved"), 30)
    with pytest.warns(UserWarning, match="the list of checkpoints .* is damaged"):
        assert restored_step(psi) == 2
    aside = psi.with_name("aside")
    psi.rename(aside)
    with pytest.raises(tw.DataError, match=r"there is no .*the list of checkpoints .* is damaged"):
        restore(psi)
    aside.rename(psi)
    with pytest.warns(UserWarning, match="the list of checkpoints .* is damaged"):
        save_step(psi, 3)
    assert restored_step(psi) == 3
    assert step_of(Path(f"{psi}.1")) == 1  # no list says by now that a save has made it


@pytest.mark.parametrize("kind", ["relative", "absolute", "chain", "before the file"])
def test_links_are_followed(tmp_path: Path, kind: str) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    link, target = tmp_path / "psi.h5", scratch / "of job 7.h5"
    if kind != "before the file":
        save_step(target, 1)
    if kind == "chain":
        (tmp_path / "other").symlink_to("scratch/of job 7.h5")
        link.symlink_to(tmp_path / "other")
    else:
        link.symlink_to(target if kind == "absolute" else Path("scratch/of job 7.h5"))
    for step in (2, 3):
        save_step(link, step)
    assert link.is_symlink()
    assert (step_of(link), step_of(target), step_of(Path(f"{target}.1"))) == (3, 3, 2)
    assert names(scratch) == ["of job 7.h5", "of job 7.h5.1"]
    assert restored_step(link) == 3
    damage(target, 5000)
    with pytest.warns(UserWarning, match="is restored instead"):
        assert restored_step(link) == 2


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(tw.SystemError):
        save_step(tmp_path / "a", 1)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o400])
def test_the_mode_stays(psi: Path, mode: int) -> None:
    save_step(psi, 1)
    psi.chmod(mode)
    for step in (2, 3):
        save_step(psi, step)
        assert psi.stat().st_mode & 0o777 == mode
    assert Path(f"{psi}.1").stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_mode_that_the_user_asks_for(psi: Path) -> None:
    before = os.umask(0o077)
    try:
        save_step(psi, 1)
    finally:
        os.umask(before)
    assert psi.stat().st_mode & 0o777 == 0o600
