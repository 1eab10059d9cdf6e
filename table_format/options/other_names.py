"""Names that Spark, Delta Lake and Iceberg give to options, and the options of this format that do the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.options.commit import DYNAMIC_PARTITION_OVERWRITE
from table_format.options.scan import (
    INCREMENTAL_BETWEEN,
    INCREMENTAL_BETWEEN_TIMESTAMP,
    SNAPSHOT_ID,
    TAG_NAME,
    TIMESTAMP_MILLIS,
    VERSION,
)
from table_format.options.spark_stream import MAX_BYTES, MAX_FILES, MAX_ROWS, READ_CHANGELOG
from table_format.options.write import MERGE_SCHEMA

VERSION_AS_OF: Final = "versionAsOf"
TIMESTAMP_AS_OF: Final = "timestampAsOf"

_NAMES: Final[Mapping[str, str]] = {
    VERSION_AS_OF: VERSION.key,
    TIMESTAMP_AS_OF: TIMESTAMP_MILLIS.key,
    "as-of-timestamp": TIMESTAMP_MILLIS.key,
    "tag": TAG_NAME.key,
    "start-snapshot-id": INCREMENTAL_BETWEEN.key,
    "end-snapshot-id": INCREMENTAL_BETWEEN.key,
    "startingVersion": SNAPSHOT_ID.key,
    "endingVersion": INCREMENTAL_BETWEEN.key,
    "startingTimestamp": TIMESTAMP_MILLIS.key,
    "endingTimestamp": INCREMENTAL_BETWEEN_TIMESTAMP.key,
    "readChangeFeed": READ_CHANGELOG.key,
    "maxFilesPerTrigger": MAX_FILES.key,
    "maxBytesPerTrigger": MAX_BYTES.key,
    "maxRowsPerTrigger": MAX_ROWS.key,
    "mergeSchema": MERGE_SCHEMA.key,
    "merge-schema": MERGE_SCHEMA.key,
    "partitionOverwriteMode": DYNAMIC_PARTITION_OVERWRITE.key,
}
_BY_LOWER_CASE: Final = {name.lower(): key for name, key in _NAMES.items()}


def own_name(name: str) -> str | None:
    """Return the option of this format that does the same as an option of another system; ``None`` if there is none.

    >>> own_name("mergeschema"), own_name("header")
    ('write.merge-schema', None)
    """
    return _BY_LOWER_CASE.get(name.lower())
