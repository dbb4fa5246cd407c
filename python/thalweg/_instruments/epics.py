"""Process variables of EPICS, over Channel Access."""

import os
import queue
from collections.abc import Mapping
from typing import Any

from thalweg._base.packages import needed
from thalweg.sources import DeviceLost, Given, Reading


class Epics:
    """`channels` are process variables by the name that their tables get. `address`: where they are searched for.

    The severity is that of EPICS. A variable that is disconnected has a gap, and is there again by itself.
    """

    def __init__(self, channels: Mapping[str, str], address: str = "", timeout: float = 5.0) -> None:
        with needed("source epics cannot be used"):
            from caproto.threading import client
        if address:
            os.environ |= {"EPICS_CA_ADDR_LIST": address, "EPICS_CA_AUTO_ADDR_LIST": "NO"}
        self._changes: queue.SimpleQueue[tuple[str, Given]] = queue.SimpleQueue()
        self._context = client.Context(timeout=timeout)
        self._names = {variable: channel for channel, variable in channels.items()}
        self._variables = self._context.get_pvs(*channels.values(), connection_state_callback=self._connection)
        # Subscriptions keep their callbacks weakly.
        self._monitors = [_Monitor(channel, self._changes) for channel in channels]
        self._units: dict[str, str] = {}
        for variable, monitor in zip(self._variables, self._monitors, strict=True):
            try:
                variable.wait_for_connection(timeout=timeout)
            except TimeoutError:
                self.close()
                raise DeviceLost(f"EPICS has no variable {variable.name} within {timeout:g} s") from None
            self._units[monitor.channel] = _unit(variable.read(data_type="control").metadata)
            variable.subscribe(data_type="time").add_callback(monitor.changed)

    def units(self) -> Mapping[str, str]:
        return self._units

    def changes(self, timeout: float) -> list[tuple[str, Given]]:
        try:
            found = [self._changes.get(timeout=timeout) if timeout else self._changes.get_nowait()]
        except queue.Empty:
            return []
        return found + [self._changes.get() for _ in range(self._changes.qsize())]

    def close(self) -> None:
        self._context.disconnect()

    def _connection(self, variable: Any, state: str) -> None:
        if state != "connected":
            self._changes.put((self._names[variable.name], None))


class _Monitor:
    def __init__(self, channel: str, changes: "queue.SimpleQueue[tuple[str, Given]]") -> None:
        self.channel, self._changes = channel, changes

    def changed(self, _: Any, response: Any) -> None:
        severity = int(response.metadata.severity)
        self._changes.put((self.channel, Reading(float(response.data[0]), severity)))


def _unit(metadata: Any) -> str:
    """Returns the unit of a variable; a number of states has none."""
    unit = getattr(metadata, "units", "")
    return unit.decode("latin-1") if isinstance(unit, bytes) else str(unit)
