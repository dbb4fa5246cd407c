"""Merged files have the rows of all inputs, as uproot reads them; what is not kept is said."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
import uproot
from rntuple_foreign_test import FILES

import thalweg as tw

EVENT = {"event": tw.uint64, "pt": tw.list_(tw.float32), "name": tw.string}


def write(path: Path, first: int, rows: int, **options: Any) -> Path:
    with tw.create(path, {"events": EVENT, "sub/counts": {"n": tw.int32}}, **options) as out:
        with out.producer("events") as producer:
            for event in range(first, first + rows):
                producer.append(event=event, pt=np.arange(event % 4, dtype=np.float32), name=f"event {event}")
        with out.producer("sub/counts") as producer:
            producer.append(n=rows)
    return path


def of_uproot(path: Path) -> dict[str, Any]:
    with uproot.open(path) as file:
        names = [name for name, kind in file.classnames(cycle=False).items() if kind == "ROOT::RNTuple"]
        return {name: file[name].arrays() for name in names}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "thalweg", "merge", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{name}.root", 1000 * i, 700 + i) for i, name in enumerate("abc")]


def test_uproot_reads_the_rows_of_all(inputs: list[Path], tmp_path: Path) -> None:
    report = tw.merge(inputs, tmp_path / "out.root")
    assert (report.rows, report.problems) == (700 + 701 + 702 + 3, ())
    assert report.file_bytes == (tmp_path / "out.root").stat().st_size
    found, each = of_uproot(tmp_path / "out.root"), list(map(of_uproot, inputs))
    for name in ("events", "sub/counts"):
        assert ak.array_equal(found[name], ak.concatenate([one[name] for one in each]), dtype_exact=True)
    assert tw.verify(tmp_path / "out.root").is_sound
    table = tw.open(tmp_path / "out.root")["events"]
    assert table[1401]["name"] == tw.open(inputs[2])["events"][0]["name"]


@pytest.mark.parametrize("name", FILES, ids=lambda name: Path(name).name)
def test_files_of_root_are_merged(name: str, real_data: Path, tmp_path: Path) -> None:
    """Twice the same rows, from a copy: other runs of the same program differ in nothing but that."""
    source = real_data / name
    if not source.exists():
        pytest.skip(f"there is no {source}")
    shutil.copy(source, tmp_path / "copy.root")
    out = tmp_path / "out.root"
    if "physlite" in name:
        with pytest.raises(tw.UsageError, match="columns of table 'EventData' were added behind its first row"):
            tw.merge([source, tmp_path / "copy.root"], out)
        return
    report = tw.merge([source, tmp_path / "copy.root"], out)
    before, after = of_uproot(source), of_uproot(out)
    assert list(before) == list(after)
    for table, values in before.items():
        both = ak.concatenate([values, values])
        for field in values.fields:  # the types of variants differ after `concatenate`: their values are compared
            same = ak.array_equal(after[table][field], both[field], equal_nan=True)
            assert same or after[table][field].to_list() == both[field].to_list(), field
    verification = tw.verify(out)
    assert verification.faults == 0
    with uproot.open(source) as file:
        kinds = file.classnames(cycle=False)
        others = {path for path, kind in kinds.items() if kind not in ("ROOT::RNTuple", "TDirectory", "TDirectoryFile")}
    assert {problem.path.split(":", 1)[1] for problem in report.problems} == others


def test_the_text_beside_tables_of_others_names_the_files(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "rntuple/test_int_5e4_rntuple_v1-0-0-0.root"
    if not source.exists():
        pytest.skip(f"there is no {source}")
    tw.merge([source], tmp_path / "one.root")
    tw.merge([source, tmp_path / "one.root"], tmp_path / "two.root")
    with uproot.open(tmp_path / "two.root") as file:
        told = json.loads(str(file["merge"]))
    assert [each["file"] for each in told] == [source.name, "one.root"]
    assert json.loads(told[1]["metadata"]["merge"])[0]["file"] == source.name


def test_the_command_says_what_it_did(inputs: list[Path], tmp_path: Path) -> None:
    done = run(*inputs, "--out", tmp_path / "out.root")
    assert (done.returncode, done.stderr) == (0, "")
    assert "out.root has 2,106 rows in 2 tables from 3 files" in done.stdout
    again = run(*inputs, "--out", tmp_path / "out.root")
    assert again.returncode == 2
    assert "it exists already" in again.stderr
    forced = run(*inputs, "--out", tmp_path / "out.root", "--force", "--json")
    assert json.loads(forced.stdout)["tables"][0]["rows"] == 2103


def test_what_is_left_out_makes_the_exit_code_1(inputs: list[Path], tmp_path: Path) -> None:
    with uproot.update(inputs[1]) as file:
        file["histogram"] = np.histogram([1, 2, 3])
    arguments = [*inputs[1:], "--out", tmp_path / "out.root", "--force"]
    done = run(*arguments)
    assert done.returncode == 1
    assert "b.root:histogram is left out (it is no RNTuple)" in done.stderr
    assert run(*arguments, "--allow-missing").returncode == 0
    assert len(tw.open(tmp_path / "out.root")["events"]) == 701 + 702


def test_other_fields_are_refused_by_name(inputs: list[Path], tmp_path: Path) -> None:
    with tw.create(tmp_path / "d.root", {"events": {**EVENT, "event": tw.int32}, "sub/counts": {"n": tw.int32}}):
        pass
    done = run(inputs[0], tmp_path / "d.root", "--out", tmp_path / "out.root")
    assert done.returncode == 2
    assert "table 'events': field 'event' is 'std::int32_t', not 'std::uint64_t'" in done.stderr
    assert not (tmp_path / "out.root").exists()


def test_wrong_requests(inputs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match="it is one file"):
        tw.merge(inputs[0], tmp_path / "out.root")  # type: ignore[arg-type]
    with pytest.raises(tw.UsageError, match="it is the same file as"):
        tw.merge([inputs[0], inputs[0]], tmp_path / "out.root")
    (tmp_path / "link.root").symlink_to(inputs[0])
    with pytest.raises(tw.UsageError, match="it is the same file as"):
        tw.merge([inputs[0], tmp_path / "link.root"], tmp_path / "out.root")
    with pytest.raises(tw.UsageError, match="only clusters of RNTuples"):
        tw.merge(inputs, tmp_path / "out.h5")


def test_a_merge_that_is_killed_leaves_nothing_or_all(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 2**63, 1_000_000)
    for name in "ab":
        with tw.create(tmp_path / f"{name}.root", {"t": {"x": tw.int64}}) as out, out.producer("t") as producer:
            for _ in range(8):
                producer.append(x=values)
    wanted = sorted([*os.listdir(tmp_path)])
    for seconds in (0.3, 0.4, 0.5):
        command = [sys.executable, "-m", "thalweg", "merge", "a.root", "b.root", "--out", "out.root"]
        with subprocess.Popen(command, cwd=tmp_path) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        if (tmp_path / "out.root").exists():  # it had ended, or all but that was done: a name comes last
            assert len(tw.open(tmp_path / "out.root")["t"]) == 16 * len(values)
            (tmp_path / "out.root").unlink()
        assert sorted(os.listdir(tmp_path)) == wanted


def derived(folder: Path, name: str, of: Path) -> Path:
    def sums(events: Any) -> dict[str, Any]:
        histogram = hist.Hist.new.StrCat([], growth=True, name="kind").Double()
        histogram.fill(kind=[f"kind {event % 3} of {name}" for event in events.event])
        return {"n": len(events), "events": np.array([ak.sum(events.event)]), "kinds": histogram}

    train = [tw.Derivation(folder / name, keep="event", select={"even": lambda one: one.event % 2 == 0}, summary=sums)]
    tw.derive(f"{of}:events", train, workers=2, range_bytes=2000).run()
    return folder / name


def result(path: Path) -> Any:
    return json.loads(tw.open(path).metadata["derive.result"])


def test_summaries_and_cut_flows_are_added(inputs: list[Path], tmp_path: Path) -> None:
    """This holds for files of the same summaries, and for merged files that are merged again."""
    parts = [derived(tmp_path, f"of_{each.name}", each) for each in inputs]
    tw.merge(parts[:2], tmp_path / "two.root")
    tw.merge([tmp_path / "two.root", parts[2]], tmp_path / "three.root")
    events = np.concatenate([np.arange(1000 * i, 1000 * i + 700 + i) for i in range(3)])
    for out, last in (("two.root", 2), ("three.root", 3)):
        of = events[events < 1000 * last]
        found = result(tmp_path / out)
        assert (found["events"], found["cuts"], found["rows"]) == (
            len(of),
            {"even": sum(of % 2 == 0)},
            sum(of % 2 == 0),
        )
        assert found["values"]["n"] == len(of)
        assert found["values"]["events"] == [of.sum()]
        kinds = dict(zip(found["values"]["kinds"]["axes"][0]["bins"], found["values"]["kinds"]["values"], strict=False))
        assert len(kinds) == 3 * last
        assert sum(kinds.values()) == len(of)


def test_equal_summaries_are_added(inputs: list[Path], tmp_path: Path) -> None:
    """The metadata of both files are the same."""
    parts = [derived(tmp_path, "x.root", inputs[0])]
    parts[0].rename(tmp_path / "first.root")
    parts = [tmp_path / "first.root", derived(tmp_path, "x.root", inputs[0])]
    assert result(parts[0]) == result(parts[1])
    tw.merge(parts, tmp_path / "out.root")
    assert result(tmp_path / "out.root")["events"] == 1400
    assert len(tw.open(tmp_path / "out.root")["events"]) == 2 * result(parts[0])["rows"]


def test_files_that_hold_each_other_are_refused(inputs: list[Path], tmp_path: Path) -> None:
    tw.merge(inputs[:2], tmp_path / "two.root")
    tw.merge([tmp_path / "two.root", inputs[2]], tmp_path / "three.root")
    tw.merge(inputs[1:], tmp_path / "others.root")
    for both in (["a.root", "two.root"], ["three.root", "b.root"], ["two.root", "others.root"]):
        with pytest.raises(tw.UsageError, match=r"both hold the rows of run .*count twice"):
            tw.merge([tmp_path / each for each in both], tmp_path / "out.root")
    assert not (tmp_path / "out.root").exists()


def test_summaries_that_cannot_be_added_are_refused(inputs: list[Path], tmp_path: Path) -> None:
    part = derived(tmp_path, "part.root", inputs[0])
    with tw.create(tmp_path / "plain.root", tw.open(part).schema) as out, out.producer("events") as producer:
        producer.append(event=1)
    with pytest.raises(tw.UsageError, match=r"plain\.root cannot be merged .*summaries"):
        tw.merge([part, tmp_path / "plain.root"], tmp_path / "out.root")

    def other(_: Any) -> dict[str, Any]:
        return {"n": np.ones(2)}

    train = [tw.Derivation(tmp_path / "other.root", keep="event", summary=other)]
    tw.derive(f"{inputs[1]}:events", train, workers=1).run()
    with pytest.raises(tw.UsageError, match=r"other\.root cannot be merged .*summary 'n'"):
        tw.merge([part, tmp_path / "other.root"], tmp_path / "out.root")
    assert not (tmp_path / "out.root").exists()


def test_many_files_are_merged_with_few_descriptors(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / f"{number}.root", 10 * number, 10)) for number in range(30)]
    program = (
        "import resource, sys, thalweg as tw\n"
        "import thalweg._files.merge, thalweg._derive.merge, uproot\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (28, 28))\n"
        "tw.merge(sys.argv[2:], sys.argv[1])\n"
    )
    out = tmp_path / "all.root"
    subprocess.run([sys.executable, "-c", program, str(out), *paths], check=True, timeout=120)
    assert of_uproot(out)["events"]["event"].to_list() == list(range(300))


def with_trees(path: Path, number: int) -> Path:
    with uproot.update(path) as file:
        file.mktree("Runs", {"run": np.uint32, "sum": np.float64})
        file["Runs"].extend({"run": np.array([number, number + 1], np.uint32), "sum": np.array([0.5, number])})
        file.mktree("tags", {"n": np.int16})
        file["histogram"] = np.histogram([1, 2, 3])
    return path


def runs_in(path: Path) -> dict[str, list[Any]]:
    with uproot.open(path) as file:
        found = file["Runs"].arrays()
        return {name: found[name].to_list() for name in found.fields}


def test_trees_are_carried_along(inputs: list[Path], tmp_path: Path) -> None:
    for number, path in enumerate(inputs):
        with_trees(path, 10 * number)
    out = tmp_path / "out.root"
    report = tw.merge(inputs, out, carry=["Runs", "events"])
    assert runs_in(out) == {"run": [0, 1, 10, 11, 20, 21], "sum": [0.5, 0.0, 0.5, 10.0, 0.5, 20.0]}
    assert [table.table for table in report.tables] == ["events", "sub/counts", "Runs"]
    named = {each.path.rpartition(":")[2]: each.why for each in report.problems}
    assert len(report.problems) == len(named) == 2
    assert "it is a TTree" in named["tags"]
    assert named["histogram"].endswith("; 2 other files too")
    with tw.open(out) as run:
        assert set(run) == {"events", "sub/counts", "Runs"}
        assert len(run["events"]) == 700 + 701 + 702
    assert tw.verify(out).is_sound
    tw.merge([out], tmp_path / "again.root")
    assert runs_in(tmp_path / "again.root") == runs_in(out)


def test_the_command_carries_trees_along(inputs: list[Path], tmp_path: Path) -> None:
    parts = [str(with_trees(each, 7)) for each in inputs[:2]]
    done = run(*parts, "--out", tmp_path / "out.root", "--carry", "Runs", "--carry", "tag*", "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert "4 tables" in done.stdout
    assert runs_in(tmp_path / "out.root")["run"] == [7, 8, 7, 8]
    with tw.open(tmp_path / "out.root") as merged:
        assert len(merged["tags"]) == 0


def test_trees_of_other_programs_are_carried_along(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "rntuple/test_int_5e4_rntuple_v1-0-0-0.root"
    if not source.exists():
        pytest.skip(f"there is no {source}")
    paths = [Path(shutil.copy(source, tmp_path / f"{number}.root")) for number in range(2)]
    for number, path in enumerate(paths):
        with_trees(path, number)
    tw.merge(paths, tmp_path / "out.root", carry="Runs")
    assert runs_in(tmp_path / "out.root")["run"] == [0, 1, 1, 2]


def test_trees_that_a_file_lacks_or_has_otherwise_are_named(inputs: list[Path], tmp_path: Path) -> None:
    with_trees(inputs[0], 1)
    out = tmp_path / "out.root"
    with pytest.raises(tw.UsageError, match=r"b\.root has no table 'Runs' to carry along"):
        tw.merge(inputs, out, carry=["Runs"])
    with pytest.raises(tw.UsageError, match=r"'Run' is no table of .*a\.root"):
        tw.merge(inputs, out, carry=["Run"])
    with uproot.update(inputs[1]) as file:
        file.mktree("Runs", {"run": np.uint32, "sum": np.float32})
    with pytest.raises(tw.UsageError, match=r"b\.root: column 'sum' is float32, but float64 in .*a\.root"):
        tw.merge(inputs[:2], out, carry=["Runs"])
    assert not out.exists()


@pytest.mark.parametrize("text", ["yes", "[1]", "7", '{"id": 3}'])
def test_metadata_of_users_are_not_taken_for_ours(tmp_path: Path, text: str) -> None:
    paths = [write(tmp_path / f"{name}.root", 10 * ord(name), 10, metadata={"merge": text}) for name in "ab"]
    tw.merge(paths, tmp_path / "both.root")
    assert len(of_uproot(tmp_path / "both.root")["events"]) == 20
    for path in paths:
        path.unlink()
    paths = [write(tmp_path / f"{name}.root", 0, 10, metadata={"derive.result": text}) for name in "ab"]
    with pytest.raises(tw.UsageError, match=r"a\.root cannot be merged \(its 'derive.result' is not of a job"):
        tw.merge(paths, tmp_path / "other.root")


def test_a_file_that_is_not_there_is_named_and_not_the_new_one(tmp_path: Path) -> None:
    with tw.create(tmp_path / "a.h5", {"t": {"x": tw.int32}}) as out:
        out.producer("t").append(x=1)
    with pytest.raises(tw.Error, match=r"b\.h5"):
        tw.merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "c.h5")
