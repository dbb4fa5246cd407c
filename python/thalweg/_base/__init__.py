"""The room that all others use and that uses none of them: errors, signals, paths, quantities, checks, reports."""
