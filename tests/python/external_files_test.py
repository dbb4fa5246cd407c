"""What an HDF5 file of another program has in other files: read from its own folder, and from allowed ones."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw

VALUES = np.arange(20 * 16, dtype="<i2").reshape(20, 16)
SIZE_BYTES = VALUES.nbytes


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A folder that holds values, beside one of almost the same name, which is not allowed."""
    for name in ("raw", "raw-secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "values.bin").write_bytes(VALUES.tobytes())
        with h5py.File(tmp_path / name / "source.h5", "w") as file:
            file["x"] = VALUES
    (tmp_path / "home").mkdir()
    return tmp_path / "raw"


def with_values_in(raw: Path, place: str) -> Path:
    """A file in another folder than its values."""
    path = raw.parent / "home" / "made.h5"
    with h5py.File(path, "w") as file:
        file["t/beside"] = np.arange(20)
        file.create_dataset("t/waveform", VALUES.shape, VALUES.dtype, external=[(place, 0, SIZE_BYTES)])
        layout = h5py.VirtualLayout(VALUES.shape, VALUES.dtype)
        layout[:] = h5py.VirtualSource(place.replace("values.bin", "source.h5"), "x", VALUES.shape)
        file.create_virtual_dataset("t/virtual", layout)
    return path


def shown(run: tw.Run) -> list[str]:
    for name in set(run["t"]) - {"beside"}:
        assert np.array_equal(run["t"].read(name)[name], VALUES)
    return sorted(run["t"])


@pytest.mark.parametrize("place", ["{raw}/values.bin", "../raw/values.bin"])
@pytest.mark.parametrize("make", [list, str, Path, tuple], ids=["list", "text", "path", "tuple"])
def test_an_allowed_folder_is_read(raw: Path, place: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_values_in(raw, place.format(raw=raw))
    monkeypatch.chdir("/")
    assert shown(tw.open(path)) == ["beside"]
    run = tw.open(path, external=make([raw]) if make in (list, tuple) else make(raw))
    assert run.problems == ()
    assert shown(run) == ["beside", "virtual", "waveform"]


def test_the_folder_is_any_that_leads_there(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_values_in(raw, f"{raw}/values.bin")
    (tmp_path / "link").symlink_to(raw, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "link", tmp_path, Path("raw"), Path("home/../raw")):
        assert tw.open(path, external=folder).problems == (), folder


def test_what_is_refused_names_the_folder(raw: Path) -> None:
    path = with_values_in(raw, "../raw/values.bin")
    why = next(each.why for each in tw.open(path).problems if each.path == "/t/waveform")
    assert "its values are in ../raw/values.bin, outside the folder of the file" in why
    found = re.search(r"external=\['(.*)'\], on the command line: --external (\S+)\)", why)
    assert found
    assert found[1] == found[2] == str(raw)
    assert tw.open(path, external=[found[1]]).problems == ()


ESCAPES = ["{raw}/../raw-secret/values.bin", "../raw/../raw-secret/values.bin", "{raw}-secret/values.bin"]
ESCAPES += ["{raw}/link/values.bin", "{raw}/link.bin", "{raw}/link/../raw-secret/values.bin"]


@pytest.mark.parametrize("place", ESCAPES)
def test_no_way_leads_out_of_an_allowed_folder(raw: Path, tmp_path: Path, place: str) -> None:
    (raw / "link").symlink_to(tmp_path / "raw-secret", target_is_directory=True)
    (raw / "link.bin").symlink_to(tmp_path / "raw-secret" / "values.bin")
    path = with_values_in(raw, place.format(raw=raw))
    run = tw.open(path, external=[raw])
    assert {each.path for each in run.problems} >= {"/t/waveform"}
    why = next(each.why for each in run.problems if each.path == "/t/waveform")
    assert str(tmp_path / "raw-secret") in why  # where they are in truth
    assert "waveform" not in shown(run)


def test_a_virtual_dataset_of_an_allowed_file_does_not_lead_out_of_it(raw: Path, tmp_path: Path) -> None:
    with h5py.File(raw / "chain.h5", "w") as file:
        for name, source in (("out", "../raw-secret/source.h5"), ("in", "source.h5")):
            layout = h5py.VirtualLayout(VALUES.shape, VALUES.dtype)
            layout[:] = h5py.VirtualSource(source, "x", VALUES.shape)
            file.create_virtual_dataset(name, layout)
    with h5py.File(tmp_path / "home" / "made.h5", "w") as file:
        file["t/beside"] = np.arange(20)
        for name in ("out", "in"):
            layout = h5py.VirtualLayout(VALUES.shape, VALUES.dtype)
            layout[:] = h5py.VirtualSource("../raw/chain.h5", name, VALUES.shape)
            file.create_virtual_dataset(f"t/{name}", layout)
    run = tw.open(tmp_path / "home" / "made.h5", external=[raw])
    assert [each.path for each in run.problems] == ["/t/out"]
    assert shown(run) == ["beside", "in"]


@pytest.mark.parametrize("source", ["../raw/inner.h5", "."])
def test_a_source_whose_values_lie_by_a_relative_name_is_left_out(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """libhdf5 would take the file of that name in the working directory."""
    path = tmp_path / "home" / "made.h5"
    for each in (raw / "inner.h5", path):
        with h5py.File(each, "w") as file:
            file.create_dataset("x", VALUES.shape, VALUES.dtype, external=[("values.bin", 0, SIZE_BYTES)])
    layout = h5py.VirtualLayout(VALUES.shape, VALUES.dtype)
    layout[:] = h5py.VirtualSource(source, "x", VALUES.shape)
    with h5py.File(path, "a") as file:
        file["t/beside"] = np.arange(20)
        file.create_virtual_dataset("t/virtual", layout)
    for folder, values in ((tmp_path, VALUES + 1), (tmp_path / "home", VALUES)):
        (folder / "values.bin").write_bytes(values.tobytes())
    monkeypatch.chdir(tmp_path)
    run = tw.open(path, external=raw)
    assert list(run["t"]) == ["beside"]
    why = next(each.why for each in run.problems if each.path == "/t/virtual")
    name = "made.h5" if source == "." else "inner.h5"
    assert f"values in values.bin through {name}" in why
    assert np.array_equal(tw.open(raw / "inner.h5")["inner"].read("x")["x"], VALUES)


@pytest.mark.parametrize(("variable", "column"), [("HDF5_EXTFILE_PREFIX", "waveform"), ("HDF5_VDS_PREFIX", "virtual")])
def test_a_variable_that_sends_libhdf5_elsewhere_is_named(
    raw: Path, monkeypatch: pytest.MonkeyPatch, variable: str, column: str
) -> None:
    path = with_values_in(raw, "../raw/values.bin")
    monkeypatch.setenv(variable, f"{raw}-secret")
    run = tw.open(path, external=raw)
    assert column not in run["t"]
    why = next(each.why for each in run.problems if each.path == f"/t/{column}")
    assert f"{variable} makes libhdf5 look for it in {raw}-secret: unset the variable" in why
    monkeypatch.setenv(variable, "${ORIGIN}")
    assert tw.open(path, external=raw).problems == ()


def test_what_is_no_folder_is_refused(raw: Path) -> None:
    path = with_values_in(raw, "../raw/values.bin")
    for wrong in (raw / "values.bin", raw / "nothing"):
        with pytest.raises(tw.UsageError, match=r"external cannot be .* \(it is not a folder\)"):
            tw.open(path, external=[wrong])


def test_pickles_have_it(raw: Path) -> None:
    run = tw.open(with_values_in(raw, "../raw/values.bin"), external=[raw])
    assert shown(pickle.loads(pickle.dumps(run))) == ["beside", "virtual", "waveform"]
    table = pickle.loads(pickle.dumps(run["t"]))
    assert np.array_equal(table.read("waveform")["waveform"], VALUES)
    assert np.array_equal(pickle.loads(pickle.dumps(run["t"][3:5])).read("waveform")["waveform"], VALUES[3:5])


def test_verify_and_convert_take_it(raw: Path, tmp_path: Path) -> None:
    path = with_values_in(raw, "../raw/values.bin")
    assert [each.path for each in tw.verify(path).problems] == ["/t/virtual", "/t/waveform"]
    found = tw.verify(path, external=raw)
    assert (found.is_sound, found.problems, len(found.read_by_h5py)) == (True, (), 2)
    assert tw.convert(path, tmp_path / "copy.root", external=[raw]).problems == ()
    assert shown(tw.open(tmp_path / "copy.root")) == ["beside", "virtual", "waveform"]


COMMANDS = {
    "inspect": ["inspect", "{file}"],
    "verify": ["verify", "{file}"],
    "convert": ["convert", "{file}", "{folder}/copy.root"],
    "plot": ["plot", "{file}", "--out", "{folder}/picture.png"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_it(command: str, raw: Path, tmp_path: Path, thalweg_command: Any) -> None:
    path = with_values_in(raw, "../raw/values.bin")
    words = [word.format(file=path, folder=tmp_path) for word in COMMANDS[command]]
    refused = thalweg_command(*words, "--allow-missing")
    assert f"--external {raw}" in refused.stderr
    if command == "convert":
        (tmp_path / "copy.root").unlink()
    done = thalweg_command(*words, "--json", "--external", str(tmp_path / "home"), "--external", str(raw))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == []
