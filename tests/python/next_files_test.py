"""Files that continue each other are one run: read, inspected, verified, plotted, converted and merged."""

import json
import pickle
import shutil
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import thalweg as tw
from thalweg import _core

ROW = {"id": tw.uint64, "v": tw.list_(tw.float32), "note": tw.string}
SCHEMA = {"t": ROW, "waves/ch0": {"timestamp": tw.uint64(unit="ns"), "waveform": tw.array(tw.uint16(unit="ADC"), 16)}}
COUNTS = (100, 37, 250)
TOTAL = sum(COUNTS)


def write_chain(paths: list[Path]) -> None:
    """Each file has so many rows, and a work unit; it is closed when the next one has begun, as `record` does."""
    first, out = 0, tw.create(paths[0], SCHEMA, metadata={"operator": "me"})
    for number, count in enumerate(COUNTS):
        fill(out, first, count)
        first += count
        after = None
        if number + 1 < len(COUNTS):
            core = _core.create_next(out._core, str(paths[number + 1]), _core.CreateOptions(), {"operator": "me"})
            after = tw.Writer(core, {})
            _core.continue_in(out._core, core)
        out.close()
        out = after or out


def fill(out: tw.Writer, first: int, count: int) -> None:
    numbers = np.arange(first, first + count, dtype=np.uint64)
    with out.work_unit(first, summary=f"from {first}") as unit:
        lists = [[float(number)] * (int(number) % 3) for number in numbers]
        unit["t"].append(id=numbers, v=lists, note=[f"row {number}" for number in numbers])
    out.producer("waves/ch0").append(timestamp=numbers * 1000, waveform=np.full((count, 16), first, np.uint16))


@pytest.fixture(scope="module", params=[".h5", ".root"])
def chain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("chain")
    paths = [folder / f"run-0000{number}{request.param}" for number in (1, 2, 3)]
    write_chain(paths)
    return paths


def is_whole(run: tw.Run) -> bool:
    rows = run["t"].read()
    return (
        rows["id"].tolist() == list(range(TOTAL))
        and rows["note"].tolist() == [f"row {number}" for number in range(TOTAL)]
        and [len(each) for each in rows["v"]] == [number % 3 for number in range(TOTAL)]
    )


def test_a_pattern_a_list_and_the_first_file_are_one_run(chain: list[Path]) -> None:
    pattern = chain[0].with_stem("run-*")
    for run in (tw.open(pattern), tw.open(str(pattern)), tw.open(chain[::-1]), tw.open(chain[0], next_files=True)):
        assert is_whole(run)
        assert [part.path for part in run.parts] == [str(path) for path in chain]
        assert run.metadata["operator"] == "me"
        assert not {"next_file", "previous_file"} & run.metadata.keys()
        assert [(unit.key, unit.rows[0].first, unit.rows[0].rows) for unit in run.units] == [
            (0, 0, 100), (100, 100, 37), (137, 137, 250),
        ]  # fmt: skip
        assert "and 2 more files" in repr(run)
    assert len(tw.open(chain[0])["t"]) == COUNTS[0]


def test_rows_are_chosen_across_files(chain: list[Path]) -> None:
    table = tw.open(chain)["t"]
    assert table[90:145].read("id")["id"].tolist() == list(range(90, 145))
    assert table.read("id", rows=[386, 0, 137, 137])["id"].tolist() == [386, 0, 137, 137]
    assert table["note"][136] == "row 136"
    assert [x for rows in table.batches("id", rows=64) for x in rows["id"].tolist()] == list(range(TOTAL))
    assert pickle.loads(pickle.dumps(table)).read("id")["id"].sum() == TOTAL * (TOTAL - 1) // 2
    with pytest.raises(tw.OutOfRangeError, match="387 rows"):
        table[TOTAL]
    assert [x for new in table.follow("id") for x in new.rows["id"].tolist()] == list(range(TOTAL))


def test_libraries_read_all_files(chain: list[Path]) -> None:
    table = tw.open(chain)["t"]
    assert pa.table(table).column("id").to_pylist() == list(range(TOTAL))
    assert table.scan_polars().filter(pl.col("id") % 100 == 7).collect()["note"].to_list() == [
        "row 7", "row 107", "row 207", "row 307",
    ]  # fmt: skip
    duckdb = pytest.importorskip("duckdb")
    stream = pa.RecordBatchReader.from_stream(table)  # noqa: F841 - the query names it
    assert duckdb.sql("select count(*), sum(id) from stream").fetchall() == [(TOTAL, TOTAL * (TOTAL - 1) // 2)]
    with xr.open_dataset(str(chain[0].with_stem("run-*")), engine="thalweg", group="waves/ch0") as data:
        assert data["timestamp"].values.tolist() == [1000 * number for number in range(TOTAL)]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("1 2", "run-00002.*continues in .*run-00003.*not given"),
        ("1 3", "run-00001.*continues in .*run-00002.*not given"),
        ("2 3", "run-00002.*continues .*run-00001.*not given"),
        ("1 2 3 2", "run-00002.* is given twice"),
        ("1 2 3 copy", "copy.* is given twice, also as .*run-00002"),
        ("1 2 3 other", "other.* is not a part of the run of .*run-00001"),
        ("1 2 missing", "missing"),
    ],
)
def test_a_part_that_is_missing_doubled_or_foreign_is_named(
    names: str, said: str, chain: list[Path], tmp_path: Path
) -> None:
    suffix = chain[0].suffix
    places = {str(number): path for number, path in enumerate(chain, 1)}
    places |= {name: tmp_path / f"{name}{suffix}" for name in ("copy", "other", "missing")}
    shutil.copy(chain[1], places["copy"])
    with tw.create(places["other"], SCHEMA) as out:
        fill(out, 0, 10)
    with pytest.raises(tw.UsageError, match=said):
        tw.open([places[name] for name in names.split()])


def test_a_next_file_that_is_not_beside_the_first_is_named(chain: list[Path], tmp_path: Path) -> None:
    first = Path(shutil.copy(chain[0], tmp_path))
    with pytest.raises(tw.UsageError, match=rf"{first.name} continues in .*{chain[1].name}, which does not exist"):
        tw.open(first, next_files=True)
    with tw.create(tmp_path / chain[1].name, SCHEMA) as out:
        fill(out, 0, 10)
    with pytest.raises(tw.UsageError, match=rf"{chain[1].name} is not the file in which .*{first.name} continues"):
        tw.open(first, next_files=True)
    with pytest.raises(tw.UsageError, match=r"no file matches .*nothing-\*"):
        tw.open(tmp_path / "nothing-*.h5")


def test_a_run_that_is_written_is_one_run_too(tmp_path: Path) -> None:
    tuning = {"flush_interval": 0.02}
    first, second = tmp_path / "run-00001.h5", tmp_path / "run-00002.h5"
    with tw.create(first, SCHEMA, tuning=tuning) as before:
        core = _core.create_next(before._core, str(second), _core.CreateOptions(), {})
        after = tw.Writer(core, {})
        _core.continue_in(before._core, core)
        fill(before, 0, 10)
        before.close()
        fill(after, 10, 5)
        run = tw.open(first, next_files=True)
        assert run.is_open
        assert run["t"].read("id", rows=slice(0, 10))["id"].tolist() == list(range(10))
        after.close()
    assert run.refresh()["t"].read("id")["id"].tolist() == list(range(15))
    assert not run.is_open


def test_commands_take_several_files(chain: list[Path], tmp_path: Path, thalweg_command) -> None:
    pattern = chain[0].with_stem("run-*")
    shown = thalweg_command("inspect", *chain)
    assert shown.returncode == 0, shown.stderr
    assert f"and 2 more files of one run: complete, {2 * TOTAL} rows in 2 tables" in shown.stdout
    assert f"t: {TOTAL} rows" in shown.stdout
    assert thalweg_command("inspect", pattern).stdout == shown.stdout
    assert thalweg_command("inspect", chain[0], "--next-files").stdout == shown.stdout
    facts = json.loads(thalweg_command("inspect", pattern, "--json").stdout)
    assert facts["tables"][0]["rows"] == TOTAL
    assert facts["tables"][0]["columns"]["id"]["raw_bytes"] == 8 * TOTAL
    assert [file["tables"][0]["rows"] for file in facts["files"]] == list(COUNTS)

    checked = thalweg_command("verify", pattern)
    assert (checked.returncode, checked.stdout.count(": sound.")) == (0, 3), checked.stderr
    assert [each["is_sound"] for each in json.loads(thalweg_command("verify", *chain, "--json").stdout)["files"]] == [
        True, True, True,
    ]  # fmt: skip
    lacking = thalweg_command("verify", *chain[:2])
    assert (lacking.returncode, lacking.stdout) == (2, "")
    assert chain[2].name in lacking.stderr

    picture = tmp_path / "run.png"
    drawn = thalweg_command("plot", *chain, "--out", picture)
    assert drawn.returncode == 0, drawn.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")

    for target in ("all.h5", "all.root"):
        done = thalweg_command("convert", *chain, tmp_path / target)
        assert done.returncode == 0, done.stderr
        assert "and 2 more (" in done.stdout
        assert is_whole(tw.open(tmp_path / target))


def test_files_are_merged_into_one(chain: list[Path], tmp_path: Path, thalweg_command) -> None:
    target = tmp_path / f"all{chain[0].suffix}"
    report = tw.merge(chain, target)
    assert report.rows == 2 * TOTAL
    run = tw.open(target)
    assert is_whole(run)
    assert run.metadata["operator"] == "me"
    told = json.loads(run.metadata["merge"])
    assert [each["rows"]["t"] for each in told] == list(COUNTS)
    if target.suffix == ".h5":
        assert [problem.why for problem in report.problems] == ["work units of HDF5 files are not kept"] * 3
        with h5py.File(target) as file:
            assert file["t/id"][:].tolist() == list(range(TOTAL))
        assert thalweg_command("verify", target).returncode == 0
    done = thalweg_command("merge", chain[0].with_stem("run-*"), "--out", target, "--force", "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert f"{2 * TOTAL} rows in 2 tables from 3 files" in done.stdout


def test_merge_finds_the_files_in_which_a_run_goes_on(chain: list[Path], tmp_path: Path, thalweg_command) -> None:
    target = tmp_path / f"all{chain[0].suffix}"
    done = thalweg_command("merge", chain[0], "--next-files", "--out", target, "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert f"{2 * TOTAL} rows in 2 tables from 3 files" in done.stdout
    assert is_whole(tw.open(target))
    assert tw.merge(chain[0], target, next_files=True, force=True).inputs == tuple(map(str, chain))
    alone = Path(shutil.copy(chain[0], tmp_path))
    lacking = thalweg_command("merge", alone, "--next-files", "--out", target, "--force")
    assert lacking.returncode == 2
    assert f"continues in {tmp_path / chain[1].name}, which does not exist" in lacking.stderr
    with pytest.raises(tw.UsageError, match=r"it is one file.*next_files=True"):
        tw.merge(chain[0], target, force=True)
