"""Which tables a stream can show overwrites of (Java ``SchemaValidation``)."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.options.stream import (
    APPEND_OVERWRITE,
    CHANGELOG_PRODUCER,
    OVERWRITE,
    ChangelogProducer,
    StreamOptions,
)

STREAM_KEYS = frozenset({OVERWRITE.key, CHANGELOG_PRODUCER.key})
"""Options that decide it."""

_WRITERS_OF_CHANGES = (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION)


def check_stream(schema: TableSchema, options: StreamOptions) -> None:
    """Refuse to show overwrites of an append table by the option of the others, or to show changes twice.

    Raises:
        InvalidOption: names the option.
    """
    if not options.overwrite:
        return
    if not schema.primary_keys:
        message = f"takes a table with a primary key; for this one it is '{APPEND_OVERWRITE.key}'"
        raise InvalidOption(OVERWRITE.key, message)
    if options.changelog_producer in _WRITERS_OF_CHANGES:
        message = f"would show changes twice with {CHANGELOG_PRODUCER.key} = {options.changelog_producer.value}"
        raise InvalidOption(OVERWRITE.key, message)
