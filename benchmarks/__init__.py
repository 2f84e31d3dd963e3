"""`make bench`: what bertlens costs, beside the peer that does the same work, measured in the same run.

One file per group of rows; each has `rows()`, which yields a `Row` (rows.py) as soon as it is measured.
"""
