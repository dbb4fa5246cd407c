"""The live view of `thalweg record`."""

import io

from rich.console import Console

from thalweg._recording.counts import Channel
from thalweg._recording.progress import progress_sentence, progress_view
from thalweg._recording.snapshot import RecordingSnapshot


def busy(channels: int) -> RecordingSnapshot:
    names = [f"ch{number}" for number in range(channels)]
    channel = Channel(
        rows=5000,
        raw_bytes=105_000_000,
        paged_bytes=105_000_000,
        stored_bytes=31_500_000,
        counts={
            "triggers": 5600,
            "lost_triggers": 500,
            "dead_time_ns": 100_000_000,
            "live_time_ns": 900_000_000,
            "onboard_bytes": 1_000_000,
            "onboard_limit_bytes": 4_000_000,
        },
        queue_fill=0.5,
    )
    return RecordingSnapshot(
        elapsed_s=75,
        state="recording",
        file="run.h5",
        engine="io_uring, O_DIRECT",
        channels=dict.fromkeys(names, channel),
        rows_per_s=dict.fromkeys(names, 1000.0),
        bytes_per_s=dict.fromkeys(names, 21e6),
        stored_bytes_per_s=1e6,
        durable_lag_s=0.75,
        producers=2,
        free_bytes=3_600_000_000,
    )


def shown(snapshot: RecordingSnapshot, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=110)
    console.print(progress_view(snapshot, console.width, height))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_every_channel_has_its_line() -> None:
    lines = shown(busy(3), height=24)
    assert lines[0].startswith("Recording run.h5  1 min 15 s  2 producers, io_uring, O_DIRECT")
    assert lines[2].split() == ["ch0", "1,000", "21", "MB/s", "5,000", "0.300", "50%", "25%", "10.00%", "500"]
    assert lines[5].split() == ["together", "3,000", "63", "MB/s", "15,000", "0.300", "50%", "25%", "10.00%", "1,500"]
    assert "durable lag 0.8 s   disk 3.6 GB free, full in 1 h 00 min" in lines[6]


def test_many_channels_fit_on_the_screen() -> None:
    lines = shown(busy(100), height=24)
    assert len(lines) < 24
    assert any(line.startswith("84 more") for line in lines)


def test_the_same_as_a_sentence() -> None:
    assert progress_sentence(busy(2)) == (
        "1 min 15 s: 42 MB/s, 10,000 records, stored/raw 0.300, buffers 50% full, durable lag 0.8 s, dead time 10.0%, "
        "1,000 lost, disk full in 1 h 00 min"
    )
