"""Checks which tables can have a changelog, and whose overwrites a stream can show (Java ``SchemaValidation``)."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.options.compaction import FULL_COMPACTION_DELTA_COMMITS
from table_format.options.deletion_vectors import ENABLED
from table_format.options.stream import (
    APPEND_OVERWRITE,
    CHANGELOG_PRODUCER,
    OVERWRITE,
    ChangelogProducer,
)
from table_format.options.table_options import TableOptions

STREAM_KEYS = frozenset({OVERWRITE.key, CHANGELOG_PRODUCER.key, ENABLED.key, FULL_COMPACTION_DELTA_COMMITS.key})
"""Options that decide it."""

_WRITERS_OF_CHANGES = (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION)


def check_stream(schema: TableSchema, table_options: TableOptions) -> None:
    """Refuse a changelog without keys, the wrong option for overwrites, and showing changes twice.

    Raises:
        InvalidOption: names the option.
    """
    options, vectors = table_options.stream, table_options.deletion_vectors
    if options.changelog_producer is not ChangelogProducer.NONE and not schema.primary_keys:
        message = "requires a table with a primary key; the changes of other tables are their rows"
        raise InvalidOption(CHANGELOG_PRODUCER.key, message)
    if options.changelog_producer is ChangelogProducer.FULL_COMPACTION and vectors.enabled:
        message = f"does not go with {ENABLED.key}; it takes none, input or lookup there"
        raise InvalidOption(CHANGELOG_PRODUCER.key, message)
    if (
        options.changelog_producer is ChangelogProducer.LOOKUP
        and table_options.compaction.full_compaction_delta_commits is not None
    ):
        message = (
            f"does not go with {CHANGELOG_PRODUCER.key} = lookup; for a full compaction every few commits that makes "
            f"the changelog set {CHANGELOG_PRODUCER.key} = full-compaction"
        )
        raise InvalidOption(FULL_COMPACTION_DELTA_COMMITS.key, message)
    if not options.overwrite:
        return
    if not schema.primary_keys:
        message = f"requires a table with a primary key; for this table use '{APPEND_OVERWRITE.key}'"
        raise InvalidOption(OVERWRITE.key, message)
    if options.changelog_producer in _WRITERS_OF_CHANGES:
        message = f"would show changes twice with {CHANGELOG_PRODUCER.key} = {options.changelog_producer.value}"
        raise InvalidOption(OVERWRITE.key, message)
