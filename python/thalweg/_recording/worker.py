"""A producer process: it writes some streams of the source and obeys commands on stdin.

The first line of input is its configuration, the second one "start NANOSECONDS" (of the monotonic clock); then follow
"pause", "resume" and "stop". The end of the input means that the recording process has ended, and stops it. It answers
with one JSON object on each line: {"ready": true}, {"missing": [...], "notes": [...]} when there is something new to
say, and at the end {"rows": {...}} or {"error": "..."}.
"""

import contextlib
import json
import signal
import sys
import threading
import time
from typing import Any

from thalweg import _core
from thalweg._base.errors import Error
from thalweg._base.signals import OF_RECORDING
from thalweg._devices.board import Board, beat
from thalweg._recording.source import open_source

_REMARKS_S = 0.5


def obey(worker: _core.Worker) -> None:
    commands = {"pause": worker.pause, "resume": worker.resume, "stop": worker.stop}
    for line in sys.stdin:
        commands[line.strip()]()
    worker.stop()


_telling = threading.RLock()


def tell(**message: Any) -> None:
    with _telling:
        print(json.dumps(message), flush=True)  # noqa: T201 - the recording process reads it


def remarks_of(worker: _core.Worker) -> dict[str, list[str]]:
    remarks = worker.remarks()
    return {
        "missing": [each for of_stream in remarks for each in of_stream.missing],
        "notes": [each for of_stream in remarks for each in of_stream.notes],
    }


def remark(worker: _core.Worker) -> None:
    """Tells what there is to say of the streams while they are read: the work of a thread."""
    told: dict[str, list[str]] = {"missing": [], "notes": []}
    while True:
        with _telling, contextlib.suppress(BrokenPipeError):  # the recording process may have ended
            if (remarks := remarks_of(worker)) != told:
                told = remarks
                tell(**told)
        time.sleep(_REMARKS_S)


def work() -> None:
    configuration = json.loads(sys.stdin.readline())
    tell(ready=True)
    verb, _, start_ns = sys.stdin.readline().partition(" ")
    if verb != "start":
        return
    source = open_source(configuration["source"], int(start_ns))
    worker = _core.make_worker(configuration["handle"], source, configuration["streams"], configuration["table_prefix"])
    threading.Thread(target=obey, args=(worker,), daemon=True).start()
    threading.Thread(target=remark, args=(worker,), daemon=True).start()
    worker.run()
    with _telling:
        tell(rows={result.name: result.rows for result in worker.results()}, **remarks_of(worker))


def main() -> int:
    # Ctrl-C reaches all processes of the terminal, but only the recording process decides what it means.
    for number in OF_RECORDING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_RECORDING)  # the recording process blocked them at the start
    threading.Thread(target=beat, args=(Board(int(sys.argv[1])),), daemon=True).start()
    try:
        work()
    except (Error, BrokenPipeError) as error:
        with contextlib.suppress(BrokenPipeError):  # the recording process may have ended
            tell(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
