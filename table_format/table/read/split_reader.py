"""Reads the rows of splits, in the task of an engine or in parallel within one process.

A split is read from picklable facts only. In parallel, a thread decodes each split into a short queue (Arrow releases
the GIL), and rows are returned in the order of the splits.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Queue
from threading import Event
from typing import Final, TypeVar

import pyarrow as pa

from table_format.formats.data_file_reader import DataFileReader
from table_format.indexes.deletion_vectors import vectors_of
from table_format.io.table_store import TableStore
from table_format.lsm.merge_read import read_bucket, read_raw
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit, SplitContent
from table_format.model.types import DataField
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning
from table_format.table.read.changelog_rows import read_rows

_Split = TypeVar("_Split")

MAX_THREADS: Final = 8
"""Splits read in parallel at most. Each holds a few decoded batches."""

_BATCHES_AHEAD: Final = 4
_PATIENCE_SECONDS: Final = 0.01


def read_split(
    store: TableStore,
    schemas: Mapping[int, TableSchema],
    read_schema: TableSchema,
    options: TableOptions,
    split: DataSplit,
    fields: Sequence[DataField],
    pruning: Pruning | None = None,
    *,
    rewriting: bool = False,
) -> Generator[pa.RecordBatch]:
    """Return the rows of a split that the filter selects, with exactly ``fields``.

    ``schemas`` holds, by id, the schemas of its files. ``read_schema`` is the schema of the result. Set ``rewriting``
    if the rows are written back.

    Raises:
        CorruptionError: a file is missing or damaged.
        UnsupportedFeature: a file has a format that this version cannot read, or the split must be merged in a way
            that it cannot.
        SchemaChanged: a file was written under a newer schema, and values would be lost.
    """
    if split.content is not SplitContent.STATE:
        yield from read_rows(store, schemas, read_schema, options, split, fields, pruning)
        return
    reader = DataFileReader(store, schemas, read_schema, options, rewriting=rewriting)
    deletions = vectors_of(store.io, split.files, split.deletion_files)
    if split.raw_convertible:
        yield from read_raw(
            reader,
            split.partition,
            split.bucket,
            split.files,
            read_schema,
            fields,
            pruning,
            deletions,
            selections=split.selections,
        )
    else:
        yield from read_bucket(
            reader,
            split.partition,
            split.bucket,
            split.files,
            read_schema,
            options,
            fields,
            pruning,
            deletions=deletions,
        )


def read_in_order(
    splits: Sequence[_Split], read: Callable[[_Split], Generator[pa.RecordBatch]], *, threads: int | None = None
) -> Generator[pa.RecordBatch]:
    """The rows of all splits, in their order; ``threads`` of 1 reads on the caller's thread."""
    width = min(len(splits), threads or min(MAX_THREADS, os.cpu_count() or 1))
    if width <= 1:
        for split in splits:
            yield from read(split)
        return
    waiting = deque(splits)
    running: deque[_Ahead] = deque()
    with ThreadPoolExecutor(width, "read") as pool:
        try:
            while waiting or running:
                while waiting and len(running) < width:
                    running.append(_Ahead(read(waiting.popleft()), pool))
                yield from running[0].rows()
                running.popleft()
        finally:
            for ahead in running:
                ahead.stop()


class _Ahead:
    """A stream that a thread decodes a few batches ahead of its consumer."""

    def __init__(self, stream: Generator[pa.RecordBatch], pool: ThreadPoolExecutor) -> None:
        self._stream = stream
        self._decoded: Queue[pa.RecordBatch | None] = Queue(_BATCHES_AHEAD)
        self._stopped = Event()
        self._work = pool.submit(self._fill)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches. Errors of the stream are raised here."""
        while (batch := self._decoded.get()) is not None:
            yield batch
        self._work.result()

    def stop(self) -> None:
        """Stop the thread, which may be waiting for room in the queue or for the disk."""
        self._stopped.set()
        while not self._work.done():
            with suppress(Empty):
                self._decoded.get(timeout=_PATIENCE_SECONDS)

    def _fill(self) -> None:
        try:
            for batch in self._stream:
                if self._stopped.is_set():
                    return
                self._decoded.put(batch)
        finally:
            self._stream.close()
            self._decoded.put(None)
