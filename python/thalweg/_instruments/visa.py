"""Instruments that answer questions, over VISA: GPIB, serial, USB or Ethernet."""

from collections.abc import Mapping
from typing import Any

from thalweg._base.packages import needed
from thalweg._instruments.channels import Channels, checked
from thalweg.sources import DeviceLost, Given


class Visa:
    """`channels` have the question and the unit by the name that their tables get.

    `library` is the implementation of VISA: "" (the vendor's), "@py", or a file and "@sim".
    """

    def __init__(
        self,
        resource: str,
        channels: Channels,
        library: str = "",
        read_termination: str = "\n",
        write_termination: str = "\n",
        timeout: float = 2.0,
    ) -> None:
        advice = 'give what the instrument is asked, as query = "KRDG? A"'
        self._channels = checked(channels, ("query", "unit"), advice)
        with needed("source visa cannot be used"):
            import pyvisa
        self._manager = pyvisa.ResourceManager(library)
        self._instrument: Any = self._manager.open_resource(
            resource, read_termination=read_termination, write_termination=write_termination, timeout=timeout * 1000
        )

    def units(self) -> Mapping[str, str]:
        return {name: channel.get("unit", "") for name, channel in self._channels.items()}

    def read(self) -> Mapping[str, Given]:
        return {name: self._ask(channel["query"]) for name, channel in self._channels.items()}

    def close(self) -> None:
        self._instrument.close()
        self._manager.close()

    def _ask(self, question: str) -> float:
        answer = self._instrument.query(question)
        try:
            return float(answer)
        except ValueError:
            raise DeviceLost(f"the answer to {question} is {answer!r}, which is no number") from None
