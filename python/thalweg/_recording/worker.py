"""A producer process: some streams of the source, and a line on stdin for what it should do.

Its first line of input is its configuration, the second "start NANOSECONDS" (of the monotonic clock); then "pause",
"resume", "stop". The end of the input means that the recording process is gone, and stops it, too. It answers with
one JSON object a line: {"ready": true}, and at the end {"rows": {...}} or {"error": "..."}.
"""

import contextlib
import json
import signal
import sys
import threading
from typing import Any

from thalweg import _core
from thalweg._errors import Error
from thalweg._recording.control import OF_RECORDING
from thalweg._recording.source import open_source


def obey(worker: _core.Worker) -> None:
    commands = {"pause": worker.pause, "resume": worker.resume, "stop": worker.stop}
    for line in sys.stdin:
        commands[line.strip()]()
    worker.stop()


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)  # noqa: T201 - the recording process reads it


def work() -> None:
    configuration = json.loads(sys.stdin.readline())
    say(ready=True)
    verb, _, start_ns = sys.stdin.readline().partition(" ")
    if verb != "start":
        return
    source = open_source(configuration["source"], int(start_ns))
    worker = _core.make_worker(configuration["handle"], source, configuration["streams"], configuration["table_prefix"])
    threading.Thread(target=obey, args=(worker,), daemon=True).start()
    worker.run()
    say(rows={result.name: result.rows for result in worker.results()})


def main() -> int:
    # Ctrl-C reaches every process of the terminal, but only the recording process decides what it means.
    for number in OF_RECORDING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_RECORDING)  # who started this process held them back
    try:
        work()
    except (Error, BrokenPipeError) as error:
        with contextlib.suppress(BrokenPipeError):  # nobody is left to hear it
            say(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
