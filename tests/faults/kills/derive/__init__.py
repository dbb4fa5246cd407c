"""Jobs of derivations (`tw.derive`) that are killed and resumed: what they write is what an undisturbed job writes."""
