"""Which files hold the changes of a snapshot: those that its commit wrote, or changelog files.

``changelog-producer`` may change. The schema of a snapshot names the producer with which it was written.
"""

from __future__ import annotations

from collections.abc import Collection

from table_format.errors import MissingFile
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.stream import CHANGELOG_PRODUCER, ChangelogProducer


def has_changes_in_deltas(schemas: SchemaStore, snapshot: Snapshot) -> bool:
    """Return whether the changes of a snapshot are the files that its commit wrote.

    Raises:
        CorruptionError: its schema cannot be read.
    """
    return _is_without_producer(_schema(schemas, snapshot))


def keeps_deltas(schemas: SchemaStore, states: Collection[Snapshot]) -> bool:
    """Return whether long-lived changelogs keep what commits wrote: the table, or one of them, needs it.

    A later delta also names the files to delete with an earlier changelog, so all of them keep it.

    Raises:
        CorruptionError: a schema cannot be read.
    """
    if not states:
        return False
    return _is_without_producer(schemas.latest()) or any(has_changes_in_deltas(schemas, each) for each in states)


def _is_without_producer(schema: TableSchema) -> bool:
    return CHANGELOG_PRODUCER.read(schema.options) is ChangelogProducer.NONE


def _schema(schemas: SchemaStore, snapshot: Snapshot) -> TableSchema:
    try:
        return schemas.load(snapshot.schema_id)
    except MissingFile:  # a fast-forward has replaced the schemas
        return schemas.latest()
