"""The processes of a job: what it derives, and what it and its workers report."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
from derive_cases import ROW, SMALL, events, muons, sums, two_muons

import thalweg as tw
from kills.derive.plan import Plan
from kills.stage import Say

EVENTS_PER_CLUSTER = 500
NAMES = ("muons", "lite")
DEATH = "death-"
WEIGHT = 1 / 7
PHI = -9.0  # of events of a file that has no MET_phi


def clusters_of(plan: Plan, file: int) -> range:
    return range(plan.clusters * file // plan.files, plan.clusters * (file + 1) // plan.files)


def lacks(plan: Plan, file: int) -> bool:
    return plan.lacks and file % 2 == 1


def events_of(plan: Plan) -> ak.Array:
    """Returns the events as functions see them: with what the job fills in."""
    of = events(0, plan.clusters * EVENTS_PER_CLUSTER)
    phi = ak.to_numpy(of.MET_phi).copy()
    for file in range(plan.files):
        if lacks(plan, file):
            clusters = clusters_of(plan, file)
            phi[clusters.start * EVENTS_PER_CLUSTER : clusters.stop * EVENTS_PER_CLUSTER] = PHI
    return ak.with_field(of, phi, "MET_phi")


def sources(plan: Plan, folder: Path) -> list[Path]:
    return [folder / f"in{file}.root" for file in range(plan.files)]


def runs_of(file: int) -> list[int]:
    """Returns the rows of the table that is carried along."""
    return [100 * file + each for each in range(file + 2)]


def write_inputs(plan: Plan, folder: Path) -> None:
    for file, path in enumerate(sources(plan, folder)):
        row = {name: type_ for name, type_ in ROW.items() if name != "MET_phi" or not lacks(plan, file)}
        runs = {"Runs": {"run": tw.uint32}} if plan.carries else {}
        with tw.create(path, {"Events": row, **runs}, tuning=SMALL) as out:
            if plan.carries:
                with out.producer("Runs") as producer:
                    producer.append(run=runs_of(file))
            for cluster in clusters_of(plan, file):
                with out.producer("Events") as producer:  # one per cluster, so that there are many
                    part = events(cluster * EVENTS_PER_CLUSTER, EVENTS_PER_CLUSTER)
                    producer.append({name: part[name] for name in row})


def sums_by_file(of: ak.Array) -> Any:
    return {**sums(of), "events of": {Path(of.attrs["file"]).name: len(of)}}


def met(of: ak.Array) -> Any:
    return of.MET_pt > 30


def outputs(plan: Plan, folder: Path) -> tuple[list[tw.Derivation], dict[str, Any]]:
    """Makes the train, and the loop that fills it if there is one."""
    paths = [folder / f"{name}{plan.extension}" for name in NAMES]
    slow_muons, slow_sums = partial(_slowly, muons, plan.pace_s), partial(_slowly, sums_by_file, plan.pace_s)
    if plan.way == "loop":
        columns = {"event": tw.uint64, "met2": tw.float32}
        both = [tw.Derivation(path, schema=columns) for path in paths]
        return both, {"loop": partial(_loop, *map(os.fspath, paths), plan.pace_s)}
    if plan.way == "copies":
        return [
            tw.Derivation(paths[0], keep="*", copy_pages=True),
            tw.Derivation(paths[1], keep=["event", "Jet"], copy_pages=True, summary=slow_sums),
        ], {}
    cuts = {"two muons": two_muons, "met": met}
    return [
        tw.Derivation(paths[0], slow_muons, select=two_muons, summary=sums_by_file),
        tw.Derivation(paths[1], keep=["event", "MET_*", "label", "Muon_pt"], select=cuts),
    ], {}


def expected(plan: Plan) -> dict[str, ak.Array]:
    """Computes the rows of both outputs in the order of the input, from all events at once."""
    of = events_of(plan)
    chosen = of[two_muons(of)]
    if plan.way == "loop":
        first = ak.zip({"event": of.event, "met2": of.MET_pt**2}, depth_limit=1)
        return {"muons": first[two_muons(of)], "lite": first[met(of)]}
    if plan.way == "copies":
        return {"muons": of, "lite": of[["event", "Jet"]]}
    kept = chosen[["event", "MET_pt", "MET_phi", "label", "Muon_pt"]]
    return {"muons": ak.zip(muons(chosen), depth_limit=1), "lite": kept[met(chosen)]}


def _slowly(function: Callable[[ak.Array], Any], pace_s: float, of: ak.Array) -> Any:
    """Calls the function, and then sets a field that no other function of the train must see."""
    time.sleep(pace_s)
    values = function(of)
    of["MET_pt"] = of.MET_pt * 0
    return values


def _loop(first: str, second: str, pace_s: float, job: Any, range_: Any) -> None:
    time.sleep(pace_s)
    rows = slice(range_.start, range_.stop)
    of = range_.open().read(["event", "MET_pt", "Muon_pt"], rows=rows).to_awkward()
    with job.unit(range_) as unit:
        for path, mask in ((first, two_muons(of)), (second, met(of))):
            unit[path].append({"event": of.event[mask], "met2": of.MET_pt[mask] ** 2})
        unit.fill("weight", float(np.sum(ak.to_numpy(of.MET_pt) * WEIGHT)))
        unit.fill("cutflow", {"all": len(of), "two muons": int(ak.sum(two_muons(of)))})


def run(plan: Plan, inputs: Path, folder: Path, life: int, is_calm: bool, say: Say) -> None:
    """Goes on with what is there. The input files are in the folder `inputs`. The process has a group of its own,
    together with its workers."""
    os.setpgid(0, 0)
    speak(plan, folder, is_calm, say)
    train, loop = outputs(plan, folder)
    options: dict[str, Any] = {"order": plan.order, "range_bytes": 1, **loop}
    if plan.is_ordered:
        options["ranges_per_group"] = plan.ranges_per_group
    workers = plan.workers[min(life, len(plan.workers) - 1)]
    if plan.lacks:
        options["missing"] = {"MET_phi": PHI}
    given: list[Any] = [*sources(plan, inputs)]
    if plan.carries:
        given, options["carry"] = [f"{each}:Events" for each in given], ["Runs"]
    job = tw.derive(given, train, workers=workers, resume=True, attempts=1000, **options)
    said: list[str] = []

    def progress(state: Any) -> None:
        if not said and any(each.doing for each in state.workers):
            said.append("ranges")
            say("ranges")

    report = job.run(progress)
    assert report.is_whole, report.to_dict()["outputs"]
    say("whole")


def speak(plan: Plan, folder: Path, is_calm: bool, say: Say) -> None:
    """Makes workers report what they commit, and some of them die right after it: before they commit to the other
    output, or before the process of the job knows it. A note in the folder names the dead, so that it happens once
    for each range."""
    mine = os.getpid()  # it commits carried tables

    def wrapped(of: type[Any], number_of: Callable[[Any], int]) -> None:
        commit, seen = of.commit, Counter[int]()

        def told(unit: Any) -> bool:
            say("commit", os.getpid())
            is_committed = bool(commit(unit))
            number = number_of(unit)
            seen[number] += 1
            is_due = fraction(plan.seed, number) < plan.deaths and seen[number] == 1 + number % 2
            if not is_calm and is_due and os.getpid() != mine and is_first(folder / f"{DEATH}{number}"):
                os.kill(os.getpid(), signal.SIGKILL)
            return is_committed

        of.commit = told

    wrapped(tw.WorkUnit, lambda unit: int(unit.key))
    wrapped(tw.WorkGroup, lambda group: int(group.number))
    close = tw.Writer.close

    def told_close(writer: tw.Writer) -> Any:
        say("close")
        return close(writer)

    tw.Writer.close = told_close


def fraction(seed: int, number: int) -> float:
    """Returns a number between 0 and 1, the same in every process."""
    return random.Random(f"{seed}/{number}").random()


def is_first(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
