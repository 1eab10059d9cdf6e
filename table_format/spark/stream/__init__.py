"""Structured Streaming: ``readStream`` and ``writeStream`` of tables, exactly once with a checkpoint.

The position of a query is an *offset* (``offsets``): a snapshot, and how many of its splits were read. ``StreamScan``
of the table plans the snapshots after a position (``snapshots``), the limits of the options determine the size of
micro-batches (``admission``), and tasks read splits (``reader``). The sink commits each micro-batch with the id of the
query and the number of the micro-batch (``writer``, ``commit_users``).
"""
