"""Workers of an engine on several machines write the outputs of one job, and die: every event is there once."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import awkward as ak
import pytest
from derive_cases import EVENTS, ROW, SMALL, events, write_input
from derive_job import TIMEOUT_S
from engine_jobs import (
    ENGINE,
    PROGRAM,
    SECONDS,
    EngineJob,
    environment,
    expect_same,
    kill,
    node_process,
    processes,
    rows_of,
    start,
)
from launchers import mpich_on
from machines import Machine, Make

import thalweg as tw

Expected = Callable[[str], Path]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """What a job of one machine gives that nothing disturbs."""
    folder = tmp_path_factory.mktemp("expected")

    def made(ending: str) -> Path:
        if not (folder / ending).exists():
            words = [sys.executable, PROGRAM, "none", "", str(inputs), str(folder / ending), ending, "1"]
            (folder / ending).mkdir()
            done = subprocess.run(words, env=os.environ | environment(), capture_output=True, timeout=SECONDS)
            assert done.returncode == 0, done.stderr
        return folder / ending

    return made


@pytest.mark.parametrize("ending", [".h5", ".root"])
def test_outputs_are_those_of_one_machine(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path, ending: str
) -> None:
    job = EngineJob(make_machines(3), inputs, tmp_path / "out", ending, [0, 1, 1, 2], 3)
    report = job.report()
    expect_same(expected(ending), job.folder, ending)
    assert report["is_whole"]
    assert report["notes"] == []
    assert report["events_done"] == EVENTS
    for output in report["outputs"]:
        nodes = output["file"]["nodes"]
        assert sorted(each["host"] for each in nodes) == ["machine1", "machine2", "machine3"]
        assert all(each["rows"] > 0 for each in nodes)
        told = json.loads(tw.open(output["path"]).metadata["derive.nodes"])
        assert [(each["node"], each["host"]) for each in told] == [
            (1 + i, each["host"]) for i, each in enumerate(nodes)
        ]


@pytest.mark.parametrize(("ending", "engine"), [(".h5", "own"), (".root", "blind")])
def test_a_machine_that_dies_costs_nothing(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path, ending: str, engine: str
) -> None:
    """Also where the engine never notices that."""
    machines = make_machines(3)
    job = EngineJob(machines, inputs, tmp_path / "out", ending, [0, 1, 1, 2], 3, engine)
    job.wait_for("a third is done")
    machines[1].kill()
    report = job.report()
    expect_same(expected(ending), job.folder, ending)
    assert report["is_whole"]
    notes = "; ".join(report["notes"] + [note for each in report["outputs"] for note in each["file"]["notes"]])
    assert "machine2" in notes
    assert "silent for 8 s" in notes
    assert "without node" in notes
    assert "machine3) has been silent" not in notes


def test_carried_tables_are_there_once(make_machines: Make, tmp_path: Path) -> None:
    with tw.create(tmp_path / "in.root", {"Events": ROW, "Runs": {"run": tw.uint32}}, tuning=SMALL) as out:
        with out.producer("Events") as producer:
            producer.append(events(0, 4000))
        with out.producer("Runs") as producer:
            producer.append(run=[7, 8, 9])
    machines = make_machines(2)
    job = EngineJob(machines, Path(f"{tmp_path / 'in.root'}:Events"), tmp_path / "out", ".root", [0, 1], 2)
    job.wait_for("a third is done")
    machines[1].kill()
    report = job.report()
    assert report["is_whole"]
    assert not any("work units" in note for note in report["notes"])
    for output in report["outputs"]:
        assert tw.open(output["path"])["Runs"].read()["run"].tolist() == [7, 8, 9]


def test_what_only_the_memory_of_a_machine_had_is_done_again(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path
) -> None:
    """Nothing journals what its workers commit, before it dies."""
    machines = make_machines(2)
    job = EngineJob(machines, inputs, tmp_path / "out", ".h5", [1, 1], 2)
    job.wait_for("ranges are being done")
    assert machines[1].run("kill", "-STOP", node_process(machines[1])).returncode == 0
    time.sleep(0.7)
    machines[1].kill()
    job.add_worker(0)
    report = job.report()
    expect_same(expected(".h5"), job.folder, ".h5")
    assert report["is_whole"]
    assert "had to be done again" in report["notes"][0]


def test_a_worker_and_a_node_process_die(make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path) -> None:
    """The engine starts another worker, which finds its node. A machine without its node does nothing more."""
    machines = make_machines(3)
    job = EngineJob(machines, inputs, tmp_path / "out", ".root", [1, 1, 2], 3)
    job.wait_for("ranges are being done")
    kill(machines[1], processes(machines[1], ENGINE)[0])
    job.add_worker(1)
    kill(machines[2], node_process(machines[2]))
    report = job.report()
    expect_same(expected(".root"), job.folder, ".root")
    assert report["is_whole"]
    assert "machine3" in "; ".join(report["notes"])
    assert any("lost a call" in each["reason"] for each in report["failures"])


def test_without_its_own_process_the_job_ends(make_machines: Make, inputs: Path, tmp_path: Path) -> None:
    """The nodes notice it, and leave. What was done by then can be completed."""
    machines = make_machines(3)
    job = EngineJob(machines, inputs, tmp_path / "out", ".h5", [0, 1, 2], 3)
    job.wait_for("a third is done")
    pids = [node_process(machine) for machine in machines[1:]]
    machines[0].kill()
    end = time.monotonic() + SECONDS
    for machine, pid in zip(machines[1:], pids, strict=True):
        while pid in processes(machine, "thalweg._derive.node_process"):
            assert time.monotonic() < end
            time.sleep(0.2)
    for name in ("muons.h5", "lite.h5"):
        report = tw.recover(job.folder / name, all_nodes_are_down=True)
        events = rows_of(job.folder / name).event
        assert len(set(events.tolist())) == len(events) == report.rows > 0
    assert sorted(os.listdir(job.folder)) == ["lite.h5", "muons.h5"]


@pytest.mark.parametrize("dying", [0, 1])
def test_a_machine_dies_while_the_outputs_are_closed(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path, dying: int
) -> None:
    """Nothing is lost, also where it is that of the job: others complete the outputs, or `recover` does."""
    machines = make_machines(3)
    job = EngineJob(machines, inputs, tmp_path / "out", ".root", [0, 1, 2], 3)
    while not list(job.folder.glob("*.job/closing")):
        assert job.job.poll() is None
        time.sleep(0.002)
    machines[dying].kill()
    if dying:
        assert job.report()["is_whole"]
        expect_same(expected(".root"), job.folder, ".root")
        return
    end = time.monotonic() + SECONDS
    while any(processes(machine, "thalweg._derive.node_process") for machine in machines[1:]):
        assert time.monotonic() < end
        time.sleep(0.2)
    for name in ("muons.root", "lite.root"):
        if (job.folder / f"{name}.parts").exists():
            tw.recover(job.folder / name, all_nodes_are_down=True)
        assert ak.array_equal(rows_of(job.folder / name), rows_of(expected(".root") / name), dtype_exact=True)
    assert sorted(os.listdir(job.folder)) == ["lite.root", "muons.root"]


def test_a_machine_that_never_comes_is_missed(make_machines: Make, inputs: Path, tmp_path: Path) -> None:
    job = EngineJob(make_machines(3), inputs, tmp_path / "out", ".root", [0, 1], 3)
    code, _, err = job.ends()
    assert code != 0
    assert "besides machine1, which runs the job, machine2 joined within 8 s" in err
    assert os.listdir(job.folder) == []


def test_what_is_there_is_left_alone(make_machines: Make, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lite.root").write_bytes(b"mine")
    job = EngineJob(make_machines(2), inputs, tmp_path / "out", ".root", [1], 2)
    code, _, err = job.ends()
    assert code != 0
    assert "lite.root exists already" in err
    assert (tmp_path / "out" / "lite.root").read_bytes() == b"mine"
    assert os.listdir(tmp_path / "out") == ["lite.root"]


def test_one_comes_late_and_one_is_too_many(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path
) -> None:
    machines = make_machines(3)
    job = EngineJob(machines, inputs, tmp_path / "out", ".root", [0], 2)
    time.sleep(TIMEOUT_S / 4)
    job.add_worker(1)
    job.wait_for("ranges are being done")
    job.add_worker(2)
    report = job.report()
    expect_same(expected(".root"), job.folder, ".root")
    assert report["is_whole"]
    hosts = [each["host"] for each in report["outputs"][0]["file"]["nodes"]]
    assert hosts == ["machine1", "machine2"]


def test_dask_on_several_machines(make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path) -> None:
    """It is asked how many there are, and does the work of a machine that died on others."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("dask's distributed is not installed")
    machines, file = make_machines(3), tmp_path / "scheduler.json"
    options = ["--scheduler-file", file, "--no-dashboard"]
    start(machines[0], "-m", "dask", "scheduler", "--port", "0", *options)
    for machine in machines:
        own = ["--local-directory", tmp_path / machine.name, "--nthreads", "1"]
        start(machine, "-m", "dask", "worker", *options, *own)
    job = EngineJob(machines, inputs, tmp_path / "out", ".h5", [], 0, "dask", file)
    job.wait_for("a third is done")
    machines[2].kill()
    report = job.report()
    expect_same(expected(".h5"), job.folder, ".h5")
    assert report["is_whole"]
    assert {each["host"] for each in report["outputs"][0]["file"]["nodes"]} == {"machine1", "machine2", "machine3"}


def test_mpi4py_futures_on_several_machines(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path
) -> None:
    over = mpich_on(make_machines(2), [0, 0, 1, 1], tmp_path)
    folder = tmp_path / "out"
    folder.mkdir()
    words = [sys.executable, "-m", "mpi4py.futures", PROGRAM, "mpi", "", str(inputs), str(folder), ".root", "2"]
    variables = os.environ | environment() | over.environment
    done = subprocess.run([*over.command, *words], env=variables, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    expect_same(expected(".root"), folder, ".root")
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["is_whole"]
    assert [each["host"] for each in report["outputs"][0]["file"]["nodes"]] == ["machine1", "machine2"]
    assert all(each["rows"] > 0 for each in report["outputs"][0]["file"]["nodes"])


def disturb(machines: Sequence[Machine], job: EngineJob, chance: random.Random, kinds: Sequence[str]) -> str:
    """Kills something of the second and third machine."""
    time.sleep(chance.random() * 1.5)
    place = chance.choice([1, 2])
    what = chance.choice(kinds)
    if what == "machine":
        machines[place].kill()
    elif found := processes(machines[place], ENGINE if what == "worker" else "thalweg._derive.node_process"):
        kill(machines[place], chance.choice(found))
        if what == "worker":
            job.add_worker(place)
    return f"{what} of machine{place + 1}"


@pytest.mark.timeout(3000)
def test_whatever_dies_every_event_is_there_once(
    make_machines: Make, inputs: Path, expected: Expected, tmp_path: Path, long_mode: bool
) -> None:
    for seed in range(40) if long_mode else [2]:
        chance = random.Random(seed)
        ending = chance.choice([".h5", ".root"])
        machines = make_machines(3)
        engine = chance.choice(["own", "own", "blind"])
        # If a worker dies on a living machine, only the engine knows it.
        kinds = ["node process", "machine", *(["worker"] if engine == "own" else [])]
        job = EngineJob(machines, inputs, tmp_path / f"out{seed}", ending, [0, 0, 1, 1, 2], 3, engine)
        job.wait_for("ranges are being done")
        died = [disturb(machines, job, chance, kinds) for _ in range(chance.choice([1, 2]))]
        report = job.report()
        print(f"seed {seed}, {ending}, {engine}: {', '.join(died)}; {'; '.join(report['notes'])}")
        expect_same(expected(ending), job.folder, ending)
        assert report["is_whole"]
        for machine in machines:
            machine.kill()
