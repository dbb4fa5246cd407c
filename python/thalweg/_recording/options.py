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


class NodeDeath(StrEnum):
    end = "end"
    going_on = "continue"


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
    duration: Annotated[
        str,
        typer.Option(
            help="How long to record, such as 10s, 5min or 2h. Without it, until it is stopped.", metavar="TIME"
        ),
    ] = ""

    channels: Annotated[int, _option(CARD, "The number of channels. Each becomes a table.", min=1, metavar="N")] = 6
    rate: Annotated[
        str,
        _option(
            CARD,
            "The rate of each channel, such as 200MB/s, 5000/s or 5kHz. With max, as fast as storage takes it.",
            metavar="RATE",
        ),
    ] = "max"
    records: Annotated[
        int,
        _option(
            CARD, "Stop after so many records of each channel. 0 means no limit.", min=0, max=2**63 - 1, metavar="N"
        ),
    ] = 0
    isotope: Annotated[Isotope, _option(CARD, "The isotope whose gamma cascades are seen.")] = Isotope.hf181
    samples: Annotated[int, _option(CARD, "The number of samples in a record.", min=1, max=2**31 - 1, metavar="N")] = (
        10_496
    )
    sample_rate: Annotated[str, _option(CARD, "The sampling rate, such as 10GS/s or 500MS/s.", metavar="RATE")] = (
        "10GS/s"
    )
    seed: Annotated[
        int,
        _option(
            CARD,
            "The seed of the random numbers. The same seed gives the same records.",
            min=0,
            max=2**63 - 1,
            metavar="N",
        ),
    ] = 1
    onboard_memory: Annotated[
        str, _option(CARD, "The memory on board of each channel. When it is full, triggers are lost.", metavar="SIZE")
    ] = "4GB"

    input: Annotated[str, _option(REPLAY, "The file to replay: of CoMPASS (.BIN) or HDF5.", metavar="FILE")] = ""
    loops: Annotated[
        int, _option(REPLAY, "Replay the file so many times. 0 means without end.", min=0, metavar="N")
    ] = 1

    compass_header: Annotated[
        str,
        _option(
            REPLAY,
            "The first two bytes of the first file of a CoMPASS run that was split, such as 0xCAED. The later files "
            "have no header of their own.",
            metavar="0xCAE*",
        ),
    ] = ""

    allow_missing: Annotated[
        bool,
        _option(REPLAY, "Exit with 0 although something in the file cannot be read and replayed.", show_default=False),
    ] = False

    force: Annotated[bool, _option(OUTPUT, "Replace a file that is already there.", show_default=False)] = False
    codec: Annotated[
        str,
        _option(
            OUTPUT,
            "How values are compressed. In HDF5: none, lz4, bitshuffle+lz4 (the default), shuffle+deflate-1, "
            "bitshuffle+zstd-3 and the like. In RNTuple: none, lz4, zstd-1 (the default), deflate-1, plain+zstd-5.",
            metavar="CODEC",
        ),
    ] = ""
    max_file_size: Annotated[
        str,
        _option(OUTPUT, "Begin the next of the files run-00001.h5, ... when one has this size.", metavar="SIZE"),
    ] = ""
    max_file_time: Annotated[str, _option(OUTPUT, "Begin the next file after this time.", metavar="TIME")] = ""
    run_number: Annotated[int | None, _option(OUTPUT, "The number of the run, kept in the file.", metavar="N")] = None
    meta: Annotated[
        list[str] | None, _option(OUTPUT, "Metadata to keep in the file. Can be repeated.", metavar="KEY=VALUE")
    ] = None

    on_start: Annotated[
        str, _option(RUN, "A command to run before the recording, which does not begin if it fails.", metavar="COMMAND")
    ] = ""
    on_stop: Annotated[str, _option(RUN, "A command to run when the file is complete.", metavar="COMMAND")] = ""
    flush_interval: Annotated[
        str,
        _option(
            RUN, "How often data is synced, which is what a power cut may cost. The default is 1s.", metavar="TIME"
        ),
    ] = ""

    nodes: Annotated[
        int,
        _option(
            RUN,
            "So many machines record into one file, in a folder that all see. All run this command, with the same "
            "channels; tables are called node1_ch0, node2_ch0 and so on.",
            min=1,
            metavar="N",
        ),
    ] = 1
    node: Annotated[
        int | None, _option(RUN, "Which of these this machine is, from 1.", min=1, metavar="K", show_default=False)
    ] = None
    on_node_death: Annotated[
        NodeDeath, _option(RUN, "Where one of them dies, the run ends for all, or the others continue.")
    ] = NodeDeath.end
    node_timeout: Annotated[
        str,
        _option(RUN, "So long all have to come, and after so long one is dead that gives no sign.", metavar="TIME"),
    ] = "60s"

    producers: Annotated[
        int,
        _option(
            MACHINE,
            "The number of producer processes. 0 means one for each channel, up to the number of cores.",
            min=0,
            metavar="N",
        ),
    ] = 0
    threads: Annotated[
        int | None,
        _option(
            MACHINE,
            "Threads of each producer that compress. By default the producer does it itself.",
            min=0,
            metavar="N",
        ),
    ] = None
    engine: Annotated[
        Engine | None, _option(MACHINE, "How bytes reach the disk. By default, the fastest way there is.")
    ] = None
    set: Annotated[
        list[str] | None,
        _option(
            MACHINE,
            "Set a knob of the writing, such as extent_bytes=4MiB. Can be repeated; `thalweg knobs` lists them.",
            metavar="KNOB=VALUE",
        ),
    ] = None

    metrics: Annotated[
        str,
        _option(SEEN, "Where to serve Prometheus metrics. Without a host, on 127.0.0.1 only.", metavar="[HOST:]PORT"),
    ] = ""
    quiet: Annotated[bool, _option(SEEN, "Show no progress on stderr.", show_default=False)] = False
    json: Annotated[bool, _option(SEEN, "Write the final report to stdout.", show_default=False)] = False
