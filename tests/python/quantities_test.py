"""Frequencies and times as people write them, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from thalweg._base.quantities import duration_ns, frequency_hz, rate


@pytest.mark.parametrize("text", ["5kHz", "5 kHz", "5KHz", "5khz", "5000", "5e3", "5 k", " 5 kHz ", "0.005 MHz"])
def test_a_frequency_is_written_in_many_ways(text: str) -> None:
    assert frequency_hz(text, "Hz") == pytest.approx(5000)
    if text.strip().lower().endswith("hz"):
        rate(text)  # which the core takes


@pytest.mark.parametrize("text", ["", "kHz", "5mHz", "five", "5 kV", "-5kHz", "5..0Hz"])
def test_what_is_no_frequency_is_refused(text: str) -> None:
    with pytest.raises(tw.UsageError, match="is not a frequency"):
        frequency_hz(text, "Hz")


def test_times_have_several_units() -> None:
    assert duration_ns("1h30m") == duration_ns("90min") == 5400 * 10**9
    with pytest.raises(tw.UsageError, match="'1h30' is not a duration: write it like 10s, 500ms, 2h or 1h30m"):
        duration_ns("1h30")


def test_record_takes_them(tmp_path: Path, thalweg_command: Any) -> None:
    words = ("--channels", 1, "--rate", "5 KHz", "--samples", 64, "--duration", "0m 0.3s", "--quiet")
    assert thalweg_command("record", "--out", tmp_path / "run.h5", *words).returncode == 0
    refused = thalweg_command("record", "--out", tmp_path / "other.h5", "--run-number", -3)
    assert refused.returncode == 2
    assert "run-number" in refused.stderr
