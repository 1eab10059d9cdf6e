"""The methods of a table for DELETE, UPDATE and MERGE. Functions of ``table.changes`` do the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from table_format.model.condition import Filter
from table_format.table.changes import row_actions
from table_format.table.changes.assignments import Values
from table_format.table.changes.merge_into import Insert, MatchedClause, On
from table_format.table.changes.row_actions import Source
from table_format.table.changes.row_changes import RowChanges
from table_format.table.changes.runners import StatementRunner
from table_format.table.facts import HasFacts
from table_format.table.rows.input import Rows


class ChangeMethods(HasFacts, Protocol):
    """The methods of a table for DELETE, UPDATE and MERGE."""

    def delete(
        self,
        where: Filter,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        runner: StatementRunner[Any] | None = None,
    ) -> RowChanges:
        """Delete the rows that a filter selects, in one commit.

        On a primary key table, this writes rows of kind ``-D``. On other tables, it rewrites the files, or marks the
        rows as deleted if ``deletion-vectors.enabled`` is set. Commit user and identifier work as for ``append``. A
        ``runner`` such as ``SparkStatements(session)`` runs the statement elsewhere; the filter is then a text in the
        runner's SQL.

        >>> table.delete("amount < 15").deleted
        1

        Raises:
            UnsupportedFeature: the merge engine of the table cannot delete rows.
            ConflictError: other commits kept changing the same files, or the same keys of a primary key table.
            CommitOutcomeUnknown: the commit may have succeeded; repeat it with the same user and identifier.
        """
        return row_actions.delete(
            self, where, commit_user=commit_user, identifier=identifier, properties=properties, runner=runner
        )

    def update(
        self,
        set_: Values,
        where: Filter | None = None,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        runner: StatementRunner[Any] | None = None,
    ) -> RowChanges:
        """Set columns of the rows that a filter selects, or of all rows, in one commit.

        ``set_`` maps columns to SQL text over the columns (``{"amount": "amount * 2", "state": "'paid'"}``), to
        functions from a ``pyarrow.Table`` of the rows to an Arrow array, or to constants other than strings. All
        values are computed from the old rows. On a table without a primary key, you can set partition columns; the
        rows move. ``runner`` works as for ``delete``.

        On a primary key table, the new rows are merged with the old ones: a row with a lower ``sequence.field`` has
        no effect, and with ``merge-engine`` = ``partial-update`` a null outside of sequence groups changes nothing.

        >>> table.update({"amount": "amount * 2", "state": "'sent'"}, where="state = 'paid'").updated
        1

        Raises:
            ColumnNotFound, InvalidExpression, InvalidData: a value does not fit its column.
            UnsupportedFeature: the merge engine cannot update rows, or the statement sets a column of the primary key.
            ConflictError, CommitOutcomeUnknown: as for ``delete``.
        """
        return row_actions.update(
            self, set_, where, commit_user=commit_user, identifier=identifier, properties=properties, runner=runner
        )

    def merge(
        self,
        source: Rows | Source,
        on: On,
        *,
        when_matched: MatchedClause | Sequence[MatchedClause] = (),
        when_not_matched: Insert | Sequence[Insert] = (),
        when_not_matched_by_source: MatchedClause | Sequence[MatchedClause] = (),
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        runner: StatementRunner[Source] | None = None,
    ) -> RowChanges:
        """Merge the rows of a source into the table, in one commit. The source is held in memory.

        Rows match if the columns ``on`` are equal; a null matches nothing. ``on`` holds column names that both sides
        have, or maps columns of the table to columns of the source. ``when_matched`` (``Update`` or ``Delete``)
        applies to rows of the table with a match, ``when_not_matched`` (``Insert``) to rows of the source without
        one, and ``when_not_matched_by_source`` to rows of the table without one; this last argument makes the merge
        read the whole table. Of several clauses, the first whose condition holds applies. Conditions and values are
        SQL text over ``target.x`` (or ``t.x``) and ``source.x`` (``s.x``). Functions get a ``pyarrow.Table`` with
        columns of these names, or with plain names if there is only one relation. ``runner`` works as for ``delete``;
        the source is then one of the runner's, such as a DataFrame.

        >>> from table_format import Insert, Update
        >>> source = pa.table({"id": [1, 9], "day": ["2026-01-01", "2026-01-03"], "amount": [11, 90]})
        >>> changes = table.merge(
        ...     source,
        ...     on=["id", "day"],
        ...     when_matched=Update({"amount": "source.amount"}),
        ...     when_not_matched=Insert({"id": "source.id", "day": "source.day", "amount": "source.amount"}),
        ... )
        >>> changes.updated, changes.inserted
        (1, 1)

        Raises:
            ColumnNotFound, InvalidExpression, InvalidData: a value does not fit its column; or a row of the table
                matches several rows of the source (the message names the key).
            UnsupportedFeature: as for ``update`` and ``delete``, or a column cannot be joined on.
            ConflictError, CommitOutcomeUnknown: as for ``delete``.
        """
        return row_actions.merge(
            self,
            source,
            on,
            when_matched=when_matched,
            when_not_matched=when_not_matched,
            when_not_matched_by_source=when_not_matched_by_source,
            commit_user=commit_user,
            identifier=identifier,
            properties=properties,
            runner=runner,
        )
