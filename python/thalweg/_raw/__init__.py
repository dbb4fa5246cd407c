"""How rows lie in the bytes of an input, as users describe it: a file of TOML, or a dtype of NumPy."""
