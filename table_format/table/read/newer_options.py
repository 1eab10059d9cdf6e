"""Refuses a state that was written with other options for merging rows, or for finding them, than those of its reader.

A handle keeps the options with which the table was loaded, while other processes may alter them. Merged by the options
of the handle, a state could have rows that were replaced, or lack rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from table_format.errors import SchemaChanged
from table_format.formats.newer_schemas import opened_before
from table_format.metastore.schema.option_columns import options_of_columns, options_under_names_of
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.declare import AnyOption, declared_in
from table_format.options.deletion_vectors import ENABLED
from table_format.options.files import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from table_format.options.merge import IGNORE_UPDATE_BEFORE, MergeOptions
from table_format.table.facts import TableFacts

_OF_PARTITIONS: Final[tuple[AnyOption, ...]] = (PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME)
_OF_MERGES: Final[tuple[AnyOption, ...]] = (
    ENABLED,
    *(option for option in declared_in(MergeOptions) if option is not IGNORE_UPDATE_BEFORE),
)


def refuse_newer_options(facts: TableFacts, *snapshots: Snapshot) -> None:
    """Refuse to read states whose schema is newer than that of the table handle and has other rules.

    Raises:
        SchemaChanged: the message names the options and both schemas.
    """
    for snapshot in snapshots:
        if snapshot.schema_id > facts.schema.id:
            refuse_other_options(facts.name, facts.schema, facts.schemas[snapshot.schema_id])


def refuse_other_options(table: str, schema: TableSchema, written: TableSchema) -> None:
    """Refuse a state that was written with the schema ``written`` if it is newer than ``schema`` and has other rules.

    Raises:
        SchemaChanged: the message names the options and both schemas.
    """
    changed = ", ".join(f"'{key}'" for key in _changed(schema, written)) if written.id > schema.id else ""
    if changed:
        message = (
            f"{opened_before(written, schema, table)}, which has other values of {changed}: it would show other rows "
            "than the table has. Load the table again and repeat"
        )
        raise SchemaChanged(message)


def _changed(schema: TableSchema, written: TableSchema) -> Iterator[str]:
    ids = {field.id for field in schema.fields}
    common = {field.name for field in written.fields if field.id in ids}
    options, newer = (
        options_of_columns(each, common) for each in (options_under_names_of(schema, written), written.options)
    )
    for option in (*_OF_PARTITIONS, *(_OF_MERGES if schema.is_primary_key_table else ())):
        if option.read(options) != option.read(newer):
            yield option.key
