"""Reading: filters and time travel choose a snapshot and its files, a plan cuts them into splits, splits give batches.

Incremental and streaming reads plan the files that successive snapshots added, or their changelog files.
"""
