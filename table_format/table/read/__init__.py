"""Reads: filters and time travel choose a snapshot and its files, a plan divides them into splits, splits yield
batches.

Incremental and streaming reads plan the files that successive snapshots added, or their changelog files.
"""
