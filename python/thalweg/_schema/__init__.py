"""What a run holds, as values: types, attributes, schemas, knobs."""
