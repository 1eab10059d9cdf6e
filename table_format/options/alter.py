"""Which column changes ALTER allows, and where it adds new columns (format chapter 02, section 6)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import boolean

NULL_TO_NOT_NULL_DISABLED = Option(
    "alter-column-null-to-not-null.disabled",
    boolean,
    True,
    "Whether ALTER refuses NOT NULL for a nullable column. Existing rows are not checked: with 'false', set NOT NULL "
    "only on a column that contains no nulls.",
)
EXPLICIT_CASTS_DISABLED = Option(
    "disable-explicit-type-casting",
    boolean,
    False,
    "Whether ALTER refuses type changes that need an explicit cast, such as BIGINT to INT or STRING to DATE.",
)
ADD_BEFORE_PARTITION = Option(
    "add-column-before-partition",
    boolean,
    False,
    "Whether a new column without an explicit position is placed before the first partition column instead of at the "
    "end.",
)


@dataclass(frozen=True, slots=True)
class AlterOptions:
    """The options of a table for schema changes."""

    null_to_not_null_disabled: bool = NULL_TO_NOT_NULL_DISABLED.field()
    explicit_casts_disabled: bool = EXPLICIT_CASTS_DISABLED.field()
    add_before_partition: bool = ADD_BEFORE_PARTITION.field()
