"""Other tables of the input are carried along with all their rows, once, whatever dies; what is left out is named."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401 (h5py reads the default codec with it)
import numpy as np
import pytest
import uproot

import thalweg as tw

LUMI = {"run": tw.uint32, "block": tw.uint32(unit="1"), "weights": tw.list_(tw.float32), "tag": tw.string}
RUNS = {"run": tw.uint32, "events": tw.uint64, "sum": tw.float64}
ROWS = 300


def lumi_of(file: int) -> ak.Array:
    count = 5 + 3 * file
    lengths = np.arange(count) % 3
    return ak.Array(
        {
            "run": np.full(count, 100 + file, np.uint32),
            "block": np.arange(count, dtype=np.uint32),
            "weights": ak.unflatten(np.arange(lengths.sum(), dtype=np.float32), lengths),
            "tag": [f"µ{file}-{each}" for each in range(count)],
        }
    )


def runs_of(file: int) -> ak.Array:
    return ak.Array(
        {"run": np.array([100 + file], np.uint32), "events": np.array([ROWS], np.uint64), "sum": [file / 3]}
    )


def write(path: Path, file: int, rows: int = ROWS) -> Path:
    """Writes a file with events, two other tables and a text."""
    events = np.arange(ROWS * file, ROWS * file + rows, dtype=np.uint64)
    if path.name.endswith(".tree.root"):
        with uproot.recreate(path) as out:
            out.mktree("Events", {"event": np.uint64})
            if rows:
                out["Events"].extend({"event": events})
            for name, values in (("LuminosityBlocks", lumi_of(file)), ("Runs", runs_of(file))):
                out.mktree(name, {each: values[each].type.content for each in values.fields})
                out[name].extend({each: values[each] for each in values.fields})
            out["note"] = "a text"
        return path
    tuning = {"narrow_page_bytes": 1024, "cluster_bytes": "32 KiB", "memory_bytes": "256 KiB", "extent_bytes": "64 KiB"}
    tables = {"Events": {"event": tw.uint64}, "LuminosityBlocks": LUMI, "Runs": RUNS}
    with tw.create(path, tables, tuning=tuning) as out:
        for name, values in (("Events", ak.Array({"event": events})), ("LuminosityBlocks", lumi_of(file))):
            with out.producer(name) as producer:
                producer.append(values)
        with out.producer("Runs") as producer:
            producer.append(runs_of(file))
    return path


def even(of: Any) -> dict[str, Any]:
    return {"event": of.event}


def derivation(path: Path) -> tw.Derivation:
    return tw.Derivation(path, even, select={"even": lambda of: of.event % 2 == 0}, summary=lambda of: {"n": len(of)})


def check(path: Path, files: int, tables: tuple[str, ...] = ("LuminosityBlocks", "Runs")) -> None:
    with tw.open(path) as run:
        assert set(run) == {"Events", *tables}
        expected = {"LuminosityBlocks": lumi_of, "Runs": runs_of}
        for name in tables:
            values = ak.concatenate([expected[name](file) for file in range(files)])
            found = run[name].read().to_awkward()
            assert [found[each].to_list() for each in values.fields] == [
                values[each].to_list() for each in values.fields
            ]
        assert sorted(run["Events"].read()["event"].tolist()) == list(range(0, files * ROWS, 2))


@pytest.mark.parametrize("ending", [".root", ".h5"])
@pytest.mark.parametrize("kind", [".root", ".h5", ".tree.root"])
def test_tables_are_carried_in_the_order_of_the_input(kind: str, ending: str, tmp_path: Path) -> None:
    inputs = [f"{write(tmp_path / f'in{file}{kind}', file)}:Events" for file in range(3)]
    out = tmp_path / f"out{ending}"
    report = tw.derive(inputs, [derivation(out)], workers=2, range_bytes=800, carry=["LuminosityBlocks", "Runs"]).run()
    check(out, 3)
    assert report.is_whole
    assert report.outputs[0].summary.values == {"n": 3 * ROWS}
    assert not any("Runs" in note or "work units" in note for note in report.notes)
    assert tw.verify(out).is_sound


def test_other_programs_read_them(tmp_path: Path) -> None:
    inputs = [f"{write(tmp_path / f'in{file}.tree.root', file)}:Events" for file in range(2)]
    train = [derivation(tmp_path / "out.root"), derivation(tmp_path / "out.h5")]
    tw.derive(inputs, train, workers=2, carry="*").run()
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Runs"].arrays()["run"].to_list() == [100, 101]
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["Runs/run"][()].tolist() == [100, 101]


def test_files_without_events_and_skipped_ranges_keep_their_runs(tmp_path: Path) -> None:
    inputs = [f"{write(tmp_path / f'in{file}.root', file, rows=ROWS if file != 1 else 0)}:Events" for file in range(3)]

    def failing(of: Any) -> dict[str, Any]:
        if of.event[0] >= 2 * ROWS:
            raise ValueError("never")
        return {"event": of.event}

    one = [tw.Derivation(tmp_path / "out.root", failing)]
    tw.derive(inputs, one, workers=1, carry=["Runs"], on_error="skip", attempts=1).run()
    assert tw.open(tmp_path / "out.root")["Runs"].read()["run"].tolist() == [100, 101, 102]


@pytest.mark.parametrize("per_group", [1, 2])
def test_the_order_of_the_input_has_them_too(per_group: int, tmp_path: Path) -> None:
    inputs = [f"{write(tmp_path / f'in{file}.root', file)}:Events" for file in range(2)]
    out = tmp_path / "out.root"
    options: dict[str, Any] = {"order": "input", "ranges_per_group": per_group, "range_bytes": 800, "carry": ["*"]}
    tw.derive(inputs, [derivation(out)], workers=2, **options).run()
    check(out, 2)
    assert tw.open(out)["Events"].read()["event"].tolist() == list(range(0, 2 * ROWS, 2))


@pytest.mark.parametrize("moment", ["carrying", "ranges"])
def test_a_killed_job_carries_them_once(moment: str, tmp_path: Path) -> None:
    for file in range(3):
        write(tmp_path / f"in{file}.root", file)
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import os, signal, sys
import thalweg as tw
from thalweg._writing.work_unit import UnitTable

MOMENT = sys.argv[1]


def even(of):
    if MOMENT == "ranges" and of.attrs["first_event"] and of.event[0] > {ROWS}:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return {{"event": of.event}}


def killing(self, rows=None, /, **fields):
    took(self, rows, **fields)
    if MOMENT == "carrying" and self.schema.name == "Runs":
        os.kill(os.getpid(), signal.SIGKILL)


took, UnitTable.append = UnitTable.append, killing
train = [tw.Derivation("out.root", even, select={{"even": lambda of: of.event % 2 == 0}})]
inputs = [f"in{{file}}.root:Events" for file in range(3)]
tw.derive(inputs, train, workers=1, range_bytes=800, carry=["Runs", "Lumi*"], resume=MOMENT == "" and "trust").run()
"""
    )
    first = subprocess.run([sys.executable, program, moment], cwd=tmp_path, timeout=120)
    assert first.returncode == -signal.SIGKILL
    assert os.path.exists(tmp_path / "out.root.journal")
    subprocess.run([sys.executable, program, ""], cwd=tmp_path, timeout=120, check=True)
    check(tmp_path / "out.root", 3)


def test_what_is_not_carried_is_named_once(tmp_path: Path) -> None:
    inputs = [f"{write(tmp_path / f'in{file}.tree.root', file)}:Events" for file in range(2)]
    report = tw.derive(inputs, [derivation(tmp_path / "out.root")], workers=1, carry=["Runs"]).run()
    (note,) = [note for note in report.notes if "LuminosityBlocks" in note]
    assert "besides 'Events': table 'LuminosityBlocks', note (it is a TObjString" in note
    assert "Runs" not in note
    check(tmp_path / "out.root", 2, ("Runs",))


def test_columns_of_hdf5_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for name in ("Events", "Runs"):
            file[f"{name}/event"] = np.arange(10)
            file.create_dataset(f"{name}/partner", (10,), h5py.ref_dtype)
        file.create_dataset("other", (3,), h5py.ref_dtype)
    given = f"{tmp_path / 'in.h5'}:Events"
    one = tw.Derivation(tmp_path / "out.h5", keep="*")
    report = tw.derive(given, [one], workers=1, carry=["Runs"]).run()
    assert not report.is_whole
    assert {each.path for each in report.left_out} == {"Events/partner", "/Runs/partner"}
    (note,) = report.notes
    assert "/other (it holds references" in note
    with pytest.raises(tw.UsageError, match=r"'partner' cannot be kept \(it holds references"):
        tw.derive(given, [tw.Derivation(tmp_path / "again.h5", keep=["event", "partner"])])


def test_a_file_without_the_table_is_named(tmp_path: Path) -> None:
    inputs = [write(tmp_path / f"in{file}.root", file) for file in range(2)]
    with tw.create(tmp_path / "in2.root", {"Events": {"event": tw.uint64}}) as out, out.producer("Events") as producer:
        producer.append(event=np.arange(600, 700, dtype=np.uint64))
    given = [f"{path}:Events" for path in [*inputs, tmp_path / "in2.root"]]
    with pytest.raises(tw.UsageError, match=r"in2\.root has no table 'Runs' to carry along"):
        tw.derive(given, [derivation(tmp_path / "out.root")], carry=["Runs"])
    with pytest.raises(tw.UsageError, match=r"'Run' is no table of .*in0\.root; .* LuminosityBlocks, Runs"):
        tw.derive(given, [derivation(tmp_path / "out.root")], carry=["Run"])
    one = tw.Derivation(tmp_path / "out.root", even, table="Runs")
    with pytest.raises(tw.UsageError, match="'Runs' cannot be carried along"):
        tw.derive(given[:2], [one], carry=["Runs"])


def test_other_columns_are_refused_by_name(tmp_path: Path) -> None:
    inputs = [write(tmp_path / "in0.root", 0)]
    for number, row in enumerate(({**RUNS, "sum": tw.float32}, {"run": tw.uint32, "events": tw.uint64}), 1):
        path = tmp_path / f"in{number}.root"
        with tw.create(path, {"Events": {"event": tw.uint64}, "Runs": row}) as out, out.producer("Events") as producer:
            producer.append(event=np.arange(1000 * number, 1000 * number + 10, dtype=np.uint64))
        inputs.append(path)
    for path, why in zip(inputs[1:], ("column 'sum' is float32, but float64", "it lacks column 'sum'"), strict=True):
        with pytest.raises(tw.UsageError, match=rf"'Runs' cannot be carried along \(.*{path.name}: {why}"):
            tw.derive([f"{inputs[0]}:Events", f"{path}:Events"], [derivation(tmp_path / "out.root")], carry="Runs")


def test_another_list_is_not_resumed(tmp_path: Path) -> None:
    inputs = f"{write(tmp_path / 'in0.root', 0)}:Events"

    def failing(of: Any) -> dict[str, Any]:
        if (tmp_path / "flag").exists() and of.event[0] > ROWS // 2:
            raise ValueError("not yet")
        return {"event": of.event}

    (tmp_path / "flag").touch()
    train = [tw.Derivation(tmp_path / "out.root", failing)]
    with pytest.raises(tw.DerivationError):
        tw.derive(inputs, train, workers=1, range_bytes=800, attempts=1, carry=["Runs"]).run()
    with pytest.raises(tw.UsageError, match=r"cannot be resumed \(carry was \['Runs'\]\)"):
        tw.derive(inputs, train, workers=1, range_bytes=800, resume="trust").run()
    (tmp_path / "flag").unlink()
    tw.derive(inputs, train, workers=1, range_bytes=800, resume="trust", carry=["Runs"]).run()
    assert tw.open(tmp_path / "out.root")["Runs"].read()["run"].tolist() == [100]


def test_more_rows_than_are_kept_in_memory_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg._derive.carried._MOST_KEPT_BYTES", 0)
    inputs = [f"{write(tmp_path / f'in{file}.tree.root', file)}:Events" for file in range(2)]
    tw.derive(inputs, [derivation(tmp_path / "out.root")], workers=1, carry=["*"]).run()
    check(tmp_path / "out.root", 2)


def test_outputs_are_merged_with_their_runs(tmp_path: Path) -> None:
    outputs = []
    for file in range(2):
        given = f"{write(tmp_path / f'in{file}.tree.root', file)}:Events"
        outputs.append(tmp_path / f"out{file}.root")
        tw.derive(given, [derivation(outputs[-1])], workers=1, range_bytes=800, carry=["*"]).run()
    tw.merge(outputs, tmp_path / "merged.root")
    check(tmp_path / "merged.root", 2)
    assert '"n":600' in tw.open(tmp_path / "merged.root").metadata["derive.result"]


def test_the_command_carries_them(tmp_path: Path, thalweg_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write(tmp_path / "in0.tree.root", 0)
    (tmp_path / "carrying_train.py").write_text(
        "import thalweg as tw\ntrain = [tw.Derivation('out.root', lambda of: {'event': of.event})]\ncarry = ['Runs']\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["derive", "carrying_train.py", "--input", f"{given}:Events", "--workers", "1"]
    done = thalweg_command(*arguments)
    assert done.returncode == 0
    assert "table 'LuminosityBlocks'" in done.stdout
    assert set(tw.open(tmp_path / "out.root")) == {"Events", "Runs"}
    done = thalweg_command(*arguments, "--force", "--carry", "Lumi*")
    assert done.returncode == 0
    assert set(tw.open(tmp_path / "out.root")) == {"Events", "LuminosityBlocks"}
