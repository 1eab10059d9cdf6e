"""Writes the files of a format table.

A file is encoded in memory and appears as a whole, under a name that no other file has. All rows are encoded before the
first file appears. What does not fit in memory waits in the hidden directory ``_temporary``.

Order of effects of ``overwrite``: 1 the old files are listed  2 the new files appear  3 the old files are deleted. A
process that dies in between leaves old and new rows; the same call again leaves the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.format_table.directories import Directories, PartitionDirectory
from table_format.format_table.files import Files
from table_format.io.file_io import FileIO
from table_format.io.regular_files import opened_file
from table_format.kernels.values import values_of
from table_format.limits import MIB
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.model.arrow_calls import arrow_array
from table_format.model.schema import TableSchema
from table_format.model.types import InternalValue
from table_format.options.merge import MergeOptions
from table_format.runtime import Ids
from table_format.table.rows.input import Rows, batches_of, reader_of
from table_format.table.rows.validate import RowRules

_MOST_IN_MEMORY: Final = 256 * MIB
Partition: TypeAlias = tuple[InternalValue, ...]
Replaced: TypeAlias = PartitionSpec | Literal["partitions of the rows"] | None
"""What a write replaces: partitions with these values, all if there are none, those of the new rows, or nothing."""


class EncodedFile(NamedTuple):
    """A file that is not written yet. ``directory`` is that of its partition, below the table."""

    directory: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FormatWrite:
    """Writes to one table. Tasks of an engine may encode rows; one process publishes their files."""

    table: TableSchema
    io: FileIO
    directories: Directories
    files: Files
    ids: Ids

    def encode(self, data: Rows, *, inside: PartitionSpec | None = None) -> Iterator[EncodedFile]:
        """Check and encode rows. With ``inside``, they must belong to partitions with these values.

        Raises:
            InvalidData: the columns are not those of the table, or a value does not fit.
        """
        rules = RowRules(self.table, MergeOptions())
        reader = reader_of(data, self.table.fields)
        rules.check_columns(reader.schema.names)
        pending: dict[Partition, list[pa.RecordBatch]] = {}
        sizes: dict[Partition, int] = {}
        names = (f"data-{self.ids.uuid()}-{number}{self.files.extension}" for number in count())
        for before, batch in batches_of(reader):
            for partition, rows in _by_partition(rules.conform(batch, first_row=before), self.table):
                self._check(partition, inside or {})
                pending.setdefault(partition, []).append(rows)
                sizes[partition] = sizes.get(partition, 0) + rows.nbytes
            full = [p for p, size in sizes.items() if size >= self.files.options.target_file_bytes]
            if sum(sizes.values()) > _MOST_IN_MEMORY:
                full.append(max(sizes, key=lambda p: sizes[p]))
            for partition in dict.fromkeys(full):
                del sizes[partition]
                yield self._encoded(partition, pending.pop(partition), next(names))
        for partition, batches in pending.items():
            yield self._encoded(partition, batches, next(names))

    def publish(self, encoded: Iterable[EncodedFile], replaced: Replaced = None) -> tuple[str, ...]:
        """Write files, then delete what they replace. Return the paths of the new files.

        Raises:
            OSError: the store failed. What exists stays, and no new file is left, unless deleting failed.
        """
        new = NewFiles(self.io, self.directories.root, self.ids)
        directories = set()
        try:
            for file in encoded:
                directories.add(file.directory)
                new.add("/".join(part for part in (new.root, file.directory, file.name) if part), file.data)
            old = [path for each in self._replaced(replaced, directories) for path in self.directories.files(each.path)]
            paths = new.publish()
        finally:
            new.forget()
        for path in old:
            self.io.delete(path)
        return paths

    def _replaced(self, replaced: Replaced, new: set[str]) -> Iterator[PartitionDirectory]:
        if replaced is None:
            return
        for found in self.directories.find():
            if replaced == "partitions of the rows":
                if not self.table.partition_keys or self.directories.of_partition(found.values) in new:
                    yield found
            elif self.directories.is_in(found.values, replaced):
                yield found

    def _check(self, partition: Partition, spec: PartitionSpec) -> None:
        if not self.directories.is_in(partition, spec):
            wanted = ", ".join(f"{key}={value!r}" for key, value in spec.items())
            found = self.directories.of_partition(partition)
            message = f"a row belongs to the partition {found}, and only {wanted} is overwritten; write it separately"
            raise InvalidData(message)

    def _encoded(self, partition: Partition, batches: Sequence[pa.RecordBatch], name: str) -> EncodedFile:
        return EncodedFile(self.directories.of_partition(partition), name, self.files.encoded(batches))


@dataclass(slots=True)
class NewFiles:
    """Encoded files that nobody sees yet."""

    io: FileIO
    root: str
    ids: Ids
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
                self.io.create(path, self._waited(data) if isinstance(data, str) else data)
        except BaseException:
            for path in paths:
                self.io.delete(path)
            raise
        return tuple(paths)

    def _waited(self, place: str) -> bytes:
        with opened_file(self.io, place) as source:
            data: bytes = source.read()
        return data

    def forget(self) -> None:
        """Delete what waits."""
        if self._waiting is not None:
            self.io.delete_tree(self._waiting)
            self.io.delete_empty_directory(f"{self.root}/_temporary")


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
