"""thalweg readout emulate"""

from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import _core
from thalweg._readout import card
from thalweg._recording.units import duration_ns, size_bytes
from thalweg.cli._output import JsonOption, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout emulate --rate 100kHz --duration 10s",
    "thalweg readout emulate --elinks 336 --buffers 8 --rate 1MHz",
    "thalweg readout emulate --packet-bytes 8-40 --events 1000000 --faults crc=1e-5,missing=1e-4 --tally sent.json",
]

LINKS, EVENTS, BUFFERS, WRONG = "E-links and packets", "Events", "Blocks and buffers", "What goes wrong"


def _option(panel: str, text: str, **settings: Any) -> Any:
    return typer.Option(help=text, rich_help_panel=panel, **settings)


def emulate(
    name: Annotated[str, typer.Option(help="Readers find the card by it.", metavar="NAME")] = "felix0",
    duration: Annotated[str, typer.Option(help="As in 10s, 5min, 2h; nothing: until stopped.", metavar="TIME")] = "",
    elinks: Annotated[int, _option(LINKS, "Streams of packets, shared out over the buffers.", min=1)] = 42,
    first_elink: Annotated[int, _option(LINKS, "The number of the first one.", min=0)] = 0,
    packet_bytes: Annotated[
        str, _option(LINKS, "Of every packet: 24; or evenly between two sizes: 8-40.", metavar="SIZES")
    ] = "24",
    l1id_offset: Annotated[int, _option(LINKS, "The byte of a packet at which its L1ID lies.", min=0)] = 0,
    rate: Annotated[str, _option(EVENTS, "1MHz, 100kHz, 10Hz; max: as fast as it is read.", metavar="RATE")] = "100kHz",
    events: Annotated[int, _option(EVENTS, "Then stop; 0: no limit.", min=0)] = 0,
    first_l1id: Annotated[
        int, _option(EVENTS, "Of the first event: ECR in the upper 8 bits.", min=0, max=2**32 - 1)
    ] = 0,
    events_per_ecr: Annotated[
        int, _option(EVENTS, "Then the ECR goes up and L1IDs begin at 0; 0: after 2^24.", min=0)
    ] = 0,
    buffers: Annotated[int, _option(BUFFERS, "Each has one reader.", min=1)] = 1,
    buffer_size: Annotated[str, _option(BUFFERS, "Of each, in shared memory.", metavar="SIZE")] = "64MiB",
    block_format: Annotated[str, _option(BUFFERS, "abcd, abce or c0ce.", metavar="NAME")] = "c0ce",
    block_size: Annotated[str, _option(BUFFERS, "1KiB to 64KiB, with c0ce.", metavar="SIZE")] = "1KiB",
    timeout: Annotated[
        str, _option(BUFFERS, "After so long a block goes half-filled; 0s: never.", metavar="TIME")
    ] = "10ms",
    faults: Annotated[
        str, _option(WRONG, "Probabilities: crc=1e-5,missing=1e-4, or all=1e-4.", metavar="NAME=P,...")
    ] = "",
    seed: Annotated[int, _option(WRONG, "The same seed, the same sizes and faults.", min=0)] = 1,
    tally: Annotated[
        Path | None, _option(WRONG, "What was really sent, to hold a reader's counters against.", metavar="FILE.json")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Play the part of a FELIX card: fill DMA buffers in shared memory with the blocks of its e-links.

    When the buffers are full it waits; nothing is overwritten. Ctrl-C (or SIGTERM) ends it in whole events.
    """
    options = _core.CardOptions()
    options.name = name
    options.elinks, options.first_elink = elinks, first_elink
    options.sizes = _core.PacketSizes.parse(packet_bytes)
    options.l1id_offset = l1id_offset
    options.event_rate_hz = card.rate_hz(rate)
    options.events, options.first_l1id, options.events_per_ecr = events, first_l1id, events_per_ecr
    options.format = _core.BlockFormat.parse(block_format, size_bytes(block_size))
    options.buffers, options.buffer_bytes = buffers, card.whole_blocks(size_bytes(buffer_size), options.format)
    options.timeout_ns = duration_ns(timeout)
    options.faults, options.seed = _core.FaultOptions.parse(faults), seed
    report = card.Emulation(options, duration_ns(duration) / 1e9).run()
    if tally:
        report.write_tally(tally)
    if json:
        print_json(report.as_json())
    else:
        say(*report.sentences())
    return 0


def register(app: typer.Typer) -> None:
    app.command("emulate", epilog=as_epilog(EXAMPLES))(emulate)
