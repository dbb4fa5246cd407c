"""thalweg readout emulate"""

from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import _core
from thalweg._base.quantities import duration_ns, of_option, size_bytes
from thalweg._base.stamps import interval_s
from thalweg._readout import card
from thalweg._readout.live import LiveLine
from thalweg.cli._output import IntervalOption, JsonOption, QuietOption, answer, as_epilog, print_json

EXAMPLES = [
    "thalweg readout emulate --rate 100kHz --duration 10s",
    "thalweg readout emulate --elinks 336 --buffers 8 --rate 1MHz",
    "thalweg readout emulate --packet-bytes 8-40 --events 1000000 --faults crc=1e-5,missing=1e-4 --tally sent.json",
]

LINKS, EVENTS, BUFFERS, WRONG = "E-links and packets", "Events", "Blocks and buffers", "What goes wrong"


def _option(panel: str, text: str, **settings: Any) -> Any:
    return typer.Option(help=text, rich_help_panel=panel, **settings)


def emulate(
    name: Annotated[
        str, typer.Option(help="Name of the emulated card. Handlers find the card by it.", metavar="NAME")
    ] = "felix0",
    duration: Annotated[
        str,
        typer.Option(
            help="Stop after this time, for example 10s, 5min or 2h. The default is to run until stopped.",
            metavar="TIME",
        ),
    ] = "",
    elinks: Annotated[int, _option(LINKS, "Number of e-links. They are distributed over the buffers.", min=1)] = 42,
    first_elink: Annotated[int, _option(LINKS, "Number of the first e-link.", min=0)] = 0,
    packet_bytes: Annotated[
        str,
        _option(
            LINKS,
            "Size of the packets in bytes: one size (24), or a range (8-40) of uniformly distributed sizes.",
            metavar="SIZES",
        ),
    ] = "24",
    l1id_offset: Annotated[int, _option(LINKS, "Offset of the L1ID in a packet, in bytes.", min=0)] = 0,
    rate: Annotated[
        str,
        _option(
            EVENTS, "Event rate, for example 1MHz, 100kHz or 10Hz. max: as fast as the readers read.", metavar="RATE"
        ),
    ] = "100kHz",
    events: Annotated[int, _option(EVENTS, "Stop after this number of events. 0: no limit.", min=0)] = 0,
    first_l1id: Annotated[
        int, _option(EVENTS, "Extended L1ID of the first event; the ECR is in its upper 8 bits.", min=0, max=2**32 - 1)
    ] = 0,
    events_per_ecr: Annotated[
        int,
        _option(
            EVENTS, "Events after which the ECR is incremented and the L1ID restarts at 0. 0: after 2^24 events.", min=0
        ),
    ] = 0,
    buffers: Annotated[int, _option(BUFFERS, "Number of DMA buffers. Each has one reader.", min=1)] = 1,
    buffer_size: Annotated[str, _option(BUFFERS, "Size of each buffer in shared memory.", metavar="SIZE")] = "64MiB",
    block_format: Annotated[str, _option(BUFFERS, "Format of the blocks: abcd, abce or c0ce.", metavar="NAME")] = (
        "c0ce"
    ),
    block_size: Annotated[
        str, _option(BUFFERS, "Size of a block: 1KiB to 64KiB with c0ce, 1KiB otherwise.", metavar="SIZE")
    ] = "1KiB",
    timeout: Annotated[
        str,
        _option(BUFFERS, "Time after which a block that is not full is sent all the same. 0s: never.", metavar="TIME"),
    ] = "10ms",
    faults: Annotated[
        str,
        _option(
            WRONG,
            "Probabilities of faults, for example crc=1e-5,missing=1e-4; all=1e-4 sets every kind.",
            metavar="NAME=P,...",
        ),
    ] = "",
    seed: Annotated[
        int, _option(WRONG, "Seed of the random numbers. The same seed gives the same sizes and faults.", min=0)
    ] = 1,
    tally: Annotated[
        Path | None,
        _option(
            WRONG, "Write what was sent to this file, to compare it with the counters of a reader.", metavar="FILE.json"
        ),
    ] = None,
    quiet: QuietOption = False,
    interval: IntervalOption = "",
    json: JsonOption = False,
) -> int:
    """Emulate a FELIX card: fill DMA buffers in shared memory with blocks of packets from e-links.

    If the buffers are full, the card waits; it overwrites nothing. When all is sent, it waits until handlers have read
    it, however long that takes. Ctrl-C (or SIGTERM) stops it after a whole event, and a second one does not wait.
    """
    options = _core.CardOptions()
    options.name = name
    options.elinks, options.first_elink = elinks, first_elink
    options.sizes = _core.PacketSizes.parse(packet_bytes)
    options.l1id_offset = l1id_offset
    options.event_rate_hz = card.rate_hz(rate)
    options.events, options.first_l1id, options.events_per_ecr = events, first_l1id, events_per_ecr
    options.format = _core.BlockFormat.parse(block_format, of_option("--block-size", block_size, size_bytes))
    options.buffers, options.buffer_bytes = (
        buffers,
        card.whole_blocks(of_option("--buffer-size", buffer_size, size_bytes), options.format),
    )
    options.timeout_ns = of_option("--timeout", timeout, duration_ns)
    options.faults, options.seed = _core.FaultOptions.parse(faults), seed
    live = LiveLine(quiet=quiet, interval_s=interval_s(interval))
    report = card.Emulation(options, of_option("--duration", duration, duration_ns) / 1e9, live).run()
    if tally:
        report.write_tally(tally)
    if json:
        print_json(report.as_json())
    else:
        answer(*report.sentences())
    return 0


def register(app: typer.Typer) -> None:
    app.command("emulate", epilog=as_epilog(EXAMPLES))(emulate)
