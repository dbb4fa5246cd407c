"""Makes the metadata that a file keeps about its run."""

import json
import platform
from collections.abc import Iterable
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._recording.configuration import options_as_json
from thalweg._recording.options import RecordOptions
from thalweg._recording.source import options_of_others

# These are written at the end of the run.
_LATER = {"run_number", "stop_utc", "engine", "counters", "file_number", "next_file", "previous_file"}
_LATER |= {"next_file_id", "previous_file_id"}
_OWN = ("start_utc", "host", "kernel", "thalweg_version", "hdf5_version", "configuration", "source", "clock_domain")
_RESERVED = {*_OWN, "source_settings", "features", *_LATER}


def check_metadata(options: RecordOptions) -> None:
    """Raises UsageError if --meta is wrong."""
    _asked_for(options.meta or [], _RESERVED)


def run_metadata(options: RecordOptions, source: dict[str, Any], sources: Iterable[str]) -> dict[str, str]:
    """sources: the names of those that the run has; `source` is what they say of themselves."""
    of_others = options_of_others(sources)
    configuration = {name: value for name, value in options_as_json(options).items() if name not in of_others}
    own = {
        "start_utc": _core.utc_now(),
        "host": _core.host_name(),
        "kernel": f"{platform.system()} {platform.release()}",
        "thalweg_version": _core.version(),
        "hdf5_version": _core.hdf5_version(),
        "configuration": _json(configuration),
        "source": source["source"],
        "clock_domain": source["clock_domain"],
        "source_settings": _json({key: source[key] for key in source if key not in ("source", "clock_domain")}),
    }
    if options.features:
        of_devices = [each for each in source.values() if isinstance(each, dict)]
        own["features"] = next(each["features"] for each in (source, *of_devices) if "features" in each)
    if options.run_number is not None:
        own["run_number"] = str(options.run_number)
    return _asked_for(options.meta or [], _RESERVED) | own


def _asked_for(pairs: list[str], reserved: set[str]) -> dict[str, str]:
    metadata = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--meta {pair} is not of the form KEY=VALUE: write for example --meta shift=night")
        if key in reserved:
            raise UsageError(f"--meta {key}=... cannot be set (the recorder itself writes '{key}'): give another name")
        metadata[key] = value
    return metadata


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
