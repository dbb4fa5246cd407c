"""Options of the command line that are knobs, and `--set` for all others."""

from collections.abc import Mapping, Sequence

from thalweg._errors import UsageError
from thalweg._tuning import Tuning, with_codec


def tuning_of(settings: Sequence[str] | None, options: Mapping[str, str]) -> Tuning:
    """Of `--set`, and of the options that were given: an empty one was not."""
    tuning = Tuning.parse(settings or [])
    codec = ""
    for name, text in options.items():
        if name == "codec":
            codec = text
        elif text:
            if name in tuning:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"the knob '{name}' is given twice (with {option} and with --set): give one of them")
            tuning |= {name: text}
    return with_codec(tuning, codec)
