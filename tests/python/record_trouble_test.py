"""`thalweg record` when names and folders are not as they were: the run goes on, numbers on, and says so."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from recording import SMALL, THALWEG, columns, record, recording, wait_for, wait_for_rows

import thalweg as tw
from thalweg import _core
from thalweg._recording.files import FilePlan, Files


def rows_of(*paths: Path) -> int:
    """The number of records in complete files, as h5py reads them."""
    return sum(len(table["timestamp"]) for table in columns(*paths).values())


def killed(out: Path, *options: str) -> set[str]:
    """Leaves a run of which all processes were killed. Returns the paths of its shared memory."""
    with recording(out, *SMALL, "--rate", "2kHz", *options, start_new_session=True) as recorder:
        wait_for(lambda: any(out.parent.glob("*.journal")))
        workers = recorder.workers()
        memory = set(re.findall(r"/dev/shm/\S+", Path(f"/proc/{recorder.process.pid}/maps").read_text()))
        os.killpg(recorder.process.pid, signal.SIGKILL)
        recorder.process.wait()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    return memory


def test_a_problem_that_is_over_stays_counted(tmp_path: Path) -> None:
    out, aside = tmp_path / "run.h5", tmp_path / "aside.h5"
    with recording(out, *SMALL, "--rate", "1kHz", "--duration", "60s", "--metrics", "0") as recorder:
        (url,) = re.findall(r"http://[0-9.:]+/metrics", recorder.said)

        def metric(name: str) -> float:
            said = urllib.request.urlopen(url, timeout=10).read().decode()
            return float(re.findall(f"^{name} (.*)", said, re.MULTILINE)[0])

        for count in (1, 2):
            out.rename(aside)
            wait_for(lambda: metric("thalweg_failed") == 1)
            assert metric("thalweg_problems_total") == count
            aside.rename(out)
            wait_for(lambda: metric("thalweg_failed") == 0)
            assert metric("thalweg_problems_total") == count
        recorder.signal(signal.SIGINT)
        _, err = recorder.process.communicate(timeout=120)
    assert err.count("run.h5 was moved while it is being written") == 2


def test_a_folder_that_is_renamed_ends_nothing(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    options = ("--rate", "2kHz", "--duration", "3s", "--metrics", "0")
    with recording(before / "run.h5", *SMALL, *options) as recorder:
        wait_for_rows(before / "run.h5", 100)
        before.rename(after)
        time.sleep(0.7)
        (url,) = re.findall(r"http://[0-9.:]+/metrics", recorder.said)
        said = urllib.request.urlopen(url, timeout=10).read().decode()
        out, err = recorder.process.communicate(timeout=120)
    report = json.loads(out)
    assert recorder.process.returncode == 0, err
    assert (report["problems"], report["ended_by"]) == ([], "duration")
    assert report["files"][0]["path"] == str(after / "run.h5")
    assert err.count("run.h5 was moved while it is being written") == 1
    assert 'thalweg_state{state="recording"} 1.0' in said
    assert 'thalweg_state{state="closing"} 0.0' in said
    assert "thalweg_failed 1.0" in said
    free_bytes = float(re.findall(r"^thalweg_disk_free_bytes (.*)", said, re.MULTILINE)[0])
    assert free_bytes > 0  # and not NaN
    assert os.listdir(after) == ["run.h5"]
    assert rows_of(after / "run.h5") == report["rows"] == report["triggers"]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Files of which every one is too old at once."""
    schema = tw.schema({"a": {"number": tw.int64}})
    plan = FilePlan(tmp_path / "folder" / "run.h5", schema.to_json(), ["a"], _core.CreateOptions(), {}, max_ns=1)
    plan.path.parent.mkdir()
    files = Files(plan)
    files.start(0)
    return files


def test_a_file_that_cannot_be_begun_is_begun_later(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg._recording.files._RETRY_NS", 200_000_000)
    with tw.attach(files.current.writer.handle) as run:
        producer = run.producer("a")
        producer.append(number=1)
        wait_for(lambda: bool(files.current.writer.status().producers))
        (tmp_path / "folder").rename(tmp_path / "elsewhere")
        with pytest.raises(tw.Error, match="there is no folder"):
            wait_for(files.rotate_if_due)
        assert not files.rotate_if_due()  # it is too early to try again
        producer.append(number=2)
        (tmp_path / "elsewhere").rename(tmp_path / "folder")
        wait_for(files.rotate_if_due)
        producer.append(number=3)
    files.close()
    wait_for(files.closed)
    assert files.errors() == []
    assert [file.channels["a"].rows for file in files.all] == [2, 1]


def test_a_rotation_that_fails_is_said_and_ends_nothing(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    options = ("--rate", "2kHz", "--duration", "3s", "--max-file-time", "1s")
    with recording(before / "run.h5", *SMALL, *options) as recorder:
        before.rename(tmp_path / "after")
        out, err = recorder.process.communicate(timeout=120)
    report = json.loads(out)
    assert recorder.process.returncode == 1
    (problem,) = report["problems"]
    assert "the next file cannot be begun" in problem
    assert f"there is no folder {before}" in problem
    assert err.count(problem) >= 1
    assert report["ended_by"] == "duration"
    assert all(file["complete"] for file in report["files"])
    assert rows_of(*sorted((tmp_path / "after").iterdir())) == report["rows"] == report["triggers"]


def test_numbers_that_are_taken_are_left_out(tmp_path: Path) -> None:
    taken = tmp_path / "run-00002.h5"
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "2kHz", "--duration", "3s", "--max-file-time", "1s") as it:
        taken.write_bytes(b"of another run")
        out, err = it.process.communicate(timeout=120)
    report = json.loads(out)
    assert it.process.returncode == 0, err
    assert f"{taken} is there already: the run goes on in the next number" in it.said + err
    paths = [Path(file["path"]) for file in report["files"]]
    assert paths[:2] == [tmp_path / "run-00001.h5", tmp_path / "run-00003.h5"]
    assert taken.read_bytes() == b"of another run"
    assert rows_of(*paths) == report["rows"] == report["triggers"]


def test_a_restart_with_the_same_name_numbers_on(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    killed(out, "--max-file-time", "60s")
    words = [THALWEG, "record", "--out", str(out), *SMALL, "--records", "100", "--max-file-time", "60s"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"run-00001.h5 of an earlier run is not complete: `thalweg recover {tmp_path}/run-00001.h5`" in done.stderr
    assert rows_of(tmp_path / "run-00002.h5") == 300
    done = subprocess.run([*words, "--continue"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/run-00001.h5 of an earlier run is complete now" in done.stderr
    assert rows_of(tmp_path / "run-00003.h5") == 300
    assert rows_of(tmp_path / "run-00001.h5") > 0
    assert sorted(os.listdir(tmp_path)) == [f"run-0000{number}.h5" for number in (1, 2, 3)]


def test_losses_of_an_earlier_run_fail_the_next_one_also_if_it_is_quiet(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    words = [THALWEG, "record", "--out", str(out), *SMALL, "--records", "100", "--continue", "--quiet"]
    for is_memory_gone in (False, True):
        memory = killed(out, "--force")
        assert memory
        for path in memory if is_memory_gone else ():  # as a restart of the machine does it
            Path(path).unlink()
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert f"{out} of an earlier run is complete now" in done.stderr
        assert ("more may be missing" in done.stderr) == is_memory_gone, done.stderr
        assert done.returncode == is_memory_gone, done.stderr


def test_an_earlier_run_that_cannot_be_asked_stops_no_later_one(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    killed(out)
    journal = Path(f"{out}.journal")
    journal.write_bytes(bytes(journal.stat().st_size))
    words = [THALWEG, "record", "--out", str(out), *SMALL, "--records", "100", "--continue"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{out} of an earlier run is not complete (" in done.stderr
    assert "the run begins all the same" in done.stderr
    assert rows_of(tmp_path / "run-00002.h5") == 300


def test_a_file_that_is_there_is_continued_in_the_next_number(tmp_path: Path, thalweg_command: Any) -> None:
    out = tmp_path / "run.h5"
    options = (*SMALL, "--records", "100", "--continue")
    assert [file["path"] for file in record(out, *options)["files"]] == [str(out)]
    content = out.read_bytes()
    (file,) = record(out, *options)["files"]
    assert file["path"] == str(tmp_path / "run-00002.h5")
    assert out.read_bytes() == content
    assert rows_of(*tmp_path.iterdir()) == 600
    assert tw.open(tmp_path / "run-00002.h5").metadata["file_number"] == "2"
    (tmp_path / "options.toml").write_text("continue = true\n")
    done = thalweg_command("record", "--config", tmp_path / "options.toml", "--out", out, *SMALL, "--records", "100")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run-00003.h5").exists()
    for other in ("--force", "--nodes=2"):
        assert thalweg_command("record", "--out", out, "--continue", other, "--node=1").returncode == 2


@pytest.mark.parametrize("options", [(), ("--max-file-time", "60s")])
def test_a_second_recorder_is_told_to_take_another_name(
    tmp_path: Path, thalweg_command: Any, options: tuple[str, ...]
) -> None:
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "1kHz", *options) as recorder:
        done = thalweg_command("record", "--out", tmp_path / "run.h5", "--records", "1", *options)
        assert done.returncode == 2
        assert re.search("choose another path|give another file with --out", done.stderr)
        assert not re.search("lsof|stop|recover ", done.stderr)
        recorder.signal(signal.SIGINT)
        assert recorder.report()["rows"] > 0


def test_a_run_that_was_killed_is_not_called_sound(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "run.h5"
    with recording(path, *SMALL, "--rate", "1kHz") as recorder:
        done = thalweg_command("verify", path)
        assert done.returncode == 0, done.stderr
        assert "The run is still open" in done.stdout
        assert not tw.verify(path).is_unfinished
        recorder.signal(signal.SIGINT)
        recorder.report()
    path.unlink()
    killed(path)
    done = thalweg_command("verify", path)
    assert done.returncode == 1
    assert "sound" not in done.stdout
    assert f"no process writes it: `thalweg recover {path}` completes it" in done.stdout
    assert json.loads(thalweg_command("verify", "--json", path).stdout)["writers"] == "ended"
    assert tw.verify(path).is_unfinished
    looked = thalweg_command("inspect", path).stdout.splitlines()
    assert looked[0].startswith(f"{path}: a run that is not complete and that no process writes any more, ")
    assert f"No process writes it any more: `thalweg recover {path}` completes it" in "\n".join(looked)
    assert thalweg_command("recover", path).returncode == 0
    done = thalweg_command("verify", path)
    assert done.returncode == 0
    assert "sound" in done.stdout


def test_errors_of_closed_files_end_nothing(files: Files) -> None:
    """The file before the current one was removed while it was closed: said, and the run goes on."""
    with tw.attach(files.current.writer.handle) as run:
        producer = run.producer("a")
        producer.append(number=1)
        wait_for(files.rotate_if_due)
        files.all[0].error = "it was removed"
        producer.append(number=2)
        wait_for(files.rotate_if_due)
    files.close()
    wait_for(files.closed)
    assert [file.channels["a"].rows for file in files.all] == [1, 1, 0]
    assert files.errors() == ["it was removed"]
