"""Writes the files of a format table.

A file is encoded in memory and appears as a whole, under a name that no other file has. All rows are encoded before the
first file appears. What does not fit in memory waits in the hidden directory ``_temporary``.

Order of effects of ``overwrite``: 1 the old files are listed  2 the new files appear  3 the old files are deleted. A
process that dies in between leaves old and new rows; the same call again leaves the new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from table_format.format_table.directories import Directories
from table_format.format_table.files import Files
from table_format.io.file_io import FileIO
from table_format.kernels.values import values_of
from table_format.limits import MIB
from table_format.model.arrow_calls import arrow_array
from table_format.model.schema import TableSchema
from table_format.model.types import InternalValue
from table_format.options.merge import MergeOptions
from table_format.runtime import Ids
from table_format.table.rows.input import Rows, batches_of, reader_of
from table_format.table.rows.validate import RowRules

_MOST_IN_MEMORY = 256 * MIB
Partition = tuple[InternalValue, ...]


@dataclass(slots=True)
class NewFiles:
    """Encoded files that nobody sees yet. ``partitions`` are the values of the partition columns of their rows."""

    io: FileIO
    root: str
    ids: Ids
    partitions: set[Partition] = field(default_factory=set)
    _encoded: list[tuple[str, bytes | str]] = field(default_factory=list)
    _in_memory: int = 0
    _waiting: str | None = None

    def add(self, path: str, data: bytes) -> None:
        """Add a file."""
        if self._in_memory + len(data) <= _MOST_IN_MEMORY:
            self._in_memory += len(data)
            self._encoded.append((path, data))
            return
        if self._waiting is None:
            self._waiting = f"{self.root}/_temporary/{self.ids.uuid()}"
        place = f"{self._waiting}/{len(self._encoded)}"
        self.io.create(place, data)
        self._encoded.append((path, place))

    def publish(self) -> tuple[str, ...]:
        """Make the files visible. If one of them cannot be written, none of them stays. Raises ``OSError``."""
        paths = [path for path, _ in self._encoded]
        try:
            for path, data in self._encoded:
                self.io.create(path, self.io.read(data) if isinstance(data, str) else data)
        except BaseException:
            for path in paths:
                self.io.delete(path)
            raise
        return tuple(paths)

    def forget(self) -> None:
        """Delete what waits."""
        if self._waiting is not None:
            self.io.delete_tree(self._waiting)
            self.io.delete_empty_directory(f"{self.root}/_temporary")


def encode_rows(
    data: Rows, table: TableSchema, directories: Directories, files: Files, ids: Ids, new: NewFiles
) -> None:
    """Check and encode rows.

    Raises:
        InvalidData: the columns are not those of the table, or a value does not fit.
    """
    rules = RowRules(table, MergeOptions())
    reader = reader_of(data, table.fields)
    rules.check_columns(reader.schema.names)
    pending: dict[Partition, list[pa.RecordBatch]] = {}
    sizes: dict[Partition, int] = {}
    writer = ids.uuid()
    number = 0

    def close(partition: Partition) -> None:
        nonlocal number
        directory = "/".join(part for part in (directories.root, directories.of_partition(partition)) if part)
        new.add(f"{directory}/data-{writer}-{number}{files.extension}", files.encoded(pending.pop(partition)))
        new.partitions.add(partition)
        number += 1
        del sizes[partition]

    for before, batch in batches_of(reader):
        for partition, rows in _by_partition(rules.conform(batch, first_row=before), table):
            pending.setdefault(partition, []).append(rows)
            sizes[partition] = sizes.get(partition, 0) + rows.nbytes
            if sizes[partition] >= files.options.target_file_bytes:
                close(partition)
        while sum(sizes.values()) > _MOST_IN_MEMORY:
            close(max(sizes, key=lambda partition: sizes[partition]))
    for partition in list(pending):
        close(partition)


def _by_partition(rows: pa.RecordBatch, table: TableSchema) -> Iterator[tuple[Partition, pa.RecordBatch]]:
    """Yield the rows of each partition, without the partition columns."""
    stored = [f.name for f in table.fields if f.name not in table.partition_keys]
    keys = table.partition_fields
    if not keys:
        yield (), rows
        return
    codes = np.zeros(rows.num_rows, np.int64)
    for key in keys:
        encoded = rows.column(key.name).dictionary_encode(null_encoding="encode")
        own = encoded.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(codes * len(encoded.dictionary) + own, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    for places in _runs(order, codes[order]):
        group = rows.take(arrow_array(places))
        yield tuple(values_of(group.column(key.name).slice(0, 1), key.type)[0] for key in keys), group.select(stored)


def _runs(order: np.ndarray, codes: np.ndarray) -> Sequence[np.ndarray]:
    return np.split(order, np.flatnonzero(np.diff(codes)) + 1) if len(order) else ()
