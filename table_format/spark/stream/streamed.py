"""Finds the table of a stream, and refuses it before a query starts if its changes cannot be read as rows."""

from __future__ import annotations

from collections.abc import Mapping

from table_format.errors import InvalidInputError, InvalidOption
from table_format.options.spark_stream import READ_CHANGELOG
from table_format.options.stream import BOUNDED_WATERMARK
from table_format.options.unread import Reader
from table_format.spark.stream.admission import Limits
from table_format.spark.stream.snapshots import check_streamable
from table_format.table.read.stream_start import stream_mode
from table_format.table.system.audit_log import AuditLogTable
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


def streamed(opened: Table | SystemTable, options: Mapping[str, str]) -> Table:
    """Return a table with the options of a stream. A stream of ``t$audit_log`` is one of ``t`` with
    ``read.changelog``.

    Raises:
        InvalidIdentifier: a consumer cannot have this name.
        InvalidInputError: another system table is named.
        InvalidOption: an option has no effect on a stream, or a stream cannot start in this way.
        UnsupportedFeature: the changes of the table cannot be read as rows.
    """
    table = _with_changes(opened, options).for_reader(Reader.SPARK_STREAM, options)
    check_stream(table)
    return table


def check_stream(table: Table) -> None:
    """Refuse a stream of a table. Raises the errors of ``streamed``."""
    check_streamable(table.facts)
    stream_mode(table.facts)
    if table.options.stream.bounded_watermark is not None:
        message = (
            f"a streaming query of Spark on {table.facts.name} would wait for ever after this watermark, because a "
            "source cannot end a query. Leave it out, also in the options of the table, and end the query with the "
            "trigger availableNow; Table.stream in Python ends at the watermark"
        )
        raise InvalidOption(BOUNDED_WATERMARK.key, message)
    Limits.of(table.options.spark_stream)
    consumer = table.options.stream.consumer_id
    if consumer is not None:
        table.store.paths.consumer(consumer)


def _with_changes(opened: Table | SystemTable, options: Mapping[str, str]) -> Table:
    if isinstance(opened, Table):
        return opened
    if not isinstance(opened, AuditLogTable):
        message = (
            f"'{opened.name}' is a system table, which has no stream: read it as a batch. The changes of a table are "
            f"the stream of '$audit_log', or of the table itself with '{READ_CHANGELOG.key}' = true"
        )
        raise InvalidInputError(message)
    if not READ_CHANGELOG.read({READ_CHANGELOG.key: "true", **options}):
        raise InvalidOption(READ_CHANGELOG.key, f"a stream of '{opened.name}' has every change; leave it out")
    return opened.table.copy({READ_CHANGELOG.key: "true"})
