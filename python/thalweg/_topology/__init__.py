"""How far cores are from each other, measured, and a plan for ranks: what `thalweg topology` does.

`matrix.py` measures, `clusters.py` finds which cores are near, `plan.py` places ranks, `picture.py` draws.
"""
