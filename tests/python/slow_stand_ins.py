"""Slow instruments for tests: they answer, or fail, as they are told."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from thalweg.sources import DeviceLost, Given, Reading


class Thermometer:
    """Answers with the values of `script`, one after the other, and with the last one for ever.

    `notes` is a folder in which it keeps how many answers it has given, for the next process of it.
    """

    def __init__(self, notes: str, script: str = "4.2", unit: str = "K"):
        self.steps, self.place, self.unit = script.split(","), Path(notes) / "step", unit
        if self._step() == "away":
            self._go_on()
            raise DeviceLost("it is switched off")

    def _number(self) -> int:
        return int(self.place.read_text()) if self.place.exists() else 0

    def _step(self) -> str:
        return self.steps[min(self._number(), len(self.steps) - 1)]

    def _go_on(self) -> None:
        self.place.with_name("new").write_text(str(self._number() + 1))
        self.place.with_name("new").replace(self.place)

    def units(self) -> Mapping[str, str]:
        return {"stage": self.unit, "shield": self.unit}

    def read(self) -> Mapping[str, Given]:
        step = self._step()
        self._go_on()
        if step == "raise":
            raise OSError("the cable is out")
        if step == "exit":
            os._exit(3)
        if step == "hang":
            time.sleep(3600)
        if step == "none":
            return {"shield": 40.0}
        if step == "word":
            return {"stage": "4.2 K", "shield": 40.0}  # type: ignore[dict-item]
        return {"stage": Reading(float(step), severity=int(float(step) > 6)), "shield": 40.0}


class Dial:
    """Says when the number in a file has changed. `close` is refused once it is closed."""

    def __init__(self, path: str):
        self.path, self.said = Path(path), ""

    def units(self) -> Mapping[str, str]:
        return {"angle": "deg"}

    def changes(self, timeout: float) -> list[tuple[str, Given]]:
        text = self.path.read_text()
        if text == self.said:
            time.sleep(min(timeout, 0.01))
            return []
        self.said = text
        return [("angle", float(text) if text else None)]
