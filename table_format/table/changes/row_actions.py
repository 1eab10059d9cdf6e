"""The methods of a table that change rows: DELETE, UPDATE and MERGE (Java ``PaimonRowLevelCommand``).

A statement reads the latest snapshot and is committed once. Another commit that changed the same files in the
meantime is a conflict; on a primary key table, one that wrote the same keys. The statement is then retried on the new
latest snapshot, up to a limit. So two statements on one row both take effect, one after the other. With the
reference, the later commit wins.

A statement on a primary key table sees all committed rows, including those that readers see only after a compaction
(``table/changes/whole_state.py``): otherwise it would overwrite rows that it does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar, cast

from table_format.errors import (
    FileConflict,
    InvalidInputError,
    SnapshotExpired,
    UnsupportedFeature,
)
from table_format.formats.newer_schemas import refuse_newer
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.metastore.commit.commit_job import CommitCheck
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.model.arguments import refuse
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.expression import TARGET
from table_format.model.predicate import Predicate
from table_format.model.snapshot import Snapshot
from table_format.options.scan import FALLBACK_BRANCH, STATE_KEYS
from table_format.options.table_options import TableOptions
from table_format.table.changes.append_tables import AppendTableChanges
from table_format.table.changes.assignments import Values, bind
from table_format.table.changes.merge_into import Delete, Insert, MatchedClause, Merge, MergeStatement, On, Update
from table_format.table.changes.primary_key_tables import PrimaryKeyChanges, check_deletable, check_updatable
from table_format.table.changes.row_changes import DeleteStatement, RowChanges, RowStatement, UpdateStatement
from table_format.table.changes.runners import StatementRunner
from table_format.table.changes.statement_commit import StatementCommit
from table_format.table.changes.whole_state import whole_state
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.read.filters import bound_filter
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan
from table_format.table.rows.input import Rows
from table_format.table.write.batch_commit import BatchCommit, CommitArguments
from table_format.table.write.commit_retries import REPAIRED, Messages, write_and_commit
from table_format.table.write.turns import WriterTurns

_C = TypeVar("_C", Insert, MatchedClause)
Source = TypeVar("Source")
"""The type of a source of rows that a runner takes."""

MAX_ATTEMPTS: Final = 10
"""Attempts of a statement while other commits change the same files first."""

MAX_ATTEMPTS_BY_KEY: Final = 30
"""Attempts on a primary key table while other commits write the same keys: many clients may increment one counter."""

_REPAIRED_BY_FILE: Final = (FileConflict, SnapshotExpired)


@reporting_drops
def delete(
    table: HasFacts,
    where: Filter,
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    runner: StatementRunner[Any] | None = None,
) -> RowChanges:
    """See ``Table.delete``."""
    commit_as = StatementCommit("DELETE", commit_user, identifier, properties)
    if runner is not None:
        return runner.delete(table, where, commit_as)
    facts = table.current_facts
    facts.require_changeable()
    with facts.blaming_old_columns():
        if facts.schema.is_primary_key_table:
            check_deletable(facts, "delete")
        predicate = bound_filter(where, facts.schema.fields)
        return _changed(facts, lambda: DeleteStatement(facts.schema, predicate), commit_as)


@reporting_drops
def update(
    table: HasFacts,
    set_: Values,
    where: Filter | None = None,
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    runner: StatementRunner[Any] | None = None,
) -> RowChanges:
    """See ``Table.update``."""
    if not isinstance(set_, Mapping):
        refuse("set_", "a mapping of columns to values", set_)
    commit_as = StatementCommit("UPDATE", commit_user, identifier, properties)
    if runner is not None:
        return runner.update(table, set_, where, commit_as)
    facts = table.current_facts
    facts.require_changeable()
    with facts.blaming_old_columns():
        if not set_:
            message = f"update of {facts.name}: no column is given"
            raise InvalidInputError(message)
        assignments = bind(set_, facts.schema, {TARGET: arrow_schema(facts.schema.fields)})
        if facts.schema.is_primary_key_table:
            check_updatable(facts, "update", assignments.names)
        predicate = bound_filter(where, facts.schema.fields)
        return _changed(facts, lambda: UpdateStatement(facts.schema, predicate, assignments), commit_as)


@reporting_drops
def merge(
    table: HasFacts,
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
    """See ``Table.merge``."""
    commit_as = StatementCommit("MERGE", commit_user, identifier, properties)
    if runner is not None:
        return runner.merge(
            table,
            cast("Source", source),
            on,
            when_matched=when_matched,
            when_not_matched=when_not_matched,
            when_not_matched_by_source=when_not_matched_by_source,
            commit_as=commit_as,
        )
    facts = table.current_facts
    facts.require_changeable()
    matched = listed_clauses(when_matched, "when_matched", Update, Delete)
    inserted = listed_clauses(when_not_matched, "when_not_matched", Insert)
    left_over = listed_clauses(when_not_matched_by_source, "when_not_matched_by_source", Update, Delete)
    if not (matched or inserted or left_over):
        message = f"merge into {facts.name}: no clause is given; add at least one"
        raise InvalidInputError(message)
    with facts.blaming_old_columns():
        bound = Merge.of(
            facts.name,
            facts.schema,
            cast("Rows", source),
            on,
            matched=matched,
            not_matched=inserted,
            not_matched_by_source=left_over,
        )
        if facts.schema.is_primary_key_table:
            check_updatable(facts, "merge", bound.assigned)
            if bound.deletes:
                check_deletable(facts, "merge with a delete clause")
        return _changed(facts, lambda: MergeStatement(bound), commit_as)


def listed_clauses(clauses: _C | Sequence[_C], argument: str, *kinds: type) -> tuple[_C, ...]:
    """Return the clauses of an argument, which is one clause or a sequence.

    Raises:
        InvalidInputError: a clause is of another kind.
    """
    listed = tuple(clauses) if isinstance(clauses, Sequence) else (clauses,)
    for clause in listed:
        if not isinstance(clause, kinds):
            refuse(argument, f"{' or '.join(kind.__name__ for kind in kinds)}, one or a sequence", clause)
    return listed


def replace_rows(
    facts: TableFacts, where: Predicate, write: Callable[[TableFacts], Messages]
) -> tuple[Messages, CommitCheck]:
    """Replace the rows that a filter selects in a table without primary key. Return the messages and their check.

    Commit them together by ``BatchCommit.commit``. If another commit has changed the same files, or has added files
    that may have such rows, this raises ``FileConflict`` and you can repeat the work.

    Raises:
        UnsupportedFeature: the table has a primary key.
    """
    if facts.schema.is_primary_key_table:
        feature = "replacing rows by a condition on a table with a primary key"
        raise UnsupportedFeature(
            feature, f"table {facts.name}: {feature}; overwrite its partitions, or upsert and delete"
        )
    latest = latest_state(facts)
    plan = Scan(latest, None, where).plan()
    require_known_columns(facts, plan)
    with explaining_expiry(facts.store, plan.snapshot):
        removed = AppendTableChanges(facts, plan, DeleteStatement(facts.schema, where)).write()
    with DeletingOnFailure(lambda: facts.delete_message_files(removed)):
        messages = (*removed, *(replace(message, rewrites=True) for message in write(facts)))
    return messages, partial(_refuse_new_files, latest, where, plan)


def _refuse_new_files(facts: TableFacts, where: Predicate, plan: Plan, latest: Snapshot | None) -> None:
    """Refuse to replace the rows of a plan if the latest snapshot may have more of them.

    Raises:
        FileConflict: names a file that other commits have added since the plan.
    """
    base_id = 0 if plan.snapshot is None else plan.snapshot.id
    if latest is None or latest.id == base_id:
        return
    added = _file_names(Scan(facts, None, where).plan()) - _file_names(plan)
    if added:
        message = (
            f"{facts.name}: rows were replaced as of snapshot {base_id}, but others have added {min(added)} since, "
            "which may have such rows too. Nothing was committed; replace them again"
        )
        raise FileConflict(message)


def _file_names(plan: Plan) -> set[str]:
    return {file.file_name for split in plan.splits for file in split.files}


def _changed(facts: TableFacts, bind_statement: Callable[[], RowStatement], commit_as: StatementCommit) -> RowChanges:
    def attempt(_: str) -> tuple[Messages, RowChanges]:
        statement = bind_statement()
        keyed = facts.schema.is_primary_key_table
        latest = latest_state(facts)
        scan = whole_state(latest, statement.where) if keyed else Scan(latest, None, statement.where)
        plan = scan.plan()
        require_known_columns(facts, plan)
        changes = PrimaryKeyChanges(facts, scan, statement) if keyed else AppendTableChanges(facts, plan, statement)
        with explaining_expiry(facts.store, plan.snapshot):
            messages = changes.write()
        return messages, changes.counts

    return commit_statement(facts, attempt, commit_as)


def commit_statement(
    facts: TableFacts, attempt: Callable[[str], tuple[Messages, RowChanges]], commit_as: StatementCommit
) -> RowChanges:
    """Run a statement and commit it once. The work is done by this process or by the tasks of a cluster.

    ``attempt`` reads the latest snapshot, writes files for the given commit user, and returns their messages and the
    number of rows. It is called again after a conflict, up to a limit.

    Raises:
        ConflictError: other commits kept changing the same files or keys; nothing was committed.
        CommitOutcomeUnknown: the commit may have succeeded; repeat it with the same user and identifier.
    """
    CommitArguments.of(commit_as.identifier, properties=commit_as.properties)
    facts.require_changeable()
    commit = BatchCommit(facts, commit_as.commit_user)
    if commit_as.identifier is not None and commit.is_committed(commit_as.identifier):
        return RowChanges()
    counts = RowChanges()

    def write() -> Messages:
        nonlocal counts
        messages, counts = attempt(commit.commit_user)
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


def latest_state(facts: TableFacts) -> TableFacts:
    """Return the facts for a scan of the latest state of this branch, regardless of the read options."""
    keys = {*STATE_KEYS, *FALLBACK_BRANCH.keys}
    return replace(facts, options=TableOptions({k: v for k, v in facts.options.raw.items() if k not in keys}))


def require_known_columns(facts: TableFacts, plan: Plan) -> None:
    """Refuse to change rows if the schema has changed since the statement began."""
    refuse_newer(plan.schemas.values(), facts.schema, plan.fields, where=facts.name, rewriting=True)
