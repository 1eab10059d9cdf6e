"""``$schemas`` and ``$options`` (Java ``SchemasTable``, ``OptionsTable``).

The options of a table of another writer may hold secrets, which are masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.codecs.pretty_json import load_json
from table_format.codecs.schema_json import encode_schema
from table_format.model.schema import TableSchema
from table_format.secrets import redact, shown_option, shown_options
from table_format.table.facts import TableFacts
from table_format.table.rows.texts import compact_json
from table_format.table.system.metadata import LONG, TEXT, TIME, Row, columns, local_nanos

COLUMNS: Final = columns(
    schema_id=LONG.not_null(),
    fields=TEXT.not_null(),
    partition_keys=TEXT.not_null(),
    primary_keys=TEXT.not_null(),
    options=TEXT.not_null(),
    comment=TEXT,
    update_time=TIME.not_null(),
)
OPTION_COLUMNS: Final = columns(key=TEXT.not_null(), value=TEXT.not_null())


def rows(facts: TableFacts) -> Sequence[Row]:
    """All schemas, oldest first; lists and objects are compact JSON."""
    return [_row(facts.schemas[schema_id], facts.name) for schema_id in facts.schemas]


def option_rows(facts: TableFacts) -> Sequence[Row]:
    """The options of the table, by key."""
    return [{"key": key, "value": shown_option(key, value)} for key, value in sorted(facts.schema.options.items())]


def _row(schema: TableSchema, table: str) -> Row:
    members = load_json(encode_schema(schema), path=table)
    return {
        "schema_id": schema.id,
        "fields": compact_json(members["fields"]),
        "partition_keys": compact_json(members["partitionKeys"]),
        "primary_keys": compact_json(members["primaryKeys"]),
        "options": compact_json(shown_options(schema.options)),
        "comment": None if schema.comment is None else redact(schema.comment),
        "update_time": local_nanos(schema.time_millis),
    }
