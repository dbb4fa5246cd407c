"""The features of pulses that a recording makes of their samples, and how many samples it keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.quantities import counted
from thalweg._features.settings import FeatureSettings, from_plain, load_features
from thalweg._recording.counts import Channels

if TYPE_CHECKING:
    from thalweg._recording.options import RecordOptions

_MOST = 1_000_000
_WITHOUT = "rows_without_pulse"
_NOTABLE = 0.1  # the share of the rows of a table without a pulse above which this is said


def pulse_settings(options: RecordOptions) -> dict[str, Any]:
    """Returns what `with_features` needs, as plain values, or nothing if there are no features. Raises UsageError if
    the file or --waveforms is wrong."""
    keep_one_of = _kept(options.waveforms)
    if options.features:
        settings, timestamp = load_features(options.features)
        return {"features": {"settings": vars(settings), "timestamp": timestamp, "keep_one_of": keep_one_of}}
    if keep_one_of > 1 or (keep_one_of == 0 and options.source != "digitizer"):
        raise UsageError(
            f"--waveforms {options.waveforms} would leave out pulses (nothing is known of them without their samples): "
            "give --features FILE.toml, too"
        )
    return {}


def with_features(source: _core.Source, given: dict[str, Any]) -> _core.Source:
    """Returns the source with features. Raises UsageError if a table has no pulses or times that can be used."""
    settings, options = from_plain(given)
    return _core.with_features(source, options, settings.as_json())


def notes_of_pulses(channels: Channels, metadata: Mapping[str, str]) -> list[str]:
    """Says of which tables a notable share of the rows has no energy. metadata: of the file."""
    if "features" not in metadata:  # a device of its own may count under this name, too
        return []
    many = {name: each for name, each in channels.items() if each.count(_WITHOUT) > _NOTABLE * each.rows}
    least = FeatureSettings(**json.loads(metadata["features"])).least_adc
    return [
        f"{each.count(_WITHOUT):,} of {counted(each.rows, 'row')} of {name} have no pulse above the threshold "
        f"({least:.5g} ADC), and no energy: lower threshold in [features]"
        for name, each in many.items()
    ]


def _kept(text: str) -> int:
    """Returns of how many slices of time the samples of one are kept: 1 for all, 0 for none."""
    if text in ("all", "none"):
        return int(text == "all")
    match = re.fullmatch(r"1/([1-9][0-9]{0,6})", text)
    if match is None or int(match[1]) > _MOST:
        raise UsageError(f"--waveforms is '{text}': give all, none, or for example 1/10 (at most 1/{_MOST})")
    return int(match[1])
