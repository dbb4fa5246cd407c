"""Says where the time of a traced program goes: `verdict` and `rules` judge what `thalweg._trace` has written."""
