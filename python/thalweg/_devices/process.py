"""The process of a device: it opens the device, describes it, and appends its rows, as the recorder asks on stdin.

Each line is a JSON object. The recorder says {"open": {...}}, {"attach": {...}}, then "start", "pause", "resume",
"rotated" and "stop". It hears {"described": {...}}, {"ready": true}, {"event": {...}}, and at the end {"rows": ...},
{"lost": "..."} if the device may be opened again, or {"error": "..."} if that would not help. If the recorder ends, so
does this process. What a plug-in prints goes to the log of the recorder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from thalweg._base.errors import Error, UsageError
from thalweg._base.signals import OF_RECORDING
from thalweg._devices.board import Board, beat
from thalweg._devices.description import check_settings, description_of, load_class
from thalweg._devices.lanes import Lanes, NeverEmpty
from thalweg._devices.pulses import features_of
from thalweg._devices.raised import file_of, text_at
from thalweg._devices.slow import SlowDevice
from thalweg._writing.attached import attach
from thalweg.sources import DeviceLost

_LOOK_S = 0.5


class Recorder:
    """The other end: what it asked for, and what it is told."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # what is printed is no message
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # it is there also if the process dies
        self._lock = threading.Lock()
        self.deadline_s = 10.0
        self.source_file = ""  # of the class
        self.settings: dict[str, Any] = {}  # that it was opened with
        self.rows = 0

    def read(self) -> dict[str, Any]:
        """Returns the next request, or an empty one if the recorder has ended."""
        line = sys.stdin.readline()
        return dict(json.loads(line)) if line else {}

    def happened(self, event: dict[str, Any]) -> None:
        """Tells what has happened to the device, and when."""
        self.tell(event={"utc_ns": time.time_ns(), "monotonic_ns": time.monotonic_ns(), **event})

    def tell(self, **message: Any) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):  # the recorder may have ended
            print(json.dumps(message), file=self._out, flush=True)


def _obey(recorder: Recorder, lanes: Lanes) -> None:
    while request := recorder.read():
        lanes.obey(next(iter(request)))
    lanes.obey("stop")


def _outlive_no_recorder(recorder: Recorder, pid: int) -> None:
    """Ends the process some time after the recorder has ended: no process remains that would kill it if it hangs."""
    while os.getppid() == pid:
        time.sleep(_LOOK_S)
    time.sleep(2 * recorder.deadline_s)
    os._exit(1)


def record(recorder: Recorder, board: Board) -> None:
    asked = recorder.read()["open"]
    name, settings, deadline_s = asked["source"], asked["settings"], asked["deadline_s"]
    recorder.deadline_s, recorder.settings = deadline_s, settings
    slow = asked.get("slow")
    maker = load_class(name, is_slow=slow is not None)
    recorder.source_file = file_of(maker)
    check_settings(name, maker, settings)
    try:
        device = maker(**settings) if slow is None else _slow_device(recorder, lambda: maker(**settings), slow)
    except UsageError:
        raise
    except (TypeError, ValueError) as error:
        traceback.print_exc()
        raise UsageError(f"{name} cannot be opened ({text_at(error, recorder.source_file)})") from None
    board.begin(0, "describe", deadline_s)
    description = description_of(name, device.describe(), settings)
    board.end(0)
    features = features_of(asked.get("features"), description)
    more = {"units": device.units} if isinstance(device, SlowDevice) else {}
    recorder.tell(described=description.to_json() | (features.to_json() if features else {}) | more)
    attached = recorder.read().get("attach")
    if attached is None:  # the run has ended meanwhile
        recorder.tell(rows=0)
        return
    run = attach(attached["handle"])
    try:
        lanes = Lanes(
            device,
            description,
            run,
            board,
            recorder.happened,
            features=features,
            deadline_s=deadline_s,
            drain_s=asked.get("drain_s"),
            **attached["as"],
        )
        recorder.tell(ready=True)
        if "start" not in recorder.read():
            recorder.tell(rows=0)
            return
        threading.Thread(target=_obey, args=(recorder, lanes), daemon=True).start()
        try:
            lanes.work()
        finally:
            recorder.rows = lanes.rows
        recorder.tell(rows=lanes.rows)
    finally:
        run.finish()  # whatever happened to the device, its rows are whole


def _with(settings: dict[str, Any]) -> str:
    """Names what the user has set: a wrong value is seen only where the class uses it."""
    values = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f", with the setting{'s'[: len(settings) != 1]} {values}" if settings else ""


def _slow_device(recorder: Recorder, make: Callable[[], Any], slow: dict[str, Any]) -> SlowDevice:
    device = SlowDevice(make, slow["every_s"], recorder.happened, recorder.source_file)
    if "goes_on" in slow:
        device.go_on(**slow["goes_on"])
    else:
        device.open()
    return device


def main() -> int:
    # Ctrl-C reaches all processes of the terminal, but only the recorder decides what it means.
    for number in OF_RECORDING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_RECORDING)  # the recorder blocked them at the start
    recorder, board = Recorder(), Board(int(sys.argv[1]))
    threading.Thread(target=beat, args=(board,), daemon=True).start()
    threading.Thread(target=_outlive_no_recorder, args=(recorder, os.getppid()), daemon=True).start()
    try:
        record(recorder, board)
    except Error as error:
        recorder.tell(error=str(error), usage=isinstance(error, UsageError))
        return 1
    except DeviceLost as error:
        recorder.tell(lost=str(error) or "it says that it is lost", is_endless=isinstance(error, NeverEmpty))
        return 1
    except Exception as error:  # a plug-in may raise anything
        traceback.print_exc()
        # What the system refuses may be possible later, and what a program does wrong without any row will be again.
        fails_at_once = not recorder.rows and not isinstance(error, OSError)
        text = text_at(error, recorder.source_file)
        recorder.tell(lost=text + _with(recorder.settings) * fails_at_once, fails_at_once=fails_at_once)
        return 1
    finally:
        board.begin(0, "close", recorder.deadline_s)  # a thread of a library may keep the process
    return 0


if __name__ == "__main__":
    sys.exit(main())
