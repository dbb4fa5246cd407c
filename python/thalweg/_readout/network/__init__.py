"""Plans, sets, checks and restores the settings of network cards and kernel for the handlers of a host.

`wishes.py` is the plan itself: a pure function of the machine, where threads are pinned, and what the cards can do.
`planning.py` compares it with what is set. `machine.py` and `ethtool.py` read and write. `journal.py` keeps what was
set before, `applying.py` applies, checks and reverts, and `formats.py` writes a plan for other programs.
"""
