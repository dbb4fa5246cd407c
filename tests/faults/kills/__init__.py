"""A campaign of kills: recordings from seeds, of which processes are killed, files moved and memory dropped.

What was promised is what the processes said on a pipe before they died, and h5py and uproot alone are the judges.
`python -m kills --help` (in tests/faults) says how it is started; docs/kills.md describes it.
"""
