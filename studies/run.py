"""run.py STUDY: measures what its README.md asks, all in turn in every round, and writes the answers into it.

A measurement is kept as soon as it is made: run it again with --resume after an interruption.
"""

import argparse
import importlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import figures, machine, plot, report
from harness.kept import Kept
from harness.programs import REPOSITORY, WORK, MissingError, Programs
from harness.study import Study

STUDIES = ("record", "rntuple", "readout", "pages", "checkpoint", "nodes", "shared_writer", "aggregators")
BUSY_CORES = 0.2
GIB = 2**30


def load(name: str) -> Study[Any]:
    study: Study[Any] = importlib.import_module(f"{name}.study").STUDY
    return study


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("study", choices=STUDIES, type=lambda name: name.replace("-", "_"))
    parser.add_argument("--rounds", type=int, help="default: the study's; --quick: 2")
    parser.add_argument("--total", type=float, help="GiB of raw data in a run (default: the study's; --quick: 0.5)")
    parser.add_argument(
        "--only", default="", help="only variants whose names hold this, or one of its words between commas"
    )
    parser.add_argument("--without", default="", help="no variants whose names hold this, or one of its words")
    parser.add_argument("--quick", action="store_true", help="small and few: does everything work?")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was interrupted")
    parser.add_argument(
        "--keep-others",
        action="store_true",
        help="keep earlier measurements (in --raw) of others that are measured seldom",
    )
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: draw the kept summary, and write README.md again"
    )
    parser.add_argument("--raw", type=Path, help="folder of every measurement (default: build/bench/raw/STUDY)")
    parser.add_argument("--minutes", type=float, help="begin nothing after so many; go on with --resume another time")
    parser.add_argument("--files", type=Path, default=WORK / "files", help="where to write (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="where results go (default: in its folder; --quick: build/bench)")
    parser.add_argument("--paper", action="store_true", help="the whole grid of the paper, where it takes days")
    options = parser.parse_args()
    if options.paper:
        os.environ["THALWEG_WHOLE_GRID"] = "1"  # looked at when the study is loaded
    options.study = load(options.study)
    options.raw = options.raw or WORK / "raw" / options.study.name
    options.rounds = options.rounds or (2 if options.quick else options.study.rounds)
    options.total = options.total or (0.5 if options.quick else options.study.total_gib)
    if options.out is None:
        options.out = (WORK if options.quick or options.only or options.without else options.study.folder) / "results"
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def warn_if_busy() -> None:
    busy = machine.busy_now()
    if busy > BUSY_CORES:
        load = os.getloadavg()[0]
        say(f"WARNING: other work keeps {busy:.1f} cores busy (load {load:.1f}): the results will be noisy")


def affordable(total: int, files: Path) -> int:
    free = shutil.disk_usage(files).free
    if total <= free // 2:
        return total
    say(f"WARNING: {free / GIB:.0f} GiB are free on this disk, so a run has only half of that")
    return free // 2 // GIB * GIB


def settle(programs: Programs) -> None:
    """Removes what the last variant left behind: its file, blocks to be discarded, pages to be written back."""
    for folder in programs.folders():
        for path in folder.glob("target*"):
            path.unlink()
    os.sync()
    time.sleep(0.5)


def in_turn(names: list[str], index: int) -> list[str]:
    """Each round begins elsewhere, so that no variant always comes after the same one."""
    first = index * len(names) // 7 % len(names)
    return names[first:] + names[:first]


def in_passes(study: Study[Any], names: list[str], rounds: int) -> Iterator[tuple[int, list[str]]]:
    """Rounds with what is measured in them: first what is most wanted, in all its rounds, then the rest."""
    for wanted, count in (*study.first, (tuple(names), rounds)):
        group = [name for name in names if name in wanted]
        for index in range(min(count, rounds) if group else 0):
            yield index, in_turn(group, index)


def earlier_rounds(options: argparse.Namespace) -> list[figures.Round]:
    """Returns earlier measurements of variants that are measured seldom and are not ours, as rounds of their own:
    nothing of today is divided by them."""
    if not options.keep_others:
        return []
    study = options.study
    path = options.raw / "rounds.json"
    if not path.exists():
        sys.exit(f"{path} is missing: --keep-others needs earlier measurements of this machine")
    earlier = json.loads(path.read_text())

    def stays(name: str) -> bool:
        is_ours = any(word in name for word in study.ours)
        return name in study.variants and name.startswith(tuple(study.seldom)) and not is_ours

    kept = ({name: measured for name, measured in each.items() if stays(name)} for each in earlier)
    return [each for each in kept if each]


def measure(study: Study[Any], programs: Programs, name: str) -> dict[str, Any] | None:
    settle(programs)
    before = machine.Moment.now()
    try:
        measured = study.variants[name](programs)
    except MissingError as why:
        programs.missing[name] = str(why)
        return None
    except RuntimeError as why:  # one that fails takes no other with it
        reason = str(why).splitlines()[-1]
        say(f"  {name} FAILED: {reason}")
        programs.missing[name] = f"failed: {reason}"
        return None
    return {**measured, **machine.noise_since(before)}


def told(measured: dict[str, Any], keys: tuple[str, ...]) -> str:
    return ", ".join(f"{key} {measured[key]:.3f}" for key in (*keys, "other_cores") if key in measured)


def is_due(study: Study[Any], name: str, index: int) -> bool:
    return all(index < rounds for beginning, rounds in study.seldom.items() if name.startswith(beginning))


def chosen(options: argparse.Namespace) -> list[str]:
    names = list(options.study.variants)
    without = with_words(options.without, names)
    return [name for name in (with_words(options.only, names) if options.only else names) if name not in without]


def with_words(text: str, names: list[str]) -> list[str]:
    """The names that hold all of the text or, where none does, one of its words between commas: names have commas, too.
    Ends the program where a word is in no name: nothing would be measured of what was meant."""
    parts = [text] if any(text in name for name in names) else text.split(",")
    words = [word for word in parts if word]
    for word in words:
        if not any(word in name for name in names):
            sys.exit(f"no variant has '{word}' in its name (there are: {'; '.join(names)})")
    return [name for name in names if any(word in name for word in words)]


def run_rounds(programs: Programs, options: argparse.Namespace, log: Path) -> list[figures.Round]:
    names = chosen(options)
    rounds: list[figures.Round] = [{} for _ in range(options.rounds)]
    if options.resume and log.exists():
        for line in log.read_text().splitlines():
            entry = json.loads(line)
            if entry["round"] < len(rounds):
                rounds[entry["round"]][entry["variant"]] = entry["measured"]
    else:
        log.write_text("")
    earlier = earlier_rounds(options)
    names = [name for name in names if not any(name in each for each in earlier)]
    begin = time.monotonic()

    def is_late() -> bool:
        return options.minutes is not None and time.monotonic() - begin > 60 * options.minutes

    for index, group in in_passes(options.study, names, len(rounds)):
        done = rounds[index]
        wanted = [name for name in group if name not in done and is_due(options.study, name, index)]
        if is_late():
            break
        if wanted:
            say(f"round {index + 1} of {len(rounds)}, after {(time.monotonic() - begin) / 60:.1f} minutes")
        for name in wanted:
            measured = None if is_late() else measure(options.study, programs, name)
            if measured is None:
                continue
            done[name] = measured
            with log.open("a") as file:
                file.write(json.dumps({"round": index, "variant": name, "measured": measured}) + "\n")
            say(f"  {name:<34} {told(measured, options.study.told)}")
    known = options.study.variants
    return [{name: each[name] for name in known if name in each} for each in rounds + earlier if each]


def summarise(
    study: Study[Any], programs: Programs, rounds: list[figures.Round], description: dict[str, Any]
) -> dict[str, Any]:
    everything = [measured for each in rounds for measured in each.values()]
    middle = {
        key: sorted(measured[key] for measured in everything)[len(everything) // 2] if everything else 0.0
        for key in ("load", "other_cores", "stolen_cores")
    }
    return {
        "study": study.name,
        "machine": description,
        "total_bytes": programs.total_bytes,
        "opponents": [figures.best_of(rounds, beginning) for beginning in study.opponents],
        "missing": programs.missing,
        "noise": middle,
    }


def make_programs(options: argparse.Namespace) -> Programs:
    options.files.mkdir(parents=True, exist_ok=True)
    total = affordable(int(options.total * GIB), options.files)
    programs: Programs = options.study.programs(
        total_bytes=total,
        small_bytes=min(total, GIB),
        page_count=100_000 if options.quick else 1_000_000,
        files=options.files,
        opponents=options.study.folder / "opponents",
    )
    for folder in programs.folders():
        folder.mkdir(parents=True, exist_ok=True)
    return programs


def write_results(options: argparse.Namespace, kept: Kept) -> None:
    study: Study[Any] = options.study
    plot.draw(options.out / f"{study.name}.png", kept, study)
    (options.out / "results.md").write_text(report.as_markdown(kept, study.measure))
    if options.out == study.folder / "results":
        report.put_into_readme(study.folder / "README.md", options.out / "results.md")
    print(report.as_table(kept.answers))


def main() -> int:
    options = arguments()
    study: Study[Any] = options.study
    if options.draw:
        write_results(options, Kept.read(study.folder / "results" / "summary.json"))
        return 0
    programs = make_programs(options)
    say(f"building for the study '{study.name}'")
    programs.build()
    for name, why in programs.missing.items():
        say(f"WARNING: {name} is left out: {why}")
    warn_if_busy()
    try:
        programs.prepare_files()
        description = {**machine.describe(programs.files, REPOSITORY), **programs.versions()}
        rounds = run_rounds(programs, options, WORK / f"{study.name}-{programs.total_bytes}.jsonl")
    finally:
        for folder in programs.folders():
            shutil.rmtree(folder, ignore_errors=True)
    answers = figures.answers(rounds, study.figures)
    options.out.mkdir(parents=True, exist_ok=True)
    report.write_raw(options.raw, rounds, study.columns)
    pictures = [f"{study.name}.png", *study.pictures(options.out, rounds)]
    facts = {**summarise(study, programs, rounds, description), "pictures": pictures}
    kept = Kept.of(facts, answers, rounds, study.columns)
    kept.write(options.out / "summary.json")
    write_results(options, kept)
    say(f"results are in {options.out}, every measurement in {options.raw}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
