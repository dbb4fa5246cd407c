"""Says what is wrong with what a power cut has left, on a machine that has been restarted.

The run is recovered, or resumed with some rows more, and then read by programs that are not ours.
"""

import contextlib
import glob
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import expected
import h5py
import mounted
import numpy as np
import reading
from derivation import DERIVED_ROWS, derivation
from other_readers import Others
from promises import Promise
from recordings import SHAPE, Choices, blocks_of

RESUMED, RESUMED_ROWS = 77_000_000, 8  # the producer, or the key, of what is appended after a resumption
CLOSE_S = 30


@dataclass
class Verdict:
    rows: int = 0
    note: str = ""
    wrong: list[str] = field(default_factory=list)


def judge(
    folder: Path,
    choices: Choices,
    promise: Promise,
    any_: random.Random,
    may_resume: bool = True,
    others: Others | None = None,
    has_gaps: bool = False,
) -> Verdict:
    """has_gaps: the run was recovered before, and rows were missing between others."""
    path = folder / choices.file
    if choices.subject == "checkpoints":
        return judge_checkpoint(path, promise)
    if choices.subject == "derive":
        return judge_derivation(path, promise)
    if choices.subject == "rotation":
        return judge_rotation(path, choices, promise)
    if not path.exists():
        return Verdict(note="no file", wrong=["the file is not there"] if promise.is_created else [])
    if choices.subject in ("h5py", "swmr", "uproot"):
        return judge_control(path, choices, promise)
    verdict = Verdict()
    was_complete = look_before(path, choices, promise, verdict, has_gaps)
    resumes = (
        may_resume
        and choices.subject in ("records", "units", "resume")
        and not choices.has_groups
        and any_.random() < 0.3
    )
    complete(path, choices, promise, verdict, resumes=resumes, may_be_complete=was_complete, has_gaps=has_gaps)
    if verdict.note.startswith("refused"):
        return verdict
    if others:
        verdict.wrong += others.differences(path, any_)
    expect_nothing_left(path, verdict)
    return verdict


def judge_control(path: Path, choices: Choices, promise: Promise) -> Verdict:
    """Reads what another writer has left. It has no recovery, except the tool of HDF5 that clears its marks."""
    if choices.extension == ".h5":
        subprocess.run(["h5clear", "-s", path], capture_output=True, check=False)
    try:
        found = reading.read(path)
    except Exception as error:
        return Verdict(wrong=[f"it cannot be read: {error}"] if promise.is_created else [])
    return Verdict(len(found.row), wrong=wrong_rows(found, promise, choices))


def look_before(path: Path, choices: Choices, promise: Promise, verdict: Verdict, has_gaps: bool) -> bool:
    """Reads the file as it was left, and returns whether it may be complete."""
    try:
        found = reading.read(path)
    except reading.NotOpenError:
        return False
    is_open = choices.extension == ".h5" and reading.says_that_it_is_open(path)
    if choices.extension == ".root" or is_open:  # an open one shows the rows up to interim metadata
        wrong = wrong_rows(found, promise.without_rows(), choices, may_have_gaps=has_gaps)
        verdict.wrong += [f"before recover: {each}" for each in wrong]
        return not is_open
    if not promise.is_closing:
        verdict.wrong.append("the file opens before it was closed")
    wrong = wrong_rows(found, promise, choices, may_have_gaps=has_gaps)
    verdict.wrong += [f"as left, complete: {each}" for each in wrong]
    return True


def complete(
    path: Path,
    choices: Choices,
    promise: Promise,
    verdict: Verdict,
    *,
    resumes: bool,
    may_be_complete: bool,
    has_gaps: bool,
) -> None:
    """Recovers or resumes the run, and reads the file."""
    import thalweg as tw

    report = None
    try:
        if resumes:
            report = resume(path, choices, promise, verdict)
        else:
            nodes = {"all_nodes_are_down": True} if choices.subject == "nodes" else {}
            report = tw.recover(path, **nodes)
    except tw.Error as error:
        verdict.note = str(error)[:200]
        resumed_complete = resumes and "complete" in str(error)
        if resumed_complete:
            with contextlib.suppress(tw.Error):
                tw.recover(path)
        if not (may_be_complete and "complete" in str(error)):
            verdict.note = f"refused: {error}"
            if promise.is_created:
                verdict.wrong.append(verdict.note)
            return
        resumes = False
    found = reading.read(path)
    verdict.rows = len(found.row)
    # Behind what was promised, blocks of rows may be missing whose pages were written in part, if the report says so.
    gaps = has_gaps or (report is not None and not report.is_whole)
    verdict.wrong += wrong_rows(found, promise, choices, has_resumed=resumes, may_have_gaps=gaps)
    if report is not None and report.rows != len(found.row):
        verdict.wrong.append(f"the report says {report.rows} rows, the file has {len(found.row)}")


def resume(path: Path, choices: Choices, promise: Promise, verdict: Verdict) -> Any:
    import thalweg as tw

    out = tw.create(path, resume=True)
    rows = expected.rows(RESUMED, 0, RESUMED_ROWS, choices.has_lists)
    if choices.has_units:
        unknown = promise.units - set(out.committed_keys())
        if unknown:
            verdict.wrong.append(f"the resumed run does not know the keys {sorted(unknown)[:5]}")
        with out.work_unit(RESUMED) as unit:
            unit["events"].append(**rows)
    else:
        with out.producer("events") as producer:
            producer.append(**rows)
    return out.close(CLOSE_S)


def wrong_rows(
    found: expected.Found, promise: Promise, choices: Choices, has_resumed: bool = False, may_have_gaps: bool = False
) -> list[str]:
    """Compares what a reader shows with what was promised and given."""
    wrong = found.wrong_values()
    given = dict(found.by_producer)
    resumed = given.pop(RESUMED, None)
    if has_resumed and not is_prefix(resumed, RESUMED_ROWS):
        wrong.append(f"of the {RESUMED_ROWS} rows after the resumption are there: {resumed}")
    if choices.has_units:
        return wrong + wrong_units(found, given, promise, choices)
    for producer, rows in given.items():
        tried = promise.tried.get(producer, 0)
        is_right = bool((np.diff(rows.astype(np.int64)) > 0).all()) if may_have_gaps else is_prefix(rows)
        if not is_right:
            wrong.append(f"producer {producer}: {len(rows)} rows up to {rows.max()} are no prefix")
        if len(rows) > tried:
            wrong.append(f"producer {producer}: {len(rows)} rows are there, {tried} were given")
    for producer, promised in promise.rows.items():
        there = int(np.count_nonzero(given[producer] < promised)) if producer in given else 0
        if there < promised:
            wrong.append(f"producer {producer}: {there} rows are there, {promised} were promised")
    return wrong


def wrong_units(
    found: expected.Found, given: dict[int, expected.Numbers], promise: Promise, choices: Choices
) -> list[str]:
    wrong = []
    for key, rows in given.items():
        if not is_prefix(rows, expected.rows_of_unit(key)):
            wrong.append(f"unit {key} is there in part, or twice: {len(rows)} of {expected.rows_of_unit(key)} rows")
    for name, keys in (
        ("promised units are missing", promise.units - set(given)),
        ("dropped units are there", promise.dropped_units & set(given)),
        ("units are there that were never begun", set(given) - promise.tried_units),
    ):
        if keys:
            wrong.append(f"{name}: {sorted(keys)[:5]} of {len(keys)}")
    if (
        choices.has_groups
        and promise.is_ordered
        and (np.diff(found.producer[found.producer != RESUMED].astype(np.int64)) < 0).any()
    ):
        wrong.append("units are not in the order of their keys")
    return wrong


def is_prefix(rows: expected.Numbers | None, length: int | None = None) -> bool:
    if rows is None:
        return False
    return np.array_equal(rows, np.arange(len(rows) if length is None else length, dtype=np.uint64))


def expect_nothing_left(path: Path, verdict: Verdict, keeps: tuple[str, ...] = ()) -> None:
    """Looks beside a file, and in the memory of the machine."""
    left = [each.name for each in path.parent.glob(f"{glob.escape(path.name)}.*") if each.name not in keeps]
    left += [each.name for each in mounted.shared_memory()]
    if left:
        verdict.wrong.append(f"left behind: {left[:3]}")


def judge_rotation(path: Path, choices: Choices, promise: Promise) -> Verdict:
    """Completes all files that are not complete. Their rows, one file after the other, are those of one run."""
    import thalweg as tw

    verdict = Verdict()
    names = f"{path.stem}-*{path.suffix}"
    if promise.is_created and not list(path.parent.glob(names)):
        verdict.wrong.append("no file is there")
    gaps = False
    for journal in sorted(path.parent.glob(f"{names}.journal")):
        file = journal.with_suffix("")
        try:
            gaps |= not tw.recover(file).is_whole
        except tw.Error as error:
            verdict.note = str(error)[:200]
            if "complete" not in str(error) and not file_was_only_begun(str(error)):
                verdict.wrong.append(f"refused: {error}")
    files = sorted(path.parent.glob(names))
    shown = []
    for file in files:
        try:
            shown.append(reading.read(file))
        except reading.NotOpenError as error:
            if file is not files[-1]:
                verdict.wrong.append(f"{file.name}: {error}")
    for found in shown:
        verdict.wrong += found.wrong_values()
        verdict.rows += len(found.row)
    if shown:
        all_ = expected.Found(
            *(np.concatenate([getattr(each, name) for each in shown]) for name in ("producer", "row", "x"))
        )
        verdict.wrong += wrong_rows(all_, promise, choices, may_have_gaps=gaps)
    for file in files:
        expect_nothing_left(file, verdict)
    return verdict


def file_was_only_begun(error: str) -> bool:
    return "died before anything was recorded" in error


def judge_checkpoint(path: Path, promise: Promise) -> Verdict:
    """Compares with h5py, then asks `restore`; the checkpoint before must be whole, too."""
    from thalweg.checkpoint import restore

    verdict = Verdict(rows=SHAPE[0])
    if not path.exists():
        verdict = Verdict(note="no file", wrong=["no checkpoint is there"] if promise.saved >= 0 else [])
        return expect_next_save(path, verdict)
    step, verdict.wrong = look_at_checkpoint(path, promise.saved)
    state = restore(path)
    if int(state.attributes["step"]) != step or Path(state.path).resolve() != path.resolve():
        verdict.wrong.append(f"restore takes {state.path} with step {state.attributes['step']}: {state.problems}")
    if promise.saved >= 1:
        before = restore(f"{path}.1")
        step = int(before.attributes["step"])
        if not np.array_equal(before.read("a"), blocks_of(step)["a"].array):
            verdict.wrong.append(f"the checkpoint before, of step {step}, is wrong")
    return expect_next_save(path, verdict)


def look_at_checkpoint(path: Path, saved: int) -> tuple[int, list[str]]:
    """Returns the step that h5py shows, and what is wrong with it."""
    with h5py.File(path) as file:
        step = int(file.attrs["step"])
        shown = {name: file[name][:] for name in ("a", "b")}
    wrong = [
        f"step {step}: values of {name} are wrong"
        for name, block in blocks_of(step).items()
        if not np.array_equal(shown[name], block.array)
    ]
    return step, wrong + ([f"step {step} is there, {saved} was saved"] if step < saved else [])


def expect_next_save(path: Path, verdict: Verdict) -> Verdict:
    """Saves once more, which removes what an interrupted save has left."""
    from thalweg.checkpoint import save

    save(path, blocks_of(0), attributes={"step": 0})
    expect_nothing_left(path, verdict, keeps=(f"{path.name}.1",))
    return verdict


def judge_derivation(path: Path, promise: Promise) -> Verdict:
    """Does the job again, in the same files, if it was not complete."""
    import thalweg as tw

    verdict = Verdict()
    if not promise.is_closed:
        try:
            tw.derive(*derivation(path), workers=1, resume=True, range_bytes=64 << 10).run()
        except tw.Error as error:
            if "complete" not in str(error):
                return Verdict(note="refused", wrong=[f"refused: {error}"])
    found = reading.read(path)
    verdict.rows, verdict.wrong = len(found.row), found.wrong_values()
    if not np.array_equal(np.sort(found.row), np.arange(0, DERIVED_ROWS, 2, dtype=np.uint64)):
        verdict.wrong.append(f"{len(found.row)} rows are there, {DERIVED_ROWS // 2} were derived")
    expect_nothing_left(path, verdict)
    return verdict
