"""The class ``FormatTable``: a directory of files of one format that is a table of a catalog (Java ``FormatTable``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa

from table_format.errors import InvalidData, MetastoreUnavailable, UnsupportedFeature
from table_format.format_table.directories import Directories, PartitionDirectory
from table_format.format_table.files import Files
from table_format.format_table.scan import FormatScan
from table_format.format_table.write import NewFiles, Partition, encode_rows
from table_format.io.file_io import FileIO
from table_format.io.partition_list import PartitionList
from table_format.io.stores import uri_in_store
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.identifier import Identifier
from table_format.model.schema import TableSchema, columns_text
from table_format.options.format_table import FormatTableOptions, parse_options
from table_format.runtime import Runtime
from table_format.table.read.order_by import row_limit
from table_format.table.read.scan import columns_argument
from table_format.table.rows.input import Rows
from table_format.table.rows.partition_values import rows_of_partition, written_partition
from table_format.table.table import Table

WHAT_IT_IS: Final = (
    "a format table is a directory of plain files, which has no snapshots: it can be scanned, appended to and "
    "overwritten"
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
        self, columns: Sequence[str] | None = None, filter: Filter | None = None, *, limit: int | None = None
    ) -> FormatScan:
        """Scan some columns (by default all) and the rows that a filter selects, at most ``limit``; see ``Table.scan``.

        >>> table.scan(["id"], "dt = '2026-01-01'").to_arrow()  # doctest: +SKIP

        Raises:
            ColumnNotFound: a column does not exist. InvalidInputError: the limit is negative.
            InvalidOption, UnsupportedFeature: an option of the table is malformed or not supported.
        """
        names = columns_argument(columns)
        self.schema.select(names or ())
        return FormatScan(
            str(self.identifier), self.schema, self._directories, self._files, names, filter, row_limit(None, limit)
        )

    def append(self, data: Rows) -> tuple[str, ...]:
        """Write rows to new files, and return their paths. Each file appears as a whole, after all rows were checked.

        >>> table.append(pa.table({"id": [1], "dt": ["2026-01-01"]}))  # doctest: +SKIP
        ('/warehouse/shop.db/clicks/dt=2026-01-01/data-6f...-0.csv',)

        Raises:
            InvalidData: a column or a value does not fit. OSError: the store failed; no new file is left.
        """
        return self._write(data, [])

    def overwrite(self, data: Rows, *, partition: Mapping[str, object] | None = None) -> tuple[str, ...]:
        """Write rows, then delete the files that were there: in ``partition``, given by values of partition columns,
        which the rows may lack. Without ``partition``, those in the partitions of the new rows, or all files of a table
        without partitions.

        The new files appear before the old ones are deleted. A process that dies in between leaves both; repeat the
        call.

        Raises:
            InvalidInputError: a row, or a value of ``partition``, does not fit. OSError: the store failed.
        """
        if partition is not None:
            spec = written_partition(self.schema, partition)
            rows = rows_of_partition(data, self.schema, partition)
            return self._write(rows, self._matching(spec), inside=spec)
        return self._write(data, [] if self.schema.partition_keys else list(self._directories.find()), replaces=True)

    # --- parts ------------------------------------------------------------------------------------------------------

    @cached_property
    def _directories(self) -> Directories:
        return Directories(self.io, self.root, self.schema.partition_fields, self.options)

    @cached_property
    def _files(self) -> Files:
        stored = tuple(f for f in self.schema.fields if f.name not in self.schema.partition_keys)
        return Files(self.io, stored, self.options)

    def _matching(self, spec: PartitionSpec) -> list[PartitionDirectory]:
        """Return the existing directories of the partitions with these values."""
        return [found for found in self._directories.find() if self._is_in(spec, found.values)]

    def _is_in(self, spec: PartitionSpec, values: Partition) -> bool:
        of_row = dict(zip(self.schema.partition_keys, values, strict=True))
        return all(of_row[key] == value for key, value in spec.items())

    def _write(
        self,
        data: Rows,
        replaced: Sequence[PartitionDirectory],
        *,
        replaces: bool = False,
        inside: PartitionSpec | None = None,
    ) -> tuple[str, ...]:
        new = NewFiles(self.io, self.root, self.runtime.ids)
        try:
            encode_rows(data, self.schema, self._directories, self._files, self.runtime.ids, new)
            if not all(self._is_in(inside or {}, values) for values in new.partitions):
                message = f"rows of other partitions than the one that is overwritten ({inside}); write them by themselves"
                raise InvalidData(message)
            if replaces and self.schema.partition_keys:
                replaced = [found for found in self._directories.find() if found.values in new.partitions]
            old = [path for found in replaced for path in self._directories.files(found.path)]
            paths = new.publish()
        finally:
            new.forget()
        for path in old:
            self.io.delete(path)
        self._list(sorted(self._directories.of_partition(values) for values in new.partitions))
        return paths

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


def refused(name: str, what: str) -> UnsupportedFeature:
    """Return the error for an operation that a format table does not have.

    >>> print(refused("shop.clicks", "tags"))
    'shop.clicks' is a format table, which does not have tags: a format table is a directory of plain files, which has \
no snapshots: it can be scanned, appended to and overwritten
    """
    feature = f"{what} of a format table"
    message = f"'{name}' is a format table, which does not have {what}: {WHAT_IT_IS}"
    return UnsupportedFeature(feature, message)


def data_table(opened: object, what: str) -> None:
    """Refuse a format table where a data table is needed. ``what`` is what it does not have.

    Raises:
        UnsupportedFeature: it is a format table.
    """
    if isinstance(opened, FormatTable):
        raise refused(str(opened.identifier), what)
