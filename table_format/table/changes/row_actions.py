"""The methods of a table that change rows: DELETE, UPDATE and MERGE (Java ``PaimonRowLevelCommand``).

A statement reads the latest snapshot and is committed once. On a table without primary key a commit that changed the
same files meanwhile is a conflict, on a primary key table one that wrote the same keys: the work is done again on the
snapshot there is then, a bounded number of times. So two statements on one row both take effect, one after the other,
where with the reference the later commit wins.

A statement on a primary key table sees all that was committed, also what readers see only once it is compacted
(``table/changes/whole_state.py``): it would overwrite what it does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from table_format.errors import (
    FileConflict,
    InvalidInputError,
    SnapshotExpired,
    UnsupportedFeature,
)
from table_format.formats.newer_schemas import refuse_newer
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.model.arguments import refuse
from table_format.model.arrow_types import arrow_schema
from table_format.model.expression import TARGET
from table_format.model.predicate import Predicate
from table_format.options.scan import FALLBACK_BRANCH, MODE, STARTING_POINTS
from table_format.options.table_options import TableOptions
from table_format.table.changes.append_tables import AppendTableChanges
from table_format.table.changes.assignments import Values, bind
from table_format.table.changes.merge_into import Delete, Insert, MatchedClause, Merge, MergeStatement, On, Update
from table_format.table.changes.primary_key_tables import PrimaryKeyChanges, check_deletable, check_updatable
from table_format.table.changes.row_changes import DeleteStatement, RowChanges, RowStatement, UpdateStatement
from table_format.table.changes.whole_state import whole_state
from table_format.table.facts import HasFacts, TableFacts
from table_format.table.read.filters import bound_filter
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan
from table_format.table.rows.input import Rows
from table_format.table.write.batch_commit import BatchCommit, CommitArguments
from table_format.table.write.commit_retries import REPAIRED, Messages, write_and_commit
from table_format.table.write.turns import WriterTurns

_C = TypeVar("_C", Insert, MatchedClause)

MAX_ATTEMPTS: Final = 10
"""Times that a statement is carried out; each time another commit changed the same files first."""

MAX_ATTEMPTS_BY_KEY: Final = 30
"""The same on a primary key table, where another commit wrote the same keys: many clients may raise one counter."""

_REPAIRED_BY_FILE: Final = (FileConflict, SnapshotExpired)


@dataclass(frozen=True, slots=True)
class _StatementCommit:
    """Which statement it is, and the user, identifier and properties it is committed with."""

    operation: str
    commit_user: str | None
    identifier: int | None
    properties: Mapping[str, str] | None


def delete(
    table: HasFacts,
    where: str | Predicate,
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> RowChanges:
    """Delete the rows a filter selects, in one commit.

    A table with a primary key gets rows that take them back. Of any other the files are rewritten, or with
    ``deletion-vectors.enabled`` the rows are marked as deleted. User and identifier are as for ``append``.

    Raises:
        UnsupportedFeature: the merge engine of the table removes no rows.
        ConflictError: other commits changed the same files, or on a primary key table the same keys, again and again.
        CommitOutcomeUnknown: it may have been committed; repeat it under the same user and identifier.
    """
    facts = table.current_facts
    with facts.blaming_old_columns():
        if facts.schema.is_primary_key_table:
            check_deletable(facts, "delete")
        predicate = bound_filter(where, facts.schema.fields)
        commit_as = _StatementCommit("DELETE", commit_user, identifier, properties)
        return _changed(facts, lambda: DeleteStatement(facts.schema, predicate), commit_as)


def update(
    table: HasFacts,
    set_: Values,
    where: str | Predicate | None = None,
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> RowChanges:
    """Give columns of the rows a filter selects, or of all, new values, in one commit.

    ``set_`` maps columns to SQL text over the columns (``{"amount": "amount * 2", "state": "'paid'"}``), to functions
    from a ``pyarrow.Table`` of the rows to an Arrow array, or to constants that are no text. All see the rows as they
    were. Partition columns of a table without primary key may be assigned: the rows move.

    On a primary key table the new rows are merged with the old ones: a lower ``sequence.field`` loses, and with
    ``merge-engine`` = ``partial-update`` a null changes nothing outside of sequence groups.

    Raises:
        ColumnNotFound, InvalidExpression, InvalidData: a value is no value of its column.
        UnsupportedFeature: the merge engine cannot update rows, or a column of the primary key is assigned.
        ConflictError, CommitOutcomeUnknown: as for ``delete``.
    """
    if not isinstance(set_, Mapping):
        refuse("set_", "a mapping of columns to values", set_)
    facts = table.current_facts
    with facts.blaming_old_columns():
        if not set_:
            message = f"update of {facts.name}: there is no column to set"
            raise InvalidInputError(message)
        assignments = bind(set_, facts.schema, {TARGET: arrow_schema(facts.schema.fields)})
        if facts.schema.is_primary_key_table:
            check_updatable(facts, "update", assignments.names)
        predicate = bound_filter(where, facts.schema.fields)
        commit_as = _StatementCommit("UPDATE", commit_user, identifier, properties)
        return _changed(facts, lambda: UpdateStatement(facts.schema, predicate, assignments), commit_as)


def merge(
    table: HasFacts,
    source: Rows,
    on: On,
    *,
    when_matched: MatchedClause | Sequence[MatchedClause] = (),
    when_not_matched: Insert | Sequence[Insert] = (),
    when_not_matched_by_source: MatchedClause | Sequence[MatchedClause] = (),
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> RowChanges:
    """Merge rows of a source into the table, in one commit; the source is held in memory.

    Rows match that are equal in the columns ``on``, null to nothing: names that both have, or columns of the table
    mapped to those of the source. For a row of the table that a row of the source matches the first clause of
    ``when_matched`` decides, ``Update`` or ``Delete``, whose condition holds; for a row of the source that matches none
    the first ``Insert`` of ``when_not_matched``; for a row of the table that none matches
    ``when_not_matched_by_source``, which makes the merge read the whole table. Conditions and values are SQL text over
    ``target.x`` (or ``t.x``) and ``source.x`` (``s.x``); functions get a ``pyarrow.Table`` with columns of these names,
    or of the plain ones where there is one relation.

    Raises:
        ColumnNotFound, InvalidExpression, InvalidData: a value is no value of its column; or a row of the table matches
            several rows of the source, whose key is named.
        UnsupportedFeature: as for ``update`` and ``delete``, or a column cannot be joined on.
        ConflictError, CommitOutcomeUnknown: as for ``delete``.
    """
    facts = table.current_facts
    matched = _listed(when_matched, "when_matched", Update, Delete)
    inserted = _listed(when_not_matched, "when_not_matched", Insert)
    left_over = _listed(when_not_matched_by_source, "when_not_matched_by_source", Update, Delete)
    if not (matched or inserted or left_over):
        message = f"merge into {facts.name}: there is no clause, so nothing would happen"
        raise InvalidInputError(message)
    with facts.blaming_old_columns():
        bound = Merge.of(
            facts.name,
            facts.schema,
            source,
            on,
            matched=matched,
            not_matched=inserted,
            not_matched_by_source=left_over,
        )
        if facts.schema.is_primary_key_table:
            check_updatable(facts, "merge", bound.assigned)
            if bound.deletes:
                check_deletable(facts, "merge with a delete clause")
        commit_as = _StatementCommit("MERGE", commit_user, identifier, properties)
        return _changed(facts, lambda: MergeStatement(bound), commit_as)


def _listed(clauses: _C | Sequence[_C], argument: str, *kinds: type) -> tuple[_C, ...]:
    listed = tuple(clauses) if isinstance(clauses, Sequence) else (clauses,)
    for clause in listed:
        if not isinstance(clause, kinds):
            refuse(argument, f"{' or '.join(kind.__name__ for kind in kinds)}, one or a sequence", clause)
    return listed


def replace_rows(facts: TableFacts, where: Predicate, write: Callable[[TableFacts], Messages]) -> Messages:
    """Remove the rows a filter selects from a table without primary key, and write others: the messages of both.

    They are committed together by ``BatchCommit.commit``. A commit that has changed the same files since is a
    ``FileConflict``; the work can then be repeated.

    Raises:
        UnsupportedFeature: the table has a primary key.
    """
    if facts.schema.is_primary_key_table:
        feature = "replacing rows by a condition on a table with a primary key"
        raise UnsupportedFeature(
            feature, f"table {facts.name}: {feature}; overwrite its partitions, or upsert and delete"
        )
    latest = _latest(facts)
    plan = Scan(latest, None, where).plan()
    _refuse_newer(facts, plan)
    with explaining_expiry(facts.store, *(() if plan.snapshot is None else (plan.snapshot.id,))):
        removed = AppendTableChanges(facts, plan, DeleteStatement(facts.schema, where)).write()
    with DeletingOnFailure(lambda: facts.delete_message_files(removed)):
        return (*removed, *(replace(message, rewrites=True) for message in write(facts)))


def _changed(facts: TableFacts, bind_statement: Callable[[], RowStatement], commit_as: _StatementCommit) -> RowChanges:
    CommitArguments.of(commit_as.identifier, properties=commit_as.properties)
    commit = BatchCommit(facts, commit_as.commit_user)
    if commit_as.identifier is not None and commit.is_committed(commit_as.identifier):
        return RowChanges()
    counts = RowChanges()

    def write() -> Messages:
        nonlocal counts
        statement = bind_statement()
        keyed = facts.schema.is_primary_key_table
        latest = _latest(facts)
        scan = whole_state(latest, statement.where) if keyed else Scan(latest, None, statement.where)
        plan = scan.plan()
        _refuse_newer(facts, plan)
        changes = PrimaryKeyChanges(facts, scan, statement) if keyed else AppendTableChanges(facts, plan, statement)
        with explaining_expiry(facts.store, *(() if plan.snapshot is None else (plan.snapshot.id,))):
            messages = changes.write()
        counts = changes.counts
        return messages

    snapshots = write_and_commit(
        facts.store,
        commit,
        write=write,
        publish=lambda messages: commit.commit(
            messages,
            identifier=commit_as.identifier,
            properties=commit_as.properties,
            operation=commit_as.operation if facts.schema.is_primary_key_table else None,
        ),
        is_repeatable=True,
        repaired=REPAIRED if facts.schema.is_primary_key_table else _REPAIRED_BY_FILE,
        max_attempts=MAX_ATTEMPTS_BY_KEY if facts.schema.is_primary_key_table else MAX_ATTEMPTS,
        turns=WriterTurns.of(facts),
    )
    return replace(counts, snapshots=snapshots)


def _latest(facts: TableFacts) -> TableFacts:
    """The facts for a scan of the latest state of this branch, whatever the options say of reading."""
    keys = {key for option in (*STARTING_POINTS, MODE, FALLBACK_BRANCH) for key in option.keys}
    return replace(facts, options=TableOptions({k: v for k, v in facts.options.raw.items() if k not in keys}))


def _refuse_newer(facts: TableFacts, plan: Plan) -> None:
    """Refuse to change rows of a schema that came after the statement began."""
    refuse_newer(plan.schemas.values(), facts.schema, plan.fields, where=facts.name, rewriting=True)
