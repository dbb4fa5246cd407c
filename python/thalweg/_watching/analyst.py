"""Lets a process of its own (fits.py) fit the spectra, so that the page goes on while a fit takes its time."""

from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.tdpac import Spectra


class Analyst:
    """Makes one analysis at a time. `interrupt` comes from another thread."""

    def __init__(self, configuration: str) -> None:
        self._configuration = configuration
        self._is_closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def analyse(self, spectra: Spectra) -> dict[str, Any]:
        """Returns what the page shows of the fits. A failure is a note in it."""
        begin = time.monotonic()
        for _ in range(2):  # a process that was killed is started once more
            try:
                found = self._ask(spectra)
            except (OSError, EOFError):
                self.end()
                if self._is_closed:
                    break
                continue
            return {**found, "took_s": round(time.monotonic() - begin, 3)}
        return {"notes": ["The process that fits has ended twice."], "took_s": round(time.monotonic() - begin, 3)}

    def _ask(self, spectra: Spectra) -> dict[str, Any]:
        if self._process is None:
            words = [sys.executable, "-m", "thalweg._watching.fits"]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._send(self._configuration)
        self._send(spectra)
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        return dict(json.loads(line))

    def _send(self, what: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        pickle.dump(what, self._process.stdin)
        self._process.stdin.flush()

    def interrupt(self) -> None:
        """Ends a fit that is being made, from another thread."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):  # what it was not sent any more
                    pipe.close()
