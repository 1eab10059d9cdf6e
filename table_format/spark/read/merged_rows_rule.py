"""Decides which reader reads files whose rows are merged: Spark's, after the live rows are known, or Python tasks.

docs/adr/0018 describes the rule. It uses facts of the plan and decides for all merged files of a scan together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.options.spark_read import MergedRead

FEW_COLUMNS: Final = 3
"""With so few columns, merging costs no more than finding positions first."""

MIN_ROWS_OF_FILE: Final = 10_000
"""Spark needs 10 ms to open a file. Python reads this many rows in that time."""

MIN_SMALL_FILES: Final = 16
"""Spark still opens up to this many small files, because a union of two scans copies rows."""

MIN_LIVE_SHARE: Final = 0.35
"""If a smaller fraction of the stored rows is live, Spark's reader decodes too many superseded rows."""


@dataclass(frozen=True, slots=True)
class MergedFiles:
    """The input of the rule. Rows are stored rows of the merged files; rows to compare are those whose state is not
    known yet.
    """

    rows: int
    rows_to_compare: int
    rows_of_small_files: int
    columns: int
    has_key_value: bool
    is_limited: bool
    is_costly_to_compare: bool
    computes_values: bool = False
    is_readable_by_spark: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen reader and the reason, as ``explain`` shows them."""

    way: MergedRead
    reason: str

    def __str__(self) -> str:
        return f"'{self.way}', because {self.reason}"


def choose(wanted: MergedRead, files: MergedFiles) -> Choice:
    """Decide which reader reads merged files.

    >>> few = MergedFiles(10, 10, 0, 2, False, False, False)
    >>> print(choose(MergedRead.AUTO, few))
    'merge', because few columns are read
    """
    if files.computes_values:
        return Choice(MergedRead.MERGE, "the merge engine computes values")
    if not files.is_readable_by_spark:
        return Choice(MergedRead.MERGE, "Spark's own reader cannot read the files")
    if wanted is not MergedRead.AUTO:
        return Choice(wanted, "the option spark.read.merged-rows selects it")
    if files.has_key_value:
        return Choice(MergedRead.MERGE, "a condition on the key selects few rows")
    if 2 * files.rows_of_small_files > files.rows:
        return Choice(MergedRead.MERGE, "most rows are in small files")
    if not files.rows_to_compare:
        return Choice(MergedRead.POSITIONS, "the positions are known")
    if files.is_limited:
        return Choice(MergedRead.MERGE, "a limit needs few of the rows")
    if files.columns <= FEW_COLUMNS:
        return Choice(MergedRead.MERGE, "few columns are read")
    if files.is_costly_to_compare:
        return Choice(MergedRead.MERGE, "a client would have to compare too many keys")
    return Choice(MergedRead.POSITIONS, "the live rows are found by their keys")


def reconsidered(wanted: MergedRead, choice: Choice, *, live: int, stored: int) -> Choice:
    """Decide again after the positions are known.

    >>> known = Choice(MergedRead.POSITIONS, "the positions are known")
    >>> print(reconsidered(MergedRead.AUTO, known, live=10, stored=100))
    'merge', because only 10 of 100 stored rows are live
    """
    if wanted is MergedRead.AUTO and live < MIN_LIVE_SHARE * stored:
        return Choice(MergedRead.MERGE, f"only {live} of {stored} stored rows are live")
    return choice
