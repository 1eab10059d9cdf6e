"""Keys that a compaction of Apache Paimon cannot look up: up to 1.4, it fails when it compares keys of bytes.

Java ``RowCompactedSerializer.SliceComparator``, which takes them for ``Comparable``; 2.0 compares them.
"""

from __future__ import annotations

from collections.abc import Iterator

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.model.types import BytesType
from table_format.options.deletion_vectors import ENABLED
from table_format.options.merge import FORCE_LOOKUP, MERGE_ENGINE, MergeEngine
from table_format.options.stream import CHANGELOG_PRODUCER, ChangelogProducer
from table_format.options.table_options import TableOptions

LOOKUP_KEYS = frozenset(option.key for option in (CHANGELOG_PRODUCER, ENABLED, FORCE_LOOKUP, MERGE_ENGINE))
"""Options with which compactions look up keys."""


def check_lookup(schema: TableSchema, options: TableOptions) -> None:
    """Refuse options with which compactions look up keys, if a key column holds bytes.

    Raises:
        InvalidOption: names the option and the column.
    """
    if not schema.primary_keys:
        return
    for name in schema.trimmed_primary_keys:
        data_type = schema.field(name).type
        if not isinstance(data_type, BytesType):
            continue
        for key, value in _reasons(options):
            message = (
                f"'{value}' looks up keys when it compacts, and column '{name}' of the primary key is {data_type}; "
                "Apache Paimon up to 1.4 cannot compare such keys and fails; store the key as text, such as its hex "
                "digits, or leave out the option"
            )
            raise InvalidOption(key, message)


def _reasons(options: TableOptions) -> Iterator[tuple[str, str]]:
    if options.merge.engine is MergeEngine.FIRST_ROW:
        yield MERGE_ENGINE.key, MergeEngine.FIRST_ROW
    if options.stream.changelog_producer is ChangelogProducer.LOOKUP:
        yield CHANGELOG_PRODUCER.key, ChangelogProducer.LOOKUP
    if options.deletion_vectors.enabled:
        yield ENABLED.key, "true"
    if options.merge.force_lookup:
        yield FORCE_LOOKUP.key, "true"
