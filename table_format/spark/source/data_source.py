"""``spark.read.format("paimon").load(path)`` and ``df.write.format("paimon").mode(...).save(path)``; also as streams.

The façade for code that wants Spark's own reader and writer calls; ``path`` is the directory of a table, or an option
``table`` names it in a ``warehouse``. Spark gives a Python data source neither a shuffle before writing nor column
pruning, and the filters that it pushes are not safe to prune by; ``Lake.write`` and ``Lake.table`` have all of that. So
nothing is compacted here, and tables whose modes need that are written with ``write-only`` = true or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from pyspark.sql import datasource
from pyspark.sql.types import StructType

from table_format.errors import InvalidInputError, SnapshotNotFound, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.options.spark_stream import READ_CHANGELOG
from table_format.options.unread import Reader, refuse_unread
from table_format.spark.source.entries import entry_schema, is_of_entry, options_of, target_options
from table_format.spark.source.places import Place
from table_format.spark.source.read_schema import check_read_schema
from table_format.spark.source.reader import PaimonReader
from table_format.spark.source.system_reader import system_source
from table_format.spark.source.targets import check_writable, target_of
from table_format.spark.source.time_travel import refuse_time_travel
from table_format.spark.source.writer import PaimonWriter
from table_format.spark.stream.commit_users import user_of_checkpoint
from table_format.spark.stream.reader import PaimonStreamReader
from table_format.spark.stream.shown import shown_fields, with_row_kind
from table_format.spark.stream.writer import PaimonStreamWriter
from table_format.spark.types import spark_schema
from table_format.spark.write.frames import check_frame
from table_format.table.facts import TableFacts
from table_format.table.read.scan import shown_schema
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


def _table(options: Mapping[str, str]) -> Table:
    """The table that a read names."""
    place = Place.of(options)
    table = place.catalog.load_any(place.name)
    if isinstance(table, SystemTable):
        message = f"'{place.name}' is a system table; read it as a batch"
        raise InvalidInputError(message)
    return table.copy(place.dynamic)


class PaimonDataSource(datasource.DataSource):
    """Registered as ``paimon``, in the form that ``data_source`` gives it."""

    parallelism: ClassVar[int] = os.cpu_count() or 1
    """How many tasks run side by side. The process that plans a read sees no session to ask."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format("paimon")``."""
        return "paimon"

    @cached_property
    def _opened(self) -> Table:
        return _table(self.options)

    def schema(self) -> StructType:
        """The columns of the table, or of the snapshot that the options name, in types of Spark.

        With ``read.changelog`` the row kind comes first, as streaming queries show it.
        """
        system = system_source(self.options)
        if system is not None:
            return system.schema()
        facts = self._opened.facts
        shown = with_row_kind(facts, spark_schema(self._shown(facts).fields))
        return entry_schema(shown, self.options["path"]) if is_of_entry(self.options) else shown

    @staticmethod
    def _shown(facts: TableFacts) -> TableSchema:
        try:
            return shown_schema(facts)
        except SnapshotNotFound:
            # A stream may begin with a snapshot to come. A batch read fails when it is planned.
            return facts.schema

    def _named_by(self, schema: StructType) -> Table:
        """The table of the options, or the one that an entry of the session catalog names in its columns."""
        options = options_of(self.options, schema)
        return self._opened if options == dict(self.options) else _table(options)

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """A reader of those columns.

        Raises:
            InvalidInputError: a schema of the user's own does not fit the table.
        """
        system = system_source(self.options)
        if system is not None:
            return system.reader(schema)
        table = self._named_by(schema)
        if table.options.spark_stream.read_changelog:
            feature = f"{READ_CHANGELOG.key} of a batch read"
            raise UnsupportedFeature(feature, f"{feature} is not supported; read '{table.identifier}$audit_log'")
        refuse_unread(table.dynamic_options, Reader.BATCH)
        check_read_schema(schema, shown_schema(table.facts).fields)
        return PaimonReader(table, schema, parallelism=self.parallelism)

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:  # noqa: FBT001
        """A writer of one job.

        Raises:
            UnsupportedFeature: the table cannot be written this way.
            InvalidData: the columns do not fit the table.
        """
        refuse_time_travel(self.options, "a write", "leave it out")
        target = target_of(Place.of(target_options(self.options, schema)), schema)
        return PaimonWriter(target.table, overwrite=overwrite, made_at=target.made_at)

    def streamReader(self, schema: StructType) -> PaimonStreamReader:
        """A reader of the changes of the table, in its present columns.

        Raises:
            InvalidInputError: a schema of the user's own does not fit the table.
            UnsupportedFeature: the changes of the table cannot be read as rows.
        """
        refuse_time_travel(
            self.options, "a stream", "use 'scan.mode' with 'scan.snapshot-id' or 'scan.timestamp-millis'"
        )
        table = self._named_by(schema)
        refuse_unread(table.dynamic_options, Reader.SPARK_STREAM)
        check_read_schema(schema, shown_fields(table.facts, schema.names))
        return PaimonStreamReader(table.facts, schema, parallelism=self.parallelism)

    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimonStreamWriter:  # noqa: FBT001
        """A writer of one micro-batch; ``overwrite`` lets it take the place of all rows.

        Raises:
            UnsupportedFeature: the table cannot be written this way, or ``toTable`` names it.
            InvalidInputError: the query has no checkpoint of its own.
            InvalidData: the columns do not fit the table.
        """
        if "path" not in self.options and "table" not in self.options:
            feature = "writeStream.toTable"
            message = (
                f"{feature} is not supported: Spark does not say which table of its catalog is written; use "
                "lake.write_stream, or start(path) with the directory of the table"
            )
            raise UnsupportedFeature(feature, message)
        refuse_time_travel(self.options, "a write", "leave it out")
        table = _table(self.options).current()
        refuse_unread(table.dynamic_options, Reader.WRITE)
        check_writable(table)
        check_frame(schema, table.facts)
        return PaimonStreamWriter(table, user_of_checkpoint(self.options), replacing=overwrite)


def data_source(parallelism: int) -> type[PaimonDataSource]:
    """The data source as a session registers it in which so many tasks run side by side."""
    own = {"parallelism": parallelism, "__module__": __name__, "__doc__": PaimonDataSource.__doc__}
    return type(PaimonDataSource.__name__, (PaimonDataSource,), own)
