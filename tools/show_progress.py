"""show_progress.py LOG COMMAND...: runs a build, and shows its progress on stderr by the steps that ninja counts, on
one line of a terminal, or else with a line for each tenth. The output of the build goes to LOG, and is shown if it
fails."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

STEP = re.compile(r"^\s*\[(\d+)/(\d+)\] ")
LAST_LINES = 60


def shown(lines: Iterable[str], is_terminal: bool, now: Callable[[], float] = time.monotonic) -> Iterable[str]:
    """Yields what is shown for the lines of a build, as they come."""
    begin, tenth = now(), -1
    for line in lines:
        if not (step := STEP.match(line)):
            continue
        done, total = int(step[1]), int(step[2])
        text = f"  {done} of {total} steps, {now() - begin:.0f} s"
        if is_terminal:
            yield f"\r{text}\x1b[K" + "\n" * (done == total)
        elif 10 * done // total != tenth:
            tenth = 10 * done // total
            yield f"{text}\n"


def main(log: Path, *command: str) -> int:
    log.parent.mkdir(parents=True, exist_ok=True)
    said: list[str] = []
    with (
        log.open("w") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as build,
    ):
        assert build.stdout

        def lines() -> Iterable[str]:
            for line in build.stdout or ():
                file.write(line)
                said.append(line)
                yield line

        for text in shown(lines(), sys.stderr.isatty()):
            sys.stderr.write(text)
            sys.stderr.flush()
    if build.returncode:
        sys.stderr.write("".join(["\n", *said[-LAST_LINES:], f"All that it said: {log}\n"]))
    return build.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
