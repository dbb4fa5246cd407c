"""thalweg devices"""

import json as json_
import tempfile
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import open as open_run
from thalweg._base.errors import UsageError
from thalweg._base.quantities import as_bytes, counted
from thalweg._devices.c_source import built_in
from thalweg._devices.description import names_of_plug_ins
from thalweg._recording import configuration
from thalweg._recording.arrivals import Arrival
from thalweg._recording.counts import Channel
from thalweg._recording.options import RecordOptions, SourceKind
from thalweg._recording.report import RecordingReport
from thalweg._recording.session import RecordingSession
from thalweg._recording.source import of_built_in
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg devices",
    'thalweg devices --device \'{source = "digitizer", channels = 2, samples = 100, rate = "1kHz"}\' --json',
]


_SHOWN = (
    "fields",
    "seconds",
    "ended",
    "rows_per_s",
    "raw_bytes_per_s",
    "rows",
    "raw_bytes",
    "stored_bytes",
    "dead_time_fraction",
)


def devices(
    source: Annotated[
        str, typer.Option(metavar="NAME", show_default=False, help="The source, as for `thalweg record`.")
    ] = "",
    setting: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Setting of this source. Can be repeated.")
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option(metavar="TABLE", help="A device, as for `thalweg record`. Can be repeated.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Try the devices that `record --config` would open.")
    ] = None,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long they are read.")] = "1s",
    json: JsonOption = False,
) -> int:
    """Open devices, describe them, read them for a second, and close them.

    What they give goes to a file that is removed. What they print is shown on stderr. Without a source or a device, the
    known sources are listed."""
    given = _of_devices(config) if config else {}
    given |= {"source": source} if source else {}
    given |= {name: value for name, value in (("setting", setting), ("device", device)) if value}
    if not given:
        return _list_sources(json)
    if config and not {"source", "device"} & given.keys():
        raise UsageError(f"{config} names no source and no [[device]]: there is nothing to try")
    with tempfile.TemporaryDirectory(prefix="thalweg-devices-") as folder:
        of_run: dict[str, Any] = {"out": Path(folder) / "run.h5", "duration": duration, "quiet": True, "metrics": ""}
        of_run |= {"on_start": "", "on_stop": "", "max_file_size": "", "max_file_time": "", "continue_": False}
        report = RecordingSession(replace(RecordOptions(**given), **of_run), only_tries=True).run()
        tried = _tried(report)
    print_json(tried) if json else _show(tried)
    for problem in report.problems:
        say(f"thalweg: {problem}")
    return report.exit_code


def _of_devices(config: Path) -> dict[str, Any]:
    """Returns the options of a file that say which devices there are, and nothing of the run."""
    given = configuration.load_options(config)
    known = {"source", "setting", "device", "device_deadline", "open_deadline", *of_built_in()}
    defaults = {name: getattr(RecordOptions, name) for name in known & given.keys()}
    return {
        name: type(default)(given[name]) if isinstance(default, Enum) else given[name]
        for name, default in defaults.items()
    }


def _list_sources(as_json: bool) -> int:
    own = [*(kind.value for kind in SourceKind), *built_in()]
    slow, plug_ins = names_of_plug_ins(own=True), names_of_plug_ins(own=False)
    if as_json:
        print_json({"built_in": own, "slow": slow, "plug_ins": plug_ins})
    else:
        answer(f'Built in: {", ".join(own)}. Slow instruments, with kind = "slow": {", ".join(slow)}.')
        answer(f"Of installed packages: {', '.join(plug_ins) or 'none'}.")
        answer("A class of yours is module:Class, and a library ./library.so.")
    return 0


def _tried(report: RecordingReport) -> dict[str, Any]:
    run = open_run(report.files[0].place)
    known = run.metadata
    rows = run[report.events].read() if report.events else None
    events = [] if rows is None else [rows[row] for row in range(len(rows))]
    arrivals = {name: report.arrivals.get(name, Arrival()) for name in report.channels}
    rates = {name: _rates(channel, arrivals[name], report.seconds) for name, channel in report.channels.items()}
    return {
        "source": known["source"],
        "clock_domain": known["clock_domain"],
        "settings": json_.loads(known["source_settings"]),
        "seconds": max(each["seconds"] for each in rates.values()),
        "tables": {
            name: {
                "fields": {field: str(type_) for field, type_ in run.schema[name].items()},
                **rates[name],
                "ended": arrivals[name].has_ended,
                **channel.counters(),
            }
            for name, channel in report.channels.items()
        },
        "events": [{"device": row["device"], "event": row["event"], "text": row["text"]} for row in events],
        "notes": report.notes,
        "problems": report.problems,
    }


def _rates(channel: Channel, arrival: Arrival, whole_s: float) -> dict[str, float]:
    """Returns the rates over the time in which the device gave records: opening and stopping it are no part of it.

    whole_s: from the start of the run to its end, if it gave none."""
    seconds = channel.rows / arrival.rows_per_s if arrival.rows else whole_s
    return {
        "seconds": round(seconds, 3),
        "rows_per_s": round(channel.rows / max(seconds, 1e-9), 1),
        "raw_bytes_per_s": round(channel.raw_bytes / max(seconds, 1e-9)),
    }


def _show(tried: dict[str, Any]) -> None:
    answer(f"{tried['source']}, read for {tried['seconds']:g} s. Clock: {tried['clock_domain']}.")
    for name, value in tried["settings"].items():
        answer(f"  {name} = {json_.dumps(value, ensure_ascii=False)}")
    for name, table in tried["tables"].items():
        fields = ", ".join(f"{field}: {type_}" for field, type_ in table["fields"].items())
        rates = f"{table['rows_per_s']:,g} records/s, {as_bytes(table['raw_bytes_per_s'])}/s raw"
        end = f", until the device ended after {table['seconds']:g} s" if table["ended"] else ""
        answer(f"{name} ({fields}): {rates}{end}")
        counters = [f"{counter} {value:,}" for counter, value in table.items() if counter not in _SHOWN]
        dead = f"dead time {table['dead_time_fraction']:.2%}"
        answer(f"  {counted(table['rows'], 'record')}, {', '.join([dead, *counters])}")
    answer(*tried["notes"])
    for event in tried["events"]:
        answer(f"{event['device']}: {event['event']}{': ' if event['text'] else ''}{event['text']}")


def register(app: typer.Typer) -> None:
    app.command("devices", epilog=as_epilog(EXAMPLES))(devices)
