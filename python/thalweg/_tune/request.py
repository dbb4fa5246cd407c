"""What the user asks of `thalweg tune`, so that a trial that was killed can go on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from thalweg._base.errors import UsageError
from thalweg._tune.advice import Advice
from thalweg._tune.apply import Applied, apply
from thalweg._tune.bench import Bench, BenchOptions, Say, on_bench
from thalweg._tune.choice import check_names, choose
from thalweg._tune.outputs import Workplace
from thalweg._tune.settings_file import read_settings
from thalweg._tune.trial import Verdict, check_pairs, try_settings
from thalweg._tune.tuning import Tuned, TuningOptions, aggregators_of, tune


@dataclass(frozen=True)
class Request:
    """One of three: the settings in `tried` are tried, those of the file `applied` are applied, or all are searched."""

    command: list[str]
    before: str | None = None
    limit_s: float | None = None
    tried: list[str] = field(default_factory=list)
    applied: str = ""
    only: list[str] = field(default_factory=list)
    most_pairs: int = 40
    may_change_file: bool = False
    always: bool = False
    runs: int = 46
    """How many runs the search has; 0: there is none."""
    out: str = ""
    """The file of settings that a search writes, with its whole path."""
    may_replace: bool = False
    only_aggregators: bool = False
    """Whether to say only how many aggregators collective writes need."""
    k_bytes: int | None = None
    """The bytes that keep one aggregator busy. None: they are measured."""


def begin(request: Request, say: Say) -> Verdict | Applied | Tuned | Advice:
    """Raises UsageError if the request is wrong, or if a trial was killed in this folder."""
    check_pairs(request.most_pairs)
    choose(request.tried, may_change_file=request.may_change_file)
    check_names(request.only)
    if request.applied:
        read_settings(Path(request.applied))
    elif (
        not request.tried
        and not request.only_aggregators
        and request.runs
        and Path(request.out).exists()
        and not request.may_replace
    ):
        raise UsageError(f"{request.out} is there: give --force to replace it, or another --out")
    place = Workplace.begin(Path.cwd(), asdict(request), request.before is not None)
    return _carry_out(request, place, say, goes_on=False)


def go_on(say: Say) -> Verdict | Applied | Tuned | Advice:
    """Goes on with the trial that was killed in this folder. What it had measured is not measured again."""
    place = Workplace.go_on(Path.cwd())
    return _carry_out(Request(**place.journal.request), place, say, goes_on=True)


def _carry_out(request: Request, place: Workplace, say: Say, *, goes_on: bool) -> Verdict | Applied | Tuned | Advice:
    options = BenchOptions(request.command, request.before, request.limit_s)
    say("running the command without a setting, traced")
    with on_bench(options, place, goes_on=goes_on) as bench:
        if request.tried:
            chosen = choose(request.tried, may_change_file=request.may_change_file)
            return try_settings(bench, chosen, request.most_pairs, say)
        if request.applied:
            return apply(bench, Path(request.applied), request.most_pairs, say)
        if request.only_aggregators:
            return _aggregators(bench, request.k_bytes, say)
        tuning = TuningOptions(
            request.only,
            request.may_change_file,
            request.always,
            request.runs,
            request.most_pairs,
            Path(request.out),
            request.k_bytes,
        )
        return tune(bench, tuning, say)


def _aggregators(bench: Bench, k_bytes: int | None, say: Say) -> Advice:
    if bench.first.lacks:
        raise UsageError(f"a trace lacks calls ({'; '.join(bench.first.lacks)}), so nothing can be told from it")
    found = aggregators_of(bench, k_bytes, say)
    if found is None:
        raise UsageError(
            "the command has no aggregators (its ranks do not write or read together by MPI-IO in files of this "
            "folder): try one whose ranks do"
        )
    return found
