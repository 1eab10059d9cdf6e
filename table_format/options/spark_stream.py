"""How Spark's streaming queries read tables: row kinds, and the size of a micro-batch."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import MAX_LONG, boolean, integer, optional

READ_CHANGELOG = Option(
    "read.changelog",
    boolean,
    False,
    "A Spark streaming query returns every change, with its row kind in the column 'rowkind'. With 'false', it returns "
    "the rows that changes add.",
)
MAX_FILES = Option(
    "read.stream.maxFilesPerTrigger",
    optional(integer(1, MAX_LONG)),
    None,
    "Maximum number of files that a micro-batch reads.",
)
MAX_BYTES = Option(
    "read.stream.maxBytesPerTrigger",
    optional(integer(1, MAX_LONG)),
    None,
    "Maximum total size in bytes of the files that a micro-batch reads.",
)
MAX_ROWS = Option(
    "read.stream.maxRowsPerTrigger",
    optional(integer(1, MAX_LONG)),
    None,
    "Maximum number of rows that a micro-batch reads.",
)
MIN_ROWS = Option(
    "read.stream.minRowsPerTrigger",
    optional(integer(1, MAX_LONG)),
    None,
    "Number of rows for which a micro-batch waits, for at most 'read.stream.maxTriggerDelayMs'.",
)
MAX_DELAY = Option(
    "read.stream.maxTriggerDelayMs",
    optional(integer(1, MAX_LONG)),
    None,
    "Maximum time in milliseconds after the last micro-batch for which the next one waits for "
    "'read.stream.minRowsPerTrigger'.",
)


@dataclass(frozen=True, slots=True)
class SparkStreamOptions:
    """What streaming queries read."""

    read_changelog: bool = READ_CHANGELOG.field()
    max_files: int | None = MAX_FILES.field()
    max_bytes: int | None = MAX_BYTES.field()
    max_rows: int | None = MAX_ROWS.field()
    min_rows: int | None = MIN_ROWS.field()
    max_delay_ms: int | None = MAX_DELAY.field()
