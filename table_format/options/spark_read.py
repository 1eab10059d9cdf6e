"""How Spark reads tables. The result is always the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from table_format.options.declare import Option
from table_format.options.values import one_of


class MergedRead(StrEnum):
    """Who reads the rows of merged files."""

    AUTO = "auto"
    POSITIONS = "positions"
    MERGE = "merge"


MERGED_READ = Option(
    "spark.read.merged-rows",
    one_of(MergedRead),
    MergedRead.AUTO,
    "How Spark reads files whose rows must be merged. With 'positions', keys are compared first and Spark's own reader "
    "reads the live rows. With 'merge', Python tasks merge the files. 'auto' uses the cheaper way. If positions cannot "
    "be used, rows are merged.",
)


@dataclass(frozen=True, slots=True)
class SparkReadOptions:
    """How Spark reads tables."""

    merged_read: MergedRead = MERGED_READ.field()  # noqa: RUF009 - a field, and the default in it is frozen
