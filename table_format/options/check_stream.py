"""Which tables have a changelog, and which a stream can show overwrites of (Java ``SchemaValidation``)."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.options.deletion_vectors import ENABLED, DeletionVectorOptions
from table_format.options.stream import (
    APPEND_OVERWRITE,
    CHANGELOG_PRODUCER,
    OVERWRITE,
    ChangelogProducer,
    StreamOptions,
)

STREAM_KEYS = frozenset({OVERWRITE.key, CHANGELOG_PRODUCER.key, ENABLED.key})
"""Options that decide it."""

_WRITERS_OF_CHANGES = (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION)


def check_stream(schema: TableSchema, options: StreamOptions, vectors: DeletionVectorOptions) -> None:
    """Refuse a changelog without keys, and to show overwrites by the wrong option or changes twice.

    Raises:
        InvalidOption: names the option.
    """
    if options.changelog_producer is not ChangelogProducer.NONE and not schema.primary_keys:
        message = "takes a table with a primary key; the changes of any other are its rows"
        raise InvalidOption(CHANGELOG_PRODUCER.key, message)
    if options.changelog_producer is ChangelogProducer.FULL_COMPACTION and vectors.enabled:
        message = f"does not go with {ENABLED.key}; it takes none, input or lookup there"
        raise InvalidOption(CHANGELOG_PRODUCER.key, message)
    if not options.overwrite:
        return
    if not schema.primary_keys:
        message = f"takes a table with a primary key; for this one it is '{APPEND_OVERWRITE.key}'"
        raise InvalidOption(OVERWRITE.key, message)
    if options.changelog_producer in _WRITERS_OF_CHANGES:
        message = f"would show changes twice with {CHANGELOG_PRODUCER.key} = {options.changelog_producer.value}"
        raise InvalidOption(OVERWRITE.key, message)
