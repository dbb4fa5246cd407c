"""Checks what a user says of the channels of an instrument."""

from collections.abc import Mapping, Sequence

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion

Channels = Mapping[str, Mapping[str, str]]


def checked(channels: Channels, keys: Sequence[str], advice: str) -> Channels:
    """Returns the channels. The first key is needed, and `advice` says what to give for it.

    Raises UsageError, which names the channel, if it is missing, or if there is another key.
    """
    for name, channel in channels.items():
        for key in channel:
            if key not in keys:
                raise UsageError(f"channel '{name}' has no '{key}'{suggestion(key, keys)}")
        if keys[0] not in channel:
            raise UsageError(f"channel '{name}' has no {keys[0]}: {advice}")
    return channels
