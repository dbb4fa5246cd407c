"""Conformance suites for what users write: import them into tests of your own."""
