"""Structured Streaming: ``readStream`` and ``writeStream`` of tables, exactly once with a checkpoint.

The position of a query is an *offset* (``offsets``): a snapshot, and how many of its splits were read. What lies behind
a position comes from ``StreamScan`` of the table (``snapshots``), micro-batches are cut by the limits of the options
(``admission``), and tasks read splits (``reader``). The sink commits each micro-batch under the id of the query and the
number of the batch (``writer``, ``commit_users``).
"""
