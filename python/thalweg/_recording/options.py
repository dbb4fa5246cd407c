"""Every option of `thalweg record`, once: for the command line, the TOML file and the metadata of the run."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class SourceKind(StrEnum):
    digitizer = "digitizer"
    replay = "replay"


class Isotope(StrEnum):
    hf181 = "181Hf"
    in111 = "111In"
    none = "none"


class Engine(StrEnum):
    auto = "auto"
    uring = "uring"
    threads = "threads"
    posix = "posix"


def _option(panel: str, text: str, **settings: Any) -> Any:
    return typer.Option(help=text, rich_help_panel=panel, **settings)


CARD, REPLAY, OUTPUT = "The digitizer", "Replay", "What is written"
RUN, MACHINE, SEEN = "The run", "The machine", "What is seen of it"


@dataclass(frozen=True)
class RecordOptions:
    source: Annotated[SourceKind, typer.Option(help="Where records come from.")] = SourceKind.digitizer
    out: Annotated[
        Path, typer.Option(help="The file to write: HDF5 (.h5) or ROOT RNTuple (.root).", metavar="FILE")
    ] = Path("run.h5")
    duration: Annotated[str, typer.Option(help="As in 10s, 5min, 2h; nothing: until stopped.", metavar="TIME")] = ""

    channels: Annotated[int, _option(CARD, "How many, each a table.", min=1, metavar="N")] = 6
    rate: Annotated[
        str, _option(CARD, "Of each channel: 200MB/s, 5000/s, 5kHz; max: as fast as storage is.", metavar="RATE")
    ] = "max"
    records: Annotated[int, _option(CARD, "Of each channel, then stop; 0: no limit.", min=0, metavar="N")] = 0
    isotope: Annotated[Isotope, _option(CARD, "Whose gamma cascades are seen.")] = Isotope.hf181
    samples: Annotated[int, _option(CARD, "In a record.", min=1, metavar="N")] = 10_496
    sample_rate: Annotated[str, _option(CARD, "Such as 10GS/s or 500MS/s.", metavar="RATE")] = "10GS/s"
    seed: Annotated[int, _option(CARD, "The same seed, the same records.", min=0, metavar="N")] = 1
    onboard_memory: Annotated[
        str, _option(CARD, "Of each channel; when it is full, triggers are lost.", metavar="SIZE")
    ] = "4GB"

    input: Annotated[str, _option(REPLAY, "A CoMPASS file (.BIN), or an HDF5 file.", metavar="FILE")] = ""
    loops: Annotated[int, _option(REPLAY, "So many times over; 0: endless.", min=0, metavar="N")] = 1

    force: Annotated[bool, _option(OUTPUT, "Replace a file that is there.", show_default=False)] = False
    codec: Annotated[
        str,
        _option(
            OUTPUT,
            "HDF5: none, lz4, bitshuffle+lz4 (the default), shuffle+deflate-1, bitshuffle+zstd-3 and the like. "
            "RNTuple: none, lz4, zstd-1 (the default), deflate-1, plain+zstd-5.",
            metavar="CODEC",
        ),
    ] = ""
    max_file_size: Annotated[str, _option(OUTPUT, "Then go on in the next of run-00001.h5, ...", metavar="SIZE")] = ""
    max_file_time: Annotated[str, _option(OUTPUT, "The same by time.", metavar="TIME")] = ""
    run_number: Annotated[int | None, _option(OUTPUT, "Kept in the file.", metavar="N")] = None
    meta: Annotated[list[str] | None, _option(OUTPUT, "Kept in the file. Can be repeated.", metavar="KEY=VALUE")] = None

    on_start: Annotated[str, _option(RUN, "Run before; no run if it fails.", metavar="COMMAND")] = ""
    on_stop: Annotated[str, _option(RUN, "Run when the file is complete.", metavar="COMMAND")] = ""
    flush_interval: Annotated[
        str, _option(RUN, "What a power cut may cost; nothing: the knob's default, 1s.", metavar="TIME")
    ] = ""

    producers: Annotated[
        int, _option(MACHINE, "Processes; 0: one a channel, up to the cores there are.", min=0, metavar="N")
    ] = 0
    threads: Annotated[
        int | None,
        _option(MACHINE, "Of each producer, to compress; nothing or 0: none but its own.", min=0, metavar="N"),
    ] = None
    engine: Annotated[Engine | None, _option(MACHINE, "How bytes reach the disk; nothing: auto.")] = None
    set: Annotated[
        list[str] | None,
        _option(
            MACHINE,
            "Set a knob of the writing, such as extent_bytes=4MiB. Can be repeated; `thalweg knobs` lists them.",
            metavar="KNOB=VALUE",
        ),
    ] = None

    metrics: Annotated[str, _option(SEEN, "Prometheus metrics, on 127.0.0.1 only.", metavar="[HOST:]PORT")] = ""
    quiet: Annotated[bool, _option(SEEN, "No progress on stderr.", show_default=False)] = False
    json: Annotated[bool, _option(SEEN, "The final report on stdout.", show_default=False)] = False
