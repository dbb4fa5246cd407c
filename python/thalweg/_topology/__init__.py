"""Runs `thalweg topology`: measures the latency between cores, and plans where ranks run.

`matrix.py` measures, `clusters.py` groups near cores, `plan.py` places ranks, and `picture.py` draws.
"""
