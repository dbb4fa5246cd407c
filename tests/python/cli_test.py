"""The command line: what it accepts, what it says, and how it ends."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from recording import SMALL, THALWEG, compass_file, record, recording
from serving import shown
from watching import watched

from thalweg.cli import (
    convert,
    derive,
    devices,
    explain,
    inspect,
    knobs,
    merge,
    mount,
    plot,
    recover,
    serve,
    snapshot,
    tdpac,
    topology,
    trace,
    tune,
    verify,
    watch,
)
from thalweg.cli import record as record_command

# Later examples read what earlier ones write.
COMMANDS = [
    record_command, devices, recover, snapshot, serve, mount, inspect, verify, plot, tdpac, watch, convert, derive,
    merge, knobs, topology, trace, explain, tune,
]  # fmt: skip


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.h5"
    record(path, *SMALL, "--samples", 500, "--records", 1000, "--run-number", 3)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", ""),
        ("nonsense", "no such command"),
        ("record --colour red", "--colour"),
        ("record --channels 0", "--channels"),
        ("record --rate abc", "'abc' is no rate"),
        ("record --sample-rate abc", "'abc' is not a frequency"),
        ("record --duration 10q", "is not a duration"),
        ("record --codec zip", "no codec"),
        ("record --out run.txt", "no known format"),
        ("record --input run.BIN", "--input cannot be given with --source digitizer"),
        ("record --source replay", "give --input FILE"),
        ("record --source replay --input missing.BIN", "there is no such file"),
        ("record --source replay --input {run} --seed 3", "--seed cannot be given with --source replay"),
        ("record --out {run}", "it exists"),
        ("record --meta novalue", "not of the form KEY=VALUE"),
        ("record --meta host=x", "itself writes 'host'"),
        ("record --metrics here", "--metrics here is not an address"),
        ("record --config missing.toml", "cannot read missing.toml"),
        ("inspect missing.h5", "missing.h5"),
        ("verify missing.h5", "missing.h5"),
        ("recover missing.h5", "missing.h5"),
        ("snapshot missing.h5 --out copy.h5", "there is no such file"),
        ("snapshot {run} --out copy.h5", "it is complete"),
        ("snapshot {run} --out copy.root", "of the same container"),
        ("serve missing", "it is not a folder"),
        ("readout host missing.toml", "cannot read missing.toml"),
        ("serve . --listen here", "--listen here is not an address"),
        ("serve . --listen 8.8.8.8:80", "--token-file"),
        ("serve . --jsroot .", "is no JSROOT"),
        ("serve {run}", "it is not a folder"),
        ("convert missing.h5 copy.h5", "missing.h5"),
        ("convert {run} {run}", "into itself"),
        ("convert {run} copy.txt", "no known format"),
        ("convert {run} copy.root --codec bitshuffle+lz4", "no codec for an RNTuple"),
        ("plot {run} --table ch9", "its tables are ch0, ch1, ch2"),
        ("plot {run} --out picture.jpg", "give a name that ends in .png"),
        ("tdpac {run} --config missing.toml", "cannot read missing.toml"),
        ("tdpac {run} --config missing.toml --plot picture.jpg", "give a name that ends in .png or .pdf"),
        ("tdpac {run} --config missing.toml --out {run}", "give --force to replace it"),
    ],
)
def test_a_wrong_request_ends_with_code_2_and_one_sentence(
    arguments: str, said: str, run_file: Path, thalweg_command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = thalweg_command(*(word.format(run=run_file) for word in arguments.split()))
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    if arguments:
        assert re.fullmatch(r"thalweg: .+\n", done.stderr)
        assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["inspect", "verify", "plot"])
def test_a_damaged_file_ends_with_code_1(command: str, tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "noise.h5"
    path.write_bytes(bytes(range(256)) * 100)
    done = thalweg_command(command, path)
    assert done.returncode == 1
    assert re.fullmatch(r"thalweg: .*noise\.h5.*\n", done.stderr)


def test_flipped_bytes_are_found_and_named(run_file: Path, tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "flipped.h5"
    content = bytearray(run_file.read_bytes())
    content[len(content) // 3] ^= 0x10
    path.write_bytes(content)
    done = thalweg_command("verify", path)
    assert done.returncode == 1
    assert re.search(r"table 'ch\d', column '.+'", done.stdout)
    found = json.loads(thalweg_command("verify", path, "--json").stdout)
    assert found["faults"] == 1
    assert not found["is_sound"]


def test_verify_says_that_a_file_is_sound(run_file: Path, thalweg_command) -> None:
    done = thalweg_command("verify", run_file)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sound" in done.stdout
    assert json.loads(thalweg_command("verify", run_file, "--json").stdout)["is_sound"]


def test_inspect_shows_fields_with_units_and_how_they_are_stored(run_file: Path, thalweg_command) -> None:
    done = thalweg_command("inspect", run_file)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ch0, ch1, ch2: 1,000 rows each" in done.stdout
    assert re.search(r"timestamp +uint64 +ps +bitshuffle\+lz4", done.stdout)
    assert re.search(r"values +uint16\[500\] +ADC", done.stdout)
    assert "run_number: 3" in done.stdout


def test_inspect_tells_programs_the_same(run_file: Path, thalweg_command) -> None:
    facts = json.loads(thalweg_command("inspect", run_file, "--json").stdout)
    assert not facts["is_open"]
    assert facts["file_bytes"] == run_file.stat().st_size
    assert facts["metadata"]["run_number"] == "3"
    table = facts["tables"][0]
    assert (table["name"], table["rows"]) == ("ch0", 1000)
    values = table["columns"]["waveform/values"]
    assert values["raw_bytes"] == 1000 * 500 * 2
    assert 0 < values["stored_bytes"] < values["raw_bytes"]


def test_a_run_that_is_being_written_can_be_looked_at(tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "run.h5"
    with recording(path, *SMALL, "--rate", "5kHz", "--flush-interval", "200ms") as recorder:
        facts = json.loads(thalweg_command("inspect", path, "--json").stdout)
        assert facts["is_open"]
        assert {each["pid"] for each in facts["producers"]} == set(recorder.workers())
        assert sum(table["rows"] for table in facts["tables"]) > 0
        assert "Being written by process" in thalweg_command("inspect", path).stdout
        assert thalweg_command("verify", path).returncode == 0
        assert thalweg_command("plot", path, "--out", tmp_path / "live.png").returncode == 0
        assert recorder.process.poll() is None


def test_plot_draws_a_png(run_file: Path, tmp_path: Path, thalweg_command) -> None:
    target = tmp_path / "run.png"
    done = thalweg_command("plot", run_file, "--out", target, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["panels"] == ["pulses", "spectrum", "rates"]
    assert target.read_bytes().startswith(b"\x89PNG")
    one = tmp_path / "one.png"
    assert thalweg_command("plot", run_file, "--what", "rates", "--table", "ch1", "--out", one).returncode == 0
    assert one.stat().st_size < target.stat().st_size


def test_the_report_of_a_run_has_what_programs_need(tmp_path: Path) -> None:
    report = record(tmp_path / "run.h5", *SMALL, "--records", 100)
    assert report.keys() == {
        *("ended_by", "seconds", "close_seconds", "engine", "rows", "raw_bytes", "stored_bytes", "raw_bytes_per_s"),
        *("triggers", "lost_triggers", "not_taken_triggers", "dead_time_fraction", "channels", "files", "memory"),
        *("notes", "problems"),
    }
    assert report["channels"]["ch2"] | {"stored_bytes": 0, "live_time_ns": 0} == {
        "rows": 100,
        "raw_bytes": 100 * (8 + 4 + 4 + 2 * 64),
        "stored_bytes": 0,
        "triggers": 100,
        "lost_triggers": 0,
        "dead_time_ns": 0,
        "live_time_ns": 0,
        "dead_time_fraction": 0.0,
    }
    (file,) = report["files"]
    assert file["complete"]
    assert file["bytes"] == (tmp_path / "run.h5").stat().st_size
    assert re.fullmatch("[0-9a-f]{8}", file["adler32"])


def test_the_report_goes_to_stdout(tmp_path: Path, thalweg_command) -> None:
    done = thalweg_command("record", "--out", tmp_path / "run.h5", *SMALL, "--records", 100)
    assert "Recorded" not in done.stderr
    assert "Recorded 300 records of 3 channels" in done.stdout


def test_configuration_goes_round(tmp_path: Path, thalweg_command) -> None:
    asked = (
        "--channels",
        3,
        "--rate",
        "200MB/s",
        "--meta",
        'note=a "b" ü',
        "--on-start",
        "true",
        "--threads",
        2,
        "--json",
    )
    dumped = thalweg_command("record", *asked, "--dump-config").stdout
    path = tmp_path / "run.toml"
    path.write_text(dumped)
    assert thalweg_command("record", "--config", path, "--dump-config").stdout == dumped
    assert "channels = 3\n" in dumped
    other = thalweg_command("record", "--config", path, "--channels", 4, "--dump-config").stdout
    assert other == dumped.replace("channels = 3\n", "channels = 4\n")


def test_every_option_is_in_the_configuration(thalweg_command) -> None:
    dumped = thalweg_command("record", "--dump-config").stdout
    help_text = thalweg_command("record", "--help").stdout
    options = set(re.findall(r"--([a-z-]+)", help_text)) - {"config", "dump-config", "help", "version"}
    assert len(options) > 25
    missing = [
        name
        for name in options
        if not name.startswith("no-") and not re.search(rf"^(# )?{name} ", dumped, re.MULTILINE)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("chanels = 3", "did you mean 'channels'?"),
        ("xyzzy = 3", "there are source, out"),
        ("channels = ", "is not TOML"),
        ('channels = "many"', "--channels"),
        ('source = "antenna"', "antenna"),
    ],
)
def test_wrong_configuration_is_refused(text: str, said: str, tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    done = thalweg_command("record", "--config", path, "--out", tmp_path / "run.h5")
    assert done.returncode == 2
    assert said in done.stderr


def test_the_examples_in_the_help_work(
    tmp_path: Path, thalweg_command, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    compass_file(Path("run.BIN"))
    Path("run.toml").write_text("channels = 2\nsamples = 100\n")
    Path("row.toml").write_text('field = [{name = "energy", type = "uint16"}]\n')
    Path("rows.dat").write_bytes(bytes(200))
    Path("train.py").write_text("import thalweg as tw\ntrain = [tw.Derivation('times.root', keep='timestamp')]\n")
    for name in ("a.root", "b.root"):
        record(Path(name), *SMALL, "--records", 100)
    commands = [example for module in COMMANDS for example in module.EXAMPLES]
    assert len(commands) >= 8
    for command in commands:
        words = shlex.split(command.partition(" > ")[0])
        if words[1] == "serve":  # which goes on until it is told to end
            Path("token").write_text("secret\n")
            with shown(*words[2:]):
                continue
        if words[1] == "watch":
            Path("tdpac.toml").write_text('places = "line"\n')
            record(Path("run.h5"), "--channels", 2, "--waveforms", "none", "--records", 3000, "--force")
            with watched(*words[2:]):
                continue
        if words[1] == "mount":  # which root alone may do everywhere: tests/python/mount_test.py
            continue
        with contextlib.ExitStack() as until_done:
            if words[1] == "record":
                few = ["--records", "50"] if "--duration" in words else []
                words += ["--force", *few, *(["--metrics", "0"] if "--metrics" in words else [])]
            elif words[1] == "recover":
                with recording(Path("run.h5"), *SMALL, "--rate", "1kHz", "--force") as recorder:
                    recorder.process.kill()
            elif words[1] == "tdpac":
                features = "[features]\nbits = 14\nsample-period = 2\n" if "--features" in words else ""
                Path("tdpac.toml").write_text('places = "line"\n' + features)
                record(Path("run.h5"), "--channels", 2, "--waveforms", "none", "--records", 3000, "--force")
                words += ["--force"]
            elif words[1] == "tune":
                Path("write.py").write_text('open("out.txt", "w").write("x")')
                Path("out.txt").unlink(missing_ok=True)
                words = ["0" if word == "10" else word for word in words]  # pairs of timed runs
            elif words[1] == "snapshot":
                until_done.enter_context(recording(Path("run.h5"), *SMALL, "--rate", "1kHz", "--force"))
            else:
                for left in tmp_path.glob("run.h5*"):  # by a recording that was killed
                    left.unlink()
                shutil.copy(run_file, "run.h5")
            done = thalweg_command(*words[1:])
        assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.parametrize("module", COMMANDS)
def test_the_help_shows_the_examples(module: ModuleType, thalweg_command) -> None:
    shown = " ".join(thalweg_command(module.EXAMPLES[0].split()[1], "--help").stdout.split())
    assert [example for example in module.EXAMPLES if example not in shown] == []


@pytest.mark.parametrize("words", ["--help", "record --help", "readout serve --help"])
def test_a_reader_of_the_help_may_end_early(words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as gone:
        done = subprocess.run([THALWEG, *words.split()], stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version(thalweg_command) -> None:
    assert re.fullmatch(r"thalweg \d+\.\d+\.\d+\n", thalweg_command("--version").stdout)
    assert THALWEG
