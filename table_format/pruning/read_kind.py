"""Defines the kinds of reads, and what a filter may skip in each.

The basic rule: if rows with the same key are merged, only the keys of a single file can exclude it. A condition on
other columns applies to the merged row: skipping the file with the newer version would bring back the older one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final

from table_format.model.schema import TableSchema
from table_format.options.table_options import TableOptions


class ReadKind(Enum):
    """How stored rows become rows of the result."""

    APPEND_TABLE = "append table"
    """Each stored row is a row."""
    MERGE_ON_READ = "merge on read"
    """Rows with the same key become one row. Also ``$ro``, whose files hold each key once because their key ranges
    do not overlap.
    """
    MERGE_ON_WRITE = "merge on write"
    """Each key is live in at most one file, even if the key ranges of files overlap."""
    CHANGES = "changes"
    """Each stored row of a delta or changelog file is one change, and none is merged."""
    REPLACEMENT = "replacement"
    """The state that an overwrite removed, then the state that it added."""
    DIFFERENCE = "difference"
    """Two states are compared key by key; a row that the filter selects may have replaced one that it does not."""
    POSTPONED = "postponed"
    """Rows that have no bucket yet."""

    @classmethod
    def of_state(cls, schema: TableSchema, options: TableOptions, *, min_level: int = 0) -> ReadKind:
        """Return the read kind of one state of a table, for files on ``min_level`` and above."""
        if not schema.is_primary_key_table:
            return cls.APPEND_TABLE
        # Deletion vectors mark every outdated row only above level 0.
        return cls.MERGE_ON_WRITE if min_level > 0 and options.merges_on_write else cls.MERGE_ON_READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which bounds and indexes may exclude a file. Partitions and bucket keys always may, because they determine where
    a row is stored.
    """

    key_statistics: bool = False
    """Bounds of the primary key."""
    value_statistics: bool = False
    """Bounds of all columns. If rows are merged, files with overlapping keys are kept or skipped together."""
    file_indexes: bool = False


_STATE: Final = Rules(key_statistics=True, value_statistics=True, file_indexes=True)

RULES: Final[Mapping[ReadKind, Rules]] = MappingProxyType(
    {
        ReadKind.APPEND_TABLE: _STATE,
        ReadKind.MERGE_ON_READ: _STATE,
        ReadKind.MERGE_ON_WRITE: _STATE,
        ReadKind.CHANGES: Rules(value_statistics=True),
        ReadKind.REPLACEMENT: Rules(),
        ReadKind.DIFFERENCE: Rules(key_statistics=True),
        ReadKind.POSTPONED: Rules(key_statistics=True),
    }
)
