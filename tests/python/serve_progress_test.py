"""The lines that `thalweg readout serve` writes while it runs."""

import pytest

from thalweg._readout.serve import _Moment


def moment(time_s: float, state: str, count: int = 0) -> _Moment:
    return _Moment(
        time_s=time_s,
        state=state,
        trouble="",
        run=1,
        overflows=0,
        events=count,
        packets=6 * count,
        unplaced=0,
        incomplete=0,
        sent_bytes=100 * count,
        fill=0.5,
        busy_ns=count * 1000,
    )


def test_the_rates_of_a_second_run_begin_at_zero() -> None:
    said = moment(12.0, "running", 200).sentence(moment(10.0, "stopped", 50_000), 1.0)
    assert "100 events/s" in said
    assert "-" not in said


def test_rates_are_those_since_the_line_before() -> None:
    assert "300 events/s" in moment(12.0, "running", 1000).sentence(moment(10.0, "running", 400), 1.0)


@pytest.mark.parametrize(
    ("state", "verb"), [("configured", "/control/start to"), ("stopped", "/control/configure, and then /control/start")]
)
def test_a_handler_without_a_run_names_what_begins_one(state: str, verb: str) -> None:
    assert verb in moment(1.0, state).sentence(moment(0.0, state), 1.0)
