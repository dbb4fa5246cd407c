"""Topics of an MQTT broker, on which instruments publish numbers."""

import json
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thalweg._base.packages import needed
from thalweg._instruments.channels import Channels, checked
from thalweg.sources import DeviceLost, Given, Reading


class Mqtt:
    """`channels` have the topic and the unit by the name that their tables get, and `key` if a message is an object of
    JSON. A channel has a gap without a broker, and if nothing is published for `stale` seconds (0: never)."""

    def __init__(
        self,
        broker: str,
        channels: Channels,
        stale: float = 0.0,
        user: str = "",
        password_file: str = "",
        timeout: float = 5.0,
    ) -> None:
        with needed("source mqtt cannot be used"):
            from paho.mqtt import client, enums
        self._channels = checked(channels, ("topic", "unit", "key"), 'give one, as topic = "lab/temperature"')
        self._changes: queue.SimpleQueue[tuple[str, Given]] = queue.SimpleQueue()
        self._is_there, self._refused = threading.Event(), ""
        self._stale_s = stale
        self._last_s: dict[str, float] = {}
        host, _, port = broker.partition(":")
        self._client = client.Client(enums.CallbackAPIVersion.VERSION2)
        if user:
            # Settings are kept in the file of the run, and a password must not be.
            self._client.username_pw_set(user, Path(password_file).read_text().strip() if password_file else None)
        self._client.on_connect, self._client.on_disconnect = self._connected, self._disconnected
        self._client.on_message = self._message
        self._client.reconnect_delay_set(min_delay=1, max_delay=10)
        self._client.connect(host, int(port or 1883))
        self._client.loop_start()
        if not self._is_there.wait(timeout) or self._refused:
            self.close()
            raise DeviceLost(f"broker {broker} {self._refused or f'does not answer within {timeout:g} s'}")

    def units(self) -> Mapping[str, str]:
        return {name: channel.get("unit", "") for name, channel in self._channels.items()}

    def changes(self, timeout: float) -> list[tuple[str, Given]]:
        found = list[tuple[str, Given]]()
        try:
            found.append(self._changes.get(timeout=timeout) if timeout else self._changes.get_nowait())
        except queue.Empty:
            return self._stale_ones()
        found += [self._changes.get() for _ in range(self._changes.qsize())]
        self._last_s |= dict.fromkeys((name for name, _ in found), time.monotonic())
        return found + self._stale_ones()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _stale_ones(self) -> list[tuple[str, Given]]:
        if not self._stale_s:
            return []
        oldest_s = time.monotonic() - self._stale_s
        stale = [name for name, last_s in self._last_s.items() if last_s < oldest_s]
        for name in stale:
            del self._last_s[name]
        return [(name, None) for name in stale]

    def _connected(self, client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            self._refused = f"refuses ({reason})"
        else:
            client.subscribe([(topic, 0) for topic in {channel["topic"] for channel in self._channels.values()}])
        self._is_there.set()

    def _disconnected(self, *_: Any) -> None:
        for name in self._channels:
            self._changes.put((name, None))

    def _message(self, _client: Any, _data: Any, message: Any) -> None:
        for name, channel in self._channels.items():
            if channel["topic"] == message.topic:
                self._changes.put((name, _value(message.payload, channel.get("key"))))


def _value(payload: bytes, key: str | None) -> Given:
    """Returns the number of a message, or a gap if it has none."""
    try:
        return Reading(float(payload if key is None else json.loads(payload)[key]))
    except (ValueError, KeyError, TypeError):
        return None
