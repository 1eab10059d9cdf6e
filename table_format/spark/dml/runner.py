"""Runs ``Table.delete``, ``update`` and ``merge`` as Spark jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_format.errors import InvalidInputError
from table_format.spark.dml.matching import MatchOn
from table_format.spark.dml.statements import delete_on_spark, merge_on_spark, update_on_spark
from table_format.spark.tasks.code_shipping import is_prepared
from table_format.table.changes.assignments import Values
from table_format.table.changes.merge_into import Insert, MatchedClause
from table_format.table.changes.row_changes import RowChanges
from table_format.table.changes.statement_commit import StatementCommit
from table_format.table.facts import HasFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkStatements:
    """Runs statements on tables in a Spark session, like ``Lake.delete``, ``Lake.update`` and ``Lake.merge``.

    The session must have been prepared by ``paimon``.

    >>> orders.delete("state = 'cancelled'", runner=SparkStatements(spark))  # doctest: +SKIP

    Raises:
        InvalidInputError: the session has not been prepared.
    """

    spark: SparkSession

    def __post_init__(self) -> None:
        """Refuse a session whose tasks lack this library."""
        if not is_prepared(self.spark):
            message = "the session is not prepared for this library; call paimon(spark, {'warehouse': ...}) first"
            raise InvalidInputError(message)

    def delete(self, table: HasFacts, where: object, commit_as: StatementCommit) -> RowChanges:
        """Delete the rows that match a condition in Spark SQL or one built with ``col``."""
        return delete_on_spark(self.spark, table, where, None, commit_as)

    def update(self, table: HasFacts, set_: Values, where: object, commit_as: StatementCommit) -> RowChanges:
        """Set columns of the rows that match a condition as for ``delete``, or of all rows."""
        return update_on_spark(self.spark, table, set_, where, None, commit_as)

    def merge(
        self,
        table: HasFacts,
        source: DataFrame,
        on: MatchOn,
        *,
        when_matched: MatchedClause | Sequence[MatchedClause],
        when_not_matched: Insert | Sequence[Insert],
        when_not_matched_by_source: MatchedClause | Sequence[MatchedClause],
        commit_as: StatementCommit,
    ) -> RowChanges:
        """Merge the rows of a frame into the table."""
        return merge_on_spark(
            self.spark,
            table,
            source,
            on,
            when_matched=when_matched,
            when_not_matched=when_not_matched,
            when_not_matched_by_source=when_not_matched_by_source,
            target_alias=None,
            source_alias=None,
            commit_as=commit_as,
        )
