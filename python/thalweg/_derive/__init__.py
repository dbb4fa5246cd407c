"""Derived data: workers process ranges of an input and write its outputs together, as `tw.derive` has it."""
