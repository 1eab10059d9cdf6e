"""Sorts more rows than fit in memory: writes sorted runs to disk and merges them (Java ``BinaryExternalSortBuffer``).

Rows are collected up to a number of bytes, sorted, and written to an Arrow file; the merge holds one small batch of
each run. Rows that fit into the first buffer are never written to disk. The files are in a temporary directory, which
is deleted with the sort, also after an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import pyarrow as pa

from table_format.kernels.merge import merge_steps
from table_format.kernels.sort import sort_order
from table_format.kernels.sort_keys import sort_columns, without_sort_key
from table_format.model.arrow_calls import concat_batches

MAX_FAN_IN: Final = 64
"""Runs merged at once; more are merged in groups first, which become runs themselves."""

_MAX_BUFFER_BYTES: Final = 1 << 30
"""One Arrow array of strings holds 2 GiB at most."""

_COMPRESSION: Final = "lz4"

AddKey: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]


class ExternalSort:
    """``with ExternalSort(add_key) as rows: rows.add(batch); rows.sorted()``.

    ``add_key`` appends the columns of the sort key (``kernels.sort_keys``); the result does not have them.
    ``buffer_bytes`` is about the memory of the whole sort. The temporary directory is created in ``directory``; by
    default, in that of the system.
    """

    def __init__(self, add_key: AddKey, *, buffer_bytes: int, directory: str | None = None) -> None:
        self._add_key = add_key
        # Sorting needs the rows twice.
        self._capacity = max(min(buffer_bytes, _MAX_BUFFER_BYTES) // 2, 1)
        self._parent = directory
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._columns: Sequence[str] = ()
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._runs: list[Path] = []
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._directory is not None:
            self._directory.cleanup()

    @property
    def runs_written(self) -> int:
        """Files written so far; none while everything fits in memory."""
        return self._written

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows. Raises ``OSError`` if the disk is full."""
        if not batch.num_rows:
            return
        keyed = self._add_key(batch)
        self._columns = sort_columns(keyed)
        self._waiting.append(keyed)
        self._bytes += keyed.nbytes
        if self._bytes >= self._capacity:
            self._runs.append(self._spilled(self._sorted_buffer()))

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """All rows in order, once; raises ``OSError``."""
        if not self._runs:
            yield from map(without_sort_key, self._sorted_buffer())
            return
        if self._waiting:
            self._runs.append(self._spilled(self._sorted_buffer()))
        while len(self._runs) > MAX_FAN_IN:
            group, self._runs = self._runs[:MAX_FAN_IN], self._runs[MAX_FAN_IN:]
            self._runs.append(self._spilled(self._merged(group)))
            for path in group:
                path.unlink()
        yield from map(without_sort_key, self._merged(self._runs))

    def _sorted_buffer(self) -> Iterator[pa.RecordBatch]:
        if not self._waiting:
            return
        rows = concat_batches(self._waiting)
        self._waiting, self._bytes = [], 0
        yield rows.take(sort_order(rows, self._columns))

    def _spilled(self, batches: Iterable[pa.RecordBatch]) -> Path:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="table-format-sort-", dir=self._parent)
        path = Path(self._directory.name) / f"run-{self._written}.arrow"
        self._written += 1
        with ExitStack() as stack:
            writer: pa.ipc.RecordBatchStreamWriter | None = None
            for batch in batches:
                if writer is None:
                    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
                    writer = stack.enter_context(pa.ipc.new_stream(str(path), batch.schema, options=options))
                # The merge holds one batch of each run.
                step = max(batch.num_rows * self._capacity // (MAX_FAN_IN * max(batch.nbytes, 1)), 1)
                for start in range(0, batch.num_rows, step):
                    writer.write_batch(batch.slice(start, step))
        return path

    def _merged(self, runs: Sequence[Path]) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            streams = [stack.enter_context(closing(_batches(path))) for path in runs]
            for parts in merge_steps(streams, self._columns):
                rows = concat_batches(parts)
                yield rows.take(sort_order(rows, self._columns)) if len(parts) > 1 else rows


def _batches(path: Path) -> Generator[pa.RecordBatch]:
    with pa.OSFile(str(path), "r") as source, pa.ipc.open_stream(source) as reader:
        yield from reader
