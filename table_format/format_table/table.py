"""The class ``FormatTable``: a directory of files of one format that is a table of a catalog (Java ``FormatTable``)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa

from table_format.errors import InvalidInputError, MetastoreUnavailable, UnsupportedFeature
from table_format.format_table.directories import Directories
from table_format.format_table.files import Files
from table_format.format_table.scan import FormatScan
from table_format.format_table.write import EncodedFile, FormatWrite, Replaced
from table_format.io.file_io import FileIO
from table_format.io.partition_list import PartitionList
from table_format.io.stores import uri_in_store
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.identifier import Identifier
from table_format.model.schema import TableSchema, columns_text
from table_format.options.format_table import FormatTableOptions, parse_options
from table_format.runtime import Runtime
from table_format.table.read.order_by import row_limit
from table_format.table.read.scan import columns_argument
from table_format.table.rows.input import Rows
from table_format.table.rows.partition_values import partition_spec, rows_of_partition, written_partition
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

WHAT_IT_IS: Final = (
    "it is a directory of plain files without snapshots, which can be scanned, appended to and overwritten"
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class FormatTable:
    """A loaded format table; can be pickled. Get one from ``Catalog.load_table`` of a catalog in a Hive metastore.

    Its partitions are the directories that exist when it is read, such as ``dt=2026-01-01``. Files whose names start
    with ``_`` or a dot are never read.
    """

    identifier: Identifier
    io: FileIO
    root: str
    schema: TableSchema
    runtime: Runtime
    partitions: PartitionList | None = None

    def __repr__(self) -> str:
        parts = [f"{self.identifier}, {self.options.file_format}: {columns_text(self.schema.fields)}"]
        if self.schema.partition_keys:
            parts.append(f"partitioned by: {', '.join(self.schema.partition_keys)}")
        return f"FormatTable({'; '.join(parts)})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if not name.startswith("_") and hasattr(Table, name):
                raise refused(str(self.identifier), f"'{name}'")
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)

    @property
    def location(self) -> str:
        """The directory of the table: a path, or a URI if it is in an object store."""
        return uri_in_store(self.io, self.root)

    @cached_property
    def options(self) -> FormatTableOptions:
        """What the files look like.

        Raises:
            InvalidOption, UnsupportedFeature: an option of the entry is malformed or not supported.
        """
        return parse_options(self.schema.options)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema, as ``append`` takes and ``scan`` returns them."""
        return arrow_schema(self.schema.fields)

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """The names of the partition columns, which are directories and not in files."""
        return self.schema.partition_keys

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
        *,
        limit: int | None = None,
    ) -> FormatScan:
        """Scan some columns (by default all) and the rows that a filter selects, at most ``limit``; see ``Table.scan``.

        >>> table.scan(["id"], "dt = '2026-01-01'").to_arrow()  # doctest: +SKIP

        Raises:
            ColumnNotFound: a column does not exist. InvalidInputError: the limit is negative.
            InvalidOption, UnsupportedFeature: an option of the table is malformed or not supported, or there are
            ``options``, which only data tables have.
        """
        refuse_arguments(self, {"time travel or dynamic options": options or None})
        names = columns_argument(columns)
        self.schema.select(names or ())
        return FormatScan(
            str(self.identifier), self.schema, self._directories, self._files, names, filter, row_limit(None, limit)
        )

    def list_partitions(self, partition: Mapping[str, object] | None = None) -> tuple[str, ...]:
        """Return the directories of the partitions that exist, sorted: all, or those with some values.

        >>> table.list_partitions()  # doctest: +SKIP
        ('dt=2026-01-01', 'dt=2026-01-02')

        Raises:
            InvalidInputError: the table has no such partition column, or none at all.
        """
        if not self.schema.partition_keys:
            message = f"'{self.identifier}' has no partition columns"
            raise InvalidInputError(message)
        spec = partition_spec(self.schema, partition or {})
        chosen = (each for each in self._directories.find() if self._directories.is_in(each.values, spec))
        return tuple(sorted(each.path.removeprefix(f"{self.root}/") for each in chosen))

    def append(self, data: Rows) -> tuple[str, ...]:
        """Write rows to new files, and return their paths. Each file appears as a whole, after all rows were checked.

        >>> table.append(pa.table({"id": [1], "dt": ["2026-01-01"]}))  # doctest: +SKIP
        ('/warehouse/shop.db/clicks/dt=2026-01-01/data-6f...-0.csv',)

        Raises:
            InvalidData: a column or a value does not fit. OSError: the store failed; no new file is left.
        """
        return self.publish(self.new_write().encode(data))

    def overwrite(self, data: Rows, *, partition: Mapping[str, object] | None = None) -> tuple[str, ...]:
        """Write rows, then delete the files that were there: in ``partition``, given by values of partition columns,
        which the rows may lack. Without ``partition``, those in the partitions of the new rows, or all files of a table
        without partitions.

        The new files appear before the old ones are deleted. A process that dies in between leaves both; repeat the
        call.

        Raises:
            InvalidInputError: a row, or a value of ``partition``, does not fit. OSError: the store failed.
        """
        if partition is None:
            return self.publish(self.new_write().encode(data), "partitions of the rows")
        spec = written_partition(self.schema, partition)
        rows = rows_of_partition(data, self.schema, partition)
        return self.publish(self.new_write().encode(rows, inside=spec), spec)

    def new_write(self) -> FormatWrite:
        """Start a write whose rows are encoded by tasks of an engine. ``publish`` makes their files visible."""
        return FormatWrite(self.schema, self.io, self._directories, self._files, self.runtime.ids)

    def publish(self, encoded: Iterable[EncodedFile], replaced: Replaced = None) -> tuple[str, ...]:
        """Write encoded files, delete what they replace, and list their partitions in the catalog.

        Raises:
            OSError: the store failed; see ``append`` and ``overwrite``.
        """
        listed = set()

        def noted() -> Iterator[EncodedFile]:
            for file in encoded:
                listed.add(file.directory)
                yield file

        paths = self.new_write().publish(noted(), replaced)
        self._list(sorted(listed))
        return paths

    # --- parts ------------------------------------------------------------------------------------------------------

    @cached_property
    def _directories(self) -> Directories:
        return Directories(self.io, self.root, self.schema.partition_fields, self.options)

    @cached_property
    def _files(self) -> Files:
        stored = tuple(f for f in self.schema.fields if f.name not in self.schema.partition_keys)
        return Files(self.io, stored, self.options)

    def _list(self, partitions: Sequence[str]) -> None:
        """List new partitions for other engines. The rows are there in any case."""
        if self.partitions is None or not partitions or not self.schema.partition_keys:
            return
        if self.options.only_values_in_path:
            return  # Hive finds no columns in such names
        try:
            self.partitions.add(partitions)
        except MetastoreUnavailable as error:
            _log.warning("partitions of '%s' are not listed, so Hive does not see them: %s", self.identifier, error)


def refused(name: str, what: str | None = None) -> UnsupportedFeature:
    """Return the error for an operation that a format table does not have. ``what`` is what it would need.

    >>> print(refused("shop.clicks", "tags"))
    'shop.clicks' is a format table, which does not have tags: it is a directory of plain files without \
snapshots, which can be scanned, appended to and overwritten
    """
    feature = f"{what or 'this operation'} on a format table"
    reason = "" if what is None else f", which does not have {what}"
    return UnsupportedFeature(feature, f"'{name}' is a format table{reason}: {WHAT_IT_IS}")


def no_format_table(opened: Table | SystemTable | FormatTable, what: str | None = None) -> Table | SystemTable:
    """Return what was loaded, unless it is a format table. ``what`` is what it does not have.

    Raises:
        UnsupportedFeature: it is a format table.
    """
    if isinstance(opened, FormatTable):
        raise refused(str(opened.identifier), what)
    return opened


def refuse_arguments(table: FormatTable, given: Mapping[str, object | None]) -> None:
    """Refuse arguments that only data tables have; those that are ``None`` are not given.

    Raises:
        UnsupportedFeature: names one that is given.
    """
    for name, value in given.items():
        if value is not None:
            raise refused(str(table.identifier), name)
