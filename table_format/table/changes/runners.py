"""Runners of DELETE, UPDATE and MERGE outside this process, such as ``table_format.spark.SparkStatements``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from table_format.table.changes.assignments import Values
from table_format.table.changes.merge_into import Insert, MatchedClause, On
from table_format.table.changes.row_changes import RowChanges
from table_format.table.changes.statement_commit import StatementCommit
from table_format.table.facts import HasFacts

Source = TypeVar("Source", contravariant=True)
"""The type of a source of rows that a runner takes."""


class StatementRunner(Protocol[Source]):
    """Runs statements on a table, each in one commit.

    Conditions and values are texts in the runner's SQL. The errors are those of the methods of ``Table``.
    """

    def delete(self, table: HasFacts, where: object, commit_as: StatementCommit) -> RowChanges:
        """Delete the rows that match a condition."""
        ...

    def update(self, table: HasFacts, set_: Values, where: object, commit_as: StatementCommit) -> RowChanges:
        """Set columns of the rows that match a condition, or of all rows."""
        ...

    def merge(
        self,
        table: HasFacts,
        source: Source,
        on: On,
        *,
        when_matched: MatchedClause | Sequence[MatchedClause],
        when_not_matched: Insert | Sequence[Insert],
        when_not_matched_by_source: MatchedClause | Sequence[MatchedClause],
        commit_as: StatementCommit,
    ) -> RowChanges:
        """Merge the rows of a source into the table."""
        ...
