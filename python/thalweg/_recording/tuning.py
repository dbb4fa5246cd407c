"""Combines knobs that have an option of their own with those of `--set`."""

from collections.abc import Mapping, Sequence

from thalweg._base.errors import UsageError
from thalweg._schema.tuning import Tuning, with_codec


def tuning_of(settings: Sequence[str] | None, options: Mapping[str, str]) -> Tuning:
    """Returns the tuning of `--set` and of options; an empty option was not given. Raises UsageError for both."""
    tuning = Tuning.parse(settings or [])
    codec = ""
    for name, text in options.items():
        if name == "codec":
            codec = text
        elif text:
            if name in tuning:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"knob '{name}' is given twice (by {option} and by --set): leave one of them out")
            tuning |= {name: text}
    return with_codec(tuning, codec)
