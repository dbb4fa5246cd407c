"""Types, attributes, schemas and knobs, as values."""
