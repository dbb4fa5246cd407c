"""Opens, recovers, verifies, merges and converts whole files."""
