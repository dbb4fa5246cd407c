"""The one list of all options of `thalweg record`: for the command line, the TOML file and the metadata of the run."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class SourceKind(StrEnum):
    digitizer = "digitizer"
    replay = "replay"
    raw = "raw"


class Isotope(StrEnum):
    hf181 = "181Hf"
    in111 = "111In"
    none = "none"


class NodeDeath(StrEnum):
    end = "end"
    going_on = "continue"


class DeviceLoss(StrEnum):
    reopen = "reopen"
    end = "end"
    going_on = "continue"


class Engine(StrEnum):
    auto = "auto"
    uring = "uring"
    threads = "threads"
    posix = "posix"


def _option(panel: str, text: str, **settings: Any) -> Any:
    return typer.Option(help=text, rich_help_panel=panel, **settings)


CARD, REPLAY, RAW, FEATURES, DEVICE = "Digitizer", "Replay", "Raw rows", "Features of pulses", "Device"
OUTPUT = "Output"
RUN, MACHINE, SEEN = "Run", "Machine", "Monitoring"


@dataclass(frozen=True)
class RecordOptions:
    source: Annotated[
        str,
        typer.Option(
            help="Source of the records: digitizer (emulated), replay (of a file), raw (rows from a pipe or socket), a "
            "class in Python as module:Class, or a name that an installed package gives to its class.",
            metavar="NAME",
        ),
    ] = SourceKind.digitizer.value
    out: Annotated[
        Path, typer.Option(help="The file to write: HDF5 (.h5) or ROOT RNTuple (.root).", metavar="FILE")
    ] = Path("run.h5")
    duration: Annotated[
        str,
        typer.Option(
            help="Stop after this time, for example 10s, 5min or 2h. The default is to record until stopped.",
            metavar="TIME",
        ),
    ] = ""

    channels: Annotated[int, _option(CARD, "Number of channels. Each becomes a table.", min=1, metavar="N")] = 6
    rate: Annotated[
        str,
        _option(
            CARD,
            "Rate of each channel, for example 200MB/s, 5000/s or 5kHz. max: as fast as the storage allows.",
            metavar="RATE",
        ),
    ] = "max"
    records: Annotated[
        int,
        _option(
            CARD, "Stop after this number of records of each channel. 0: no limit.", min=0, max=2**63 - 1, metavar="N"
        ),
    ] = 0
    isotope: Annotated[Isotope, _option(CARD, "Isotope whose gamma cascades the detectors see.")] = Isotope.hf181
    physics: Annotated[
        str,
        _option(
            CARD,
            "File that says where the detectors are, how they differ, and which fields the nuclei are in: then gammas "
            "have an angular correlation.",
            metavar="FILE.toml",
        ),
    ] = ""
    samples: Annotated[int, _option(CARD, "Number of samples in a record.", min=1, max=2**31 - 1, metavar="N")] = 10_496
    sample_rate: Annotated[str, _option(CARD, "Sampling rate, for example 10GS/s or 500MS/s.", metavar="RATE")] = (
        "10GS/s"
    )
    seed: Annotated[
        int,
        _option(
            CARD,
            "Seed of the random numbers. The same seed gives the same records.",
            min=0,
            max=2**63 - 1,
            metavar="N",
        ),
    ] = 1
    onboard_memory: Annotated[
        str, _option(CARD, "On-board memory of each channel. If it is full, triggers are lost.", metavar="SIZE")
    ] = "4GB"

    input: Annotated[
        str,
        _option(
            REPLAY,
            "File to replay: CoMPASS (.BIN) or HDF5. Raw rows: -, FILE, PIPE, tcp://HOST:PORT, udp://HOST:PORT, "
            "unix:PATH or listen:[HOST:]PORT.",
            metavar="INPUT",
        ),
    ] = ""
    loops: Annotated[int, _option(REPLAY, "How many times to replay the file. 0: without end.", min=0, metavar="N")] = 1

    compass_header: Annotated[
        str,
        _option(
            REPLAY,
            "Header of a CoMPASS run that was split into files: the first two bytes of its first file, for example "
            "0xCAED. The later files have no header.",
            metavar="0xCAE*",
        ),
    ] = ""

    allow_missing: Annotated[
        bool,
        _option(
            REPLAY,
            "Exit with code 0 even if part of the file cannot be read and replayed, or raw rows are missing.",
            show_default=False,
        ),
    ] = False

    row: Annotated[
        str,
        _option(
            RAW,
            "How rows lie in the input: a file of TOML, or a dtype of NumPy, for example \"[('timestamp', '<u8'), "
            "('samples', '<u2', (64,))]\".",
            metavar="FILE.toml|DTYPE",
        ),
    ] = ""
    features: Annotated[
        str,
        _option(
            FEATURES,
            "Compute energy, time and flags of each pulse from its samples, as [features] of this file says: the "
            "configuration of `thalweg tdpac`.",
            metavar="FILE.toml",
        ),
    ] = ""
    waveforms: Annotated[
        str,
        _option(
            FEATURES,
            "Keep the samples of all pulses, of none, or, with --features, of those in one of N slices of time. "
            "Without --features, the emulated digitizer gives timestamps and energies if it keeps none.",
            metavar="all|none|1/N",
        ),
    ] = "all"
    setting: Annotated[
        list[str] | None,
        _option(
            DEVICE, "Setting of the source module:Class, for example channels=4. Can be repeated.", metavar="NAME=VALUE"
        ),
    ] = None
    device: Annotated[
        list[str] | None,
        _option(
            DEVICE,
            "Record from several devices: each a table of TOML with source, name, kind, every, on-loss, deadline, "
            "open-deadline and the settings of the device. Can be repeated. In a file of --config these are tables "
            "[[device]].",
            metavar="TABLE",
        ),
    ] = None
    device_deadline: Annotated[
        str,
        _option(
            DEVICE,
            "Time within which a call of the device must return. If it does not, its process is killed.",
            metavar="TIME",
        ),
    ] = "10s"
    open_deadline: Annotated[
        str, _option(DEVICE, "The same for opening the device, which may calibrate itself.", metavar="TIME")
    ] = "60s"
    on_device_loss: Annotated[
        DeviceLoss,
        _option(DEVICE, "If the device is lost, open it again, end the run, or continue without it."),
    ] = DeviceLoss.reopen

    force: Annotated[bool, _option(OUTPUT, "Replace the file if it exists.", show_default=False)] = False
    continue_: Annotated[
        bool,
        typer.Option(
            "--continue",
            help="If the file exists, complete what earlier runs left unfinished, and record into the next number: "
            "run-00002.h5 and so on. For a service that starts again after a crash.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = False
    codec: Annotated[
        str,
        _option(
            OUTPUT,
            "Compression of all columns. HDF5: none, lz4, bitshuffle+lz4 (the default), shuffle+deflate-1, "
            "bitshuffle+zstd-3 and similar. RNTuple: none, lz4, zstd-1 (the default), deflate-1, plain+zstd-5 and "
            "similar. The number is the compression level.",
            metavar="CODEC",
        ),
    ] = ""
    max_file_size: Annotated[
        str,
        _option(
            OUTPUT,
            "Begin a new file when the current one reaches this size. The files are named run-00001.h5, run-00002.h5 "
            "and so on, behind the numbers that are there already.",
            metavar="SIZE",
        ),
    ] = ""
    max_file_time: Annotated[
        str, _option(OUTPUT, "Begin a new file after this time, for example 1h.", metavar="TIME")
    ] = ""
    run_number: Annotated[
        int | None, _option(OUTPUT, "Run number to keep in the file.", min=0, max=2**63 - 1, metavar="N")
    ] = None
    meta: Annotated[
        list[str] | None, _option(OUTPUT, "Metadata to keep in the file. Can be repeated.", metavar="KEY=VALUE")
    ] = None

    on_start: Annotated[
        str,
        _option(RUN, "Shell command to run before the recording. If it fails, nothing is recorded.", metavar="COMMAND"),
    ] = ""
    on_stop: Annotated[str, _option(RUN, "Shell command to run once the file is complete.", metavar="COMMAND")] = ""
    flush_interval: Annotated[
        str,
        _option(
            RUN,
            "Time between syncs to disk. A power cut can lose the data of about this time. The default is 1s.",
            metavar="TIME",
        ),
    ] = ""

    nodes: Annotated[
        int,
        _option(
            RUN,
            "Number of machines that record into one file in a shared folder. Run this command on each of them, with "
            "the same channels. Tables are named node1_ch0, node2_ch0 and so on.",
            min=1,
            metavar="N",
        ),
    ] = 1
    node: Annotated[
        int | None, _option(RUN, "Number of this machine among them, from 1.", min=1, metavar="K", show_default=False)
    ] = None
    on_node_death: Annotated[
        NodeDeath, _option(RUN, "If a machine fails, end the run on all machines, or continue it on the others.")
    ] = NodeDeath.end
    node_timeout: Annotated[
        str,
        _option(
            RUN,
            "Time within which all machines must join. A machine that gives no sign for this time counts as failed.",
            metavar="TIME",
        ),
    ] = "60s"

    producers: Annotated[
        int,
        _option(
            MACHINE,
            "Number of producer processes. 0: one for each channel, up to the number of cores.",
            min=0,
            metavar="N",
        ),
    ] = 0
    threads: Annotated[
        int | None,
        _option(
            MACHINE,
            "Number of compression threads of each producer. The default is 0: the producer itself compresses.",
            min=0,
            metavar="N",
        ),
    ] = None
    engine: Annotated[
        Engine | None, _option(MACHINE, "I/O engine that writes to the disk. The default is the fastest available.")
    ] = None
    set: Annotated[
        list[str] | None,
        _option(
            MACHINE,
            "Tune how the file is written, for example extent_bytes=4MiB. Can be repeated. `thalweg knobs` lists all "
            "knobs.",
            metavar="KNOB=VALUE",
        ),
    ] = None

    metrics: Annotated[
        str,
        _option(
            SEEN, "Address on which to serve Prometheus metrics. The default host is 127.0.0.1.", metavar="[HOST:]PORT"
        ),
    ] = ""
    watch: Annotated[
        str,
        _option(
            SEEN,
            "Show the run as a page on this address, by a process of its own: `thalweg watch`. It uses only time that "
            "no other process wants, and ends when it has shown the end of the run. If it ends before, recording goes "
            "on.",
            metavar="[HOST:]PORT",
        ),
    ] = ""
    watch_option: Annotated[
        list[str] | None,
        _option(
            SEEN,
            "Option of `thalweg watch` for this page: config, token-file, host-name, silence, priority or slices. Can "
            "be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None
    quiet: Annotated[bool, _option(SEEN, "Show no progress on stderr.", show_default=False)] = False
    interval: Annotated[
        str,
        _option(
            SEEN,
            "Time between two lines of progress if stderr is no terminal. Each begins with the time. The default is "
            "1s.",
            metavar="TIME",
        ),
    ] = ""
    json: Annotated[bool, _option(SEEN, "Write the final report to stdout as JSON.", show_default=False)] = False
