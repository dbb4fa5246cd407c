"""Saves arrays that are distributed over the ranks of a job to one HDF5 file, and restores them on any ranks.

`docs/checkpoint.md` explains it.
"""

from thalweg.checkpoint.blocks import Block
from thalweg.checkpoint.restore import State, restore
from thalweg.checkpoint.save import SaveReport, SavingInBackground, save, save_async

__all__ = ["Block", "SaveReport", "SavingInBackground", "State", "restore", "save", "save_async"]

for _each in (Block, SaveReport, SavingInBackground, State, restore, save, save_async):
    _each.__module__ = "thalweg.checkpoint"
