"""From when on a detector is odd, for `thalweg watch` and for `thalweg tdpac` alike."""

SILENCE_S = 5.0
"""A detector is silent if its newest hit is so much older than the newest one of all."""
FLOOD = 5.0
"""A detector floods if its rate is so many times the usual one."""
