"""All devices of a run: those that are built in, and those that are classes in Python."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._recording.device_events import TABLE, DeviceEvents, with_events
from thalweg._recording.options import RecordOptions
from thalweg._recording.plug_in import Counted, PlugIn
from thalweg._recording.source import has_clock, open_source, settings
from thalweg._recording.specs import DeviceSpec
from thalweg._recording.watch import Problems
from thalweg._recording.workers import RecordingWorkers, count_usable_cores
from thalweg._schema.left_out import problems_of

_STEP_S = 0.01


@dataclass
class _BuiltIn:
    """A source in C++: its streams are dealt out over several processes, and each of them opens its own."""

    spec: DeviceSpec
    source: dict[str, Any]
    made: _core.Source
    workers: RecordingWorkers | None = None

    @property
    def tables(self) -> list[str]:
        return [table["name"] for table in json.loads(self.made.schema)["tables"]]


@dataclass
class Described:
    """What all devices say of themselves before there is a file."""

    schema: str
    metadata: dict[str, Any]
    sources: list[str]
    events: str = ""  # the table of what happens to them; empty if there is none
    left_out: list[str] = field(default_factory=list)


class Devices:
    """The constructor raises UsageError if options of a source that is built in are wrong."""

    def __init__(self, specs: list[DeviceSpec], problems: Problems, counted: Counted) -> None:
        self.events = DeviceEvents()
        self._problems = problems
        self._built_in: list[_BuiltIn] = []
        self._plug_ins = [PlugIn(each, problems, self.events, counted) for each in specs if each.built_in is None]
        self._order = [spec.title for spec in specs]
        self._sources = [spec.source for spec in specs]
        self._is_recording = self._is_stopping = False
        for spec in specs:
            if spec.built_in is not None:
                source = settings(spec.built_in)
                self._built_in.append(_BuiltIn(spec, source, open_source(source)))

    def begin(self) -> None:
        """Begins to open all devices, in processes of their own. Raises SystemError if one cannot be started."""
        for device in self._plug_ins:
            device.begin()

    def open(self) -> Described:
        """Returns what all devices are, once they are open. Raises UsageError or SystemError if one cannot be."""
        while any(device.description is None for device in self._plug_ins):
            self.look()
            time.sleep(_STEP_S)
        found = {device.spec.title: (device.spec, device.made.schema) for device in self._built_in}
        found |= {it.spec.title: (it.spec, it.description["schema"]) for it in self._plug_ins if it.description}
        self._check_features()
        schema = _together([found[title] for title in self._order])
        left_out = [
            f"{device.source['path']}: {each}"
            for device in self._built_in
            for each in problems_of(device.made.left_out)
        ]
        if self._plug_ins:
            return Described(with_events(schema), self._metadata(), self._sources, TABLE, left_out)
        return Described(schema, self._metadata(), self._sources, "", left_out)

    def _check_features(self) -> None:
        """Raises UsageError if features are wanted, and no device has samples."""
        wanted = [device.spec.features for device in self._plug_ins if device.spec.features]
        have_some = self._built_in or any("features" in (device.description or {}) for device in self._plug_ins)
        if wanted and not have_some:
            raise UsageError(
                "there are no pulses that could have features (no table of a device has a column "
                f"'{wanted[0]['settings']['waveform']}'): set waveform in [features]"
            )

    def _metadata(self) -> dict[str, Any]:
        of_all: dict[str, dict[str, Any]] = {device.spec.title: device.made.metadata for device in self._built_in}
        for device in self._plug_ins:
            said = device.description or {}
            more = {key: said[key] for key in ("clock", "lanes") if said[key]}
            domain = said["clock_domain"] or "the device's own clock"
            of_all[device.spec.title] = {
                "source": device.spec.source,
                "clock_domain": domain,
                **said["settings"],
                **more,
                **said.get("features", {}),
            }
        if len(of_all) == 1:
            return next(iter(of_all.values()))
        domains = [f"{title}: {of_all[title]['clock_domain']}" for title in self._order]
        sources = [of_all[title]["source"] for title in self._order]
        return {"source": ", ".join(sources), "clock_domain": "; ".join(domains), **of_all}

    def attach(self, handle: str, prefix: str, options: RecordOptions) -> None:
        """Lets all devices append to this run. `prefix` stands before the names of all tables."""
        for device in self._built_in:
            processes = min(options.producers or count_usable_cores(), len(device.tables))
            where = prefix + device.spec.prefix
            device.workers = RecordingWorkers(
                handle, device.source, device.tables, processes, where, device.spec.deadline_s
            )
        for plug_in in self._plug_ins:
            plug_in.attach(handle, prefix + plug_in.spec.prefix)

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Waits for producer processes. Devices have deadlines of their own: problems() says it if one has failed."""
        while not all(device.is_attached or device.has_ended for device in self._plug_ins):
            self.look()
            time.sleep(_STEP_S)
        return all(workers.wait_until_ready(timeout_s) for workers in self._workers)

    @property
    def _workers(self) -> list[RecordingWorkers]:
        return [device.workers for device in self._built_in if device.workers is not None]

    @property
    def _all(self) -> list[RecordingWorkers | PlugIn]:
        return [*self._workers, *self._plug_ins]

    @property
    def have_clocks(self) -> bool:
        """Whether all that give records take triggers at a fixed rate and end by a clock of their own."""
        if not self._built_in or any(not device.spec.is_slow for device in self._plug_ins):
            return False
        return all(has_clock(device.source) for device in self._built_in)

    @property
    def may_rotate(self) -> bool:
        """Whether no device is about to attach: it would find that its file is closed."""
        return not any(device.is_attaching for device in self._plug_ins)

    def start(self, start_ns: int) -> None:
        """Lets all take triggers. Emulated cards have time 0 at `start_ns` of the monotonic clock."""
        self._is_recording = True
        for each in self._workers:
            each.start(start_ns)
        for device in self._plug_ins:
            device.start()

    def look(self) -> None:
        """Sees what has happened, and does what is due: it ends processes that hang, and opens lost devices again."""
        for workers in self._workers:
            workers.look()
            for remark in [*workers.missing(), *workers.notes()]:
                self._problems.remark(remark)
        for device in self._plug_ins:
            device.look()
        if self._only_slow_ones_run():
            self.stop()
        self.events.follow()

    def _only_slow_ones_run(self) -> bool:
        """Returns whether all that give records have ended: slow instruments record beside them, and never end."""
        if self._is_stopping or not self._is_recording:
            return False
        others = [device.has_ended for device in self._plug_ins if not device.spec.is_slow]
        others += [not workers.running() for workers in self._workers]
        return bool(others) and all(others)

    def rotated(self, handle: str) -> None:
        """The run goes on in the file of this handle."""
        for device in self._plug_ins:
            device.rotated(handle)

    def pause(self) -> None:
        for each in self._all:
            each.pause()

    def resume(self) -> None:
        for each in self._all:
            each.resume()

    def stop(self) -> None:
        self._is_stopping = True
        for each in self._all:
            each.stop()

    def kill(self) -> None:
        for each in self._all:
            each.kill()

    def close(self) -> None:
        for each in self._all:
            each.close()

    def running(self) -> int:
        """Returns how many processes record, with those of lost devices that are opened again."""
        return sum(each.running() for each in self._workers) + sum(not device.has_ended for device in self._plug_ins)

    def missing(self) -> list[str]:
        """Returns what is missing of the inputs of built-in sources, when their processes have ended."""
        return [each for workers in self._workers for each in workers.missing()]

    def notes(self) -> list[str]:
        """Returns what else is to be said of these inputs, when their processes have ended."""
        return [each for workers in self._workers for each in workers.notes()]

    def problems(self) -> list[str]:
        """Returns what ends the run."""
        of_plug_ins = [device.failure for device in self._plug_ins if device.failure]
        return [problem for each in self._workers for problem in each.problems()] + of_plug_ins


def _together(found: list[tuple[DeviceSpec, str]]) -> str:
    """Returns the schema of a run with the tables of all these devices."""
    if len(found) == 1 and not found[0][0].prefix:
        return found[0][1]
    tables: dict[str, Any] = {}
    for spec, schema in found:
        for table in json.loads(schema)["tables"]:
            name = spec.prefix + table["name"]
            if name in tables:
                raise UsageError(
                    f"two devices have a table '{name}': give each a name, which its tables get as a prefix"
                )
            tables[name] = {**table, "name": name}
    return json.dumps({"tables": list(tables.values())})
