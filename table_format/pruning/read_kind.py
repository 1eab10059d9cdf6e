"""The kinds of reads, and what a filter may leave out in each of them.

One rule underlies the table: where rows of one key are merged, a file may be left out alone only for its keys. A
condition on other columns holds for the merged row; to drop one of two versions would bring back the other.
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
    """How the stored rows of the files that are read become rows of the result."""

    APPEND_TABLE = "append table"
    """Each stored row is a row."""
    MERGE_ON_READ = "merge on read"
    """Rows of one key become one. Also ``$ro``, whose files hold each key once because their key ranges are apart."""
    MERGE_ON_WRITE = "merge on write"
    """Each key is live in one file at most, whatever the key ranges of the files are."""
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
        """The kind of a read of one state of a table, of the files on ``min_level`` and above."""
        if not schema.is_primary_key_table:
            return cls.APPEND_TABLE
        # Only above level 0 the deletion vectors mark every outdated row.
        return cls.MERGE_ON_WRITE if min_level > 0 and options.merges_on_write else cls.MERGE_ON_READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which evidence about a file may be used; partitions and bucket keys identify a row's place and always may."""

    key_statistics: bool = False
    """Bounds of the primary key."""
    value_statistics: bool = False
    """Bounds of all columns; where rows are merged they decide for all files with overlapping keys together."""
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
