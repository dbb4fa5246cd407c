"""Runs `tw.derive`: workers process ranges of an input and write all outputs together."""
