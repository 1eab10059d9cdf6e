"""``spark.read.format("paimon").load(path)`` and ``df.write.format("paimon").mode(...).save(path)``; also as streams.

For code that uses Spark's own reader and writer calls. ``path`` is the directory of a table; alternatively, the options
``warehouse`` and ``table`` name it. For a Python data source, Spark neither shuffles rows before a write nor prunes
columns, and the filters that it pushes down are not safe for pruning. ``Lake.write`` and ``Lake.table`` have none of
these limits. Writes through this data source do not compact, so tables that need compaction require ``write-only`` =
true or are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import ClassVar, ParamSpec, TypeVar

from pyspark.sql import datasource
from pyspark.sql.types import StructType

from table_format.errors import InvalidInputError, TableFormatError, UnsupportedFeature
from table_format.format_table.table import no_format_table
from table_format.options.spark_stream import READ_CHANGELOG
from table_format.options.unread import Reader, refuse_unread
from table_format.spark.source.entries import entry_schema, is_of_entry, options_of, target_options
from table_format.spark.source.known_stores import Stores
from table_format.spark.source.places import Place
from table_format.spark.source.read_schema import check_read_schema
from table_format.spark.source.reader import PaimonReader
from table_format.spark.source.system_reader import system_source
from table_format.spark.source.targets import stream_target_of, target_of
from table_format.spark.source.time_travel import refuse_time_travel
from table_format.spark.source.writer import PaimonWriter
from table_format.spark.stream.commit_users import CHECKPOINT, user_of_checkpoint
from table_format.spark.stream.marked_streams import FORMAT, is_stream
from table_format.spark.stream.reader import PaimonStreamReader
from table_format.spark.stream.refused import RefusedStream
from table_format.spark.stream.shown import shown_fields, with_row_kind
from table_format.spark.stream.streamed import streamed
from table_format.spark.stream.targets import TARGET, Target
from table_format.spark.stream.writer import PaimonStreamWriter
from table_format.spark.types import spark_schema
from table_format.table.read.scan import shown_schema
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _shortly(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Leave one line of the traceback of an error of the library: Spark shows all of it, before the message."""

    @wraps(method)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(*args, **kwargs)
        except TableFormatError as error:
            raise error.with_traceback(None) from None

    return called


def _table(options: Mapping[str, str], stores: Stores) -> Table:
    """Return the table that the options of a batch read or a write name."""
    place = Place.of(options, stores)
    table = no_format_table(
        place.catalog.load_any(place.name), "reads and writes by path: use lake.table and lake.write"
    )
    if isinstance(table, SystemTable):
        message = f"'{place.name}' is a system table; read it as a batch"
        raise InvalidInputError(message)
    return table.copy(place.dynamic)


def _streamed(options: Mapping[str, str], stores: Stores) -> Table:
    """Return the table that the options of a stream name.

    Raises:
        TableFormatError: it has no stream with these options.
    """
    refuse_time_travel(options, "a stream", "use 'scan.mode' with 'scan.snapshot-id' or 'scan.timestamp-millis'")
    place = Place.of(options, stores)
    return streamed(no_format_table(place.catalog.load_any(place.name), "streams"), place.dynamic)


class PaimonDataSource(datasource.DataSource):
    """The data source ``paimon``. ``data_source`` returns the class to register."""

    parallelism: ClassVar[int] = os.cpu_count() or 1
    """How many tasks run in parallel. The process that plans a read has no session that it could ask."""
    stores: ClassVar[Stores] = {}
    """The object stores whose keys the options of a read do not contain."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format("paimon")``."""
        return FORMAT

    @cached_property
    def _opened(self) -> Table:
        return (_streamed if is_stream(self.options) else _table)(self.options, self.stores)

    @_shortly
    def schema(self) -> StructType:
        """Return the columns of the table, or of the snapshot that the options name, with Spark types.

        A stream has the current columns, and with ``read.changelog`` the row kind before them.

        Raises:
            TableFormatError: the table does not exist, or has no stream with these options.
        """
        system = None if is_stream(self.options) else system_source(self.options, self.stores)
        if system is not None:
            return system.schema()
        facts = self._opened.facts
        fields = facts.schema.fields if is_stream(self.options) else shown_schema(facts).fields
        shown = with_row_kind(facts, spark_schema(fields))
        return entry_schema(shown, self.options["path"]) if is_of_entry(self.options) else shown

    @_shortly
    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """Return a batch reader of these columns.

        Raises:
            InvalidInputError: the schema of the user does not fit the table.
        """
        system = system_source(self.options, self.stores)
        if system is not None:
            return system.reader(schema)
        # The table of the options, or the one in the column metadata of an entry of the session catalog.
        options = options_of(self.options, schema)
        table = self._opened if options == dict(self.options) else _table(options, self.stores)
        if table.options.spark_stream.read_changelog:
            feature = f"{READ_CHANGELOG.key} of a batch read"
            raise UnsupportedFeature(feature, f"{feature} is not supported; read '{table.identifier}$audit_log'")
        refuse_unread(table.dynamic_options, Reader.BATCH)
        check_read_schema(schema, shown_schema(table.facts).fields)
        return PaimonReader(table, schema, parallelism=self.parallelism)

    @_shortly
    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:  # noqa: FBT001
        """Return a writer of one job.

        Raises:
            UnsupportedFeature: the table cannot be written this way.
            InvalidData: the columns do not fit the table.
        """
        refuse_time_travel(self.options, "a write", "leave it out")
        target = target_of(Place.of(target_options(self.options, schema), self.stores), schema)
        return PaimonWriter(target.table, overwrite=overwrite, made_at=target.made_at)

    def streamReader(self, schema: StructType) -> datasource.DataSourceStreamReader:
        """Return a reader of the changes of the table, or of the error that says why they cannot be read."""
        try:
            return self.changes(schema)
        except TableFormatError as error:
            return RefusedStream(error)

    def changes(self, schema: StructType) -> PaimonStreamReader:
        """Return a reader of the changes of the table, with its current columns.

        Raises:
            InvalidInputError: the schema of the user does not fit the table.
            UnsupportedFeature: the changes of the table cannot be read as rows.
        """
        table = _streamed(options_of(self.options, schema), self.stores)
        check_read_schema(schema, shown_fields(table.facts, schema.names))
        return PaimonStreamReader(table.facts, schema, parallelism=self.parallelism)

    @_shortly
    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimonStreamWriter:  # noqa: FBT001
        """Return a writer of one micro-batch. With ``overwrite``, a micro-batch replaces all rows.

        Raises:
            TableNotFound: the table does not exist.
            TableReplaced: the table was created again after the query wrote to it.
            SnapshotNotFound: the table was rolled back after the query wrote to it.
            UnsupportedFeature: the table cannot be written this way, or ``toTable`` names it.
            InvalidInputError: the query does not have its own checkpoint.
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
        table = stream_target_of(Place.of(self.options, self.stores), schema)
        commit_user = user_of_checkpoint(self.options)
        # Spark opens the table again for each micro-batch.
        target = Target(table.facts, self.options[CHECKPOINT]).with_identity(self.options.get(TARGET))
        target.require_intact(commit_user)
        return PaimonStreamWriter(table, commit_user, target, replacing=overwrite)


def data_source(parallelism: int, stores: Stores) -> type[PaimonDataSource]:
    """Return the data source for a session in which ``parallelism`` tasks run in parallel, with these stores."""
    own = {"parallelism": parallelism, "stores": stores, "__module__": __name__, "__doc__": PaimonDataSource.__doc__}
    return type(PaimonDataSource.__name__, (PaimonDataSource,), own)
