"""A device is what one process opens once. This is that process: it opens it, and appends its rows."""
