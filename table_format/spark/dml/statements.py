"""UPDATE, DELETE and MERGE on Spark: checks, execution and retries.

Java ``UpdatePaimonTableCommand``, ``DeleteFromPaimonTableCommand``, ``MergeIntoPaimonTable``. Checks, commit and
retries are the same functions as without Spark.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from table_format.counted import counted
from table_format.errors import InvalidData, InvalidInputError, UnsupportedFeature
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import CrossPartition
from table_format.spark.dml.append_tables import write_by_file
from table_format.spark.dml.changed_rows import (
    KIND,
    NOTHING,
    SOURCE_ROW,
    Shape,
    Statistics,
    changes_of,
    explaining_values,
    insertions_of,
    statistics_of,
)
from table_format.spark.dml.clauses import (
    BoundClause,
    bound_values,
    condition_column,
    hidden_in,
    mentions,
)
from table_format.spark.dml.keyed_tables import write_by_key
from table_format.spark.dml.matching import Matching, MatchOn, Relations, matching_of, source_keys
from table_format.spark.dml.merge_clauses import bound_clause, texts_of
from table_format.spark.dml.merged_schema import check_held, columns_to_hold
from table_format.spark.dml.target import TargetScan, check_names, latest_target, target_frame, without_reserved_names
from table_format.spark.names import Names, column
from table_format.spark.stream.repeated import compute_repeated
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.types import spark_schema
from table_format.table.changes.assignments import Values
from table_format.table.changes.merge_into import Delete, Insert, MatchedClause, Update
from table_format.table.changes.primary_key_tables import check_deletable, check_updatable
from table_format.table.changes.row_actions import commit_statement, listed_clauses
from table_format.table.changes.row_changes import RowChanges
from table_format.table.changes.statement_commit import StatementCommit
from table_format.table.facts import HasFacts, TableFacts
from table_format.table.write.commit_retries import Messages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BROADCAST_BYTES: Final = 64 << 20
"""A smaller source is broadcast to all tasks that read the table, so the table is not shuffled."""


def delete_on_spark(
    spark: SparkSession,
    table: HasFacts,
    where: object,
    alias: str | None,
    commit_as: StatementCommit,
) -> RowChanges:
    """Delete the rows that match a condition (see ``condition_column``), or all rows."""
    facts = table.current_facts
    facts.require_changeable()
    with facts.blaming_old_columns():
        if facts.schema.is_primary_key_table:
            check_deletable(facts, "delete")
        clause = BoundClause(None, None)
        return _on_rows(spark, facts, where, clause, alias, commit_as, hidden_in([where], facts.schema))


def update_on_spark(
    spark: SparkSession,
    table: HasFacts,
    set_: Values,
    where: object,
    alias: str | None,
    commit_as: StatementCommit,
) -> RowChanges:
    """Update the rows that match a condition (see ``condition_column``), or all rows."""
    facts = table.current_facts
    facts.require_changeable()
    with facts.blaming_old_columns():
        values = bound_values(set_, facts.schema, Names.of(spark), alias or _own_name(facts))
        if not values:
            message = f"update of {facts.name}: no column is given"
            raise InvalidInputError(message)
        if facts.schema.is_primary_key_table:
            check_updatable(facts, "update", frozenset(values))
        hidden = hidden_in([where, *set_.values()], facts.schema)
        return _on_rows(spark, facts, where, BoundClause(None, values), alias, commit_as, hidden)


def _on_rows(
    spark: SparkSession,
    facts: TableFacts,
    where: object,
    clause: BoundClause,
    alias: str | None,
    commit_as: StatementCommit,
    hidden: tuple[str, ...],
) -> RowChanges:
    _check_table(facts)
    condition = condition_column(where, facts.schema.fields)
    name = alias or _own_name(facts)

    def found(target: TargetScan, shape: Shape, kept: _Kept) -> tuple[Sequence[DataFrame], Statistics]:
        rows = target_frame(target).alias(name)
        rows = rows if condition is None else rows.where(condition)
        changes = kept.keep(changes_of(rows, name, [clause], shape))
        return [changes], statistics_of(changes, shape)

    return _carried_out(spark, facts, Shape.of(facts, [clause]), found, commit_as, hidden)


def _own_name(facts: TableFacts) -> str:
    """Return the name of a table without its database."""
    return facts.name.rpartition(".")[2]


@dataclass(frozen=True)
class _Merge:
    """A MERGE bound to its table and its source."""

    facts: TableFacts
    relations: Relations
    matching: Matching
    matched: Sequence[BoundClause]
    not_matched: Sequence[BoundClause]
    not_matched_by_source: Sequence[BoundClause]

    @property
    def clauses(self) -> Sequence[BoundClause]:
        """All clauses that change rows of the table."""
        return (*self.matched, *self.not_matched_by_source)


def merge_on_spark(
    spark: SparkSession,
    table: HasFacts,
    source: DataFrame,
    on: MatchOn,
    *,
    when_matched: MatchedClause | Sequence[MatchedClause],
    when_not_matched: Insert | Sequence[Insert],
    when_not_matched_by_source: MatchedClause | Sequence[MatchedClause],
    target_alias: str | None,
    source_alias: str | None,
    commit_as: StatementCommit,
) -> RowChanges:
    """Merge the rows of a DataFrame into a table."""
    facts = table.current_facts
    facts.require_changeable()
    clauses = {
        "when_matched": listed_clauses(when_matched, "when_matched", Update, Delete),
        "when_not_matched": listed_clauses(when_not_matched, "when_not_matched", Insert),
        "when_not_matched_by_source": listed_clauses(
            when_not_matched_by_source, "when_not_matched_by_source", Update, Delete
        ),
    }
    if not any(clauses.values()):
        message = f"merge into {facts.name}: no clause is given; add at least one"
        raise InvalidInputError(message)
    with facts.blaming_old_columns():
        _check_table(facts)
        if facts.options.write.merge_schema:
            taken = columns_to_hold(facts.schema, source.schema, Names.of(spark), when_matched, when_not_matched)
            check_held(facts, taken)
        texts = [text for listed in clauses.values() for clause in listed for text in texts_of(clause)]
        texts += [] if isinstance(on, Mapping) else [on]
        relations = Relations(
            target_alias or ("target" if mentions("target", texts) else "t"),
            source_alias or ("source" if mentions("source", texts) else "s"),
            facts.schema,
            source.schema,
            Names.of(spark),
        )
        matching = matching_of(on, relations)
        merge = _Merge(
            facts,
            relations,
            matching,
            [bound_clause(clause, facts, relations, matching) for clause in clauses["when_matched"]],
            [bound_clause(clause, facts, relations, None) for clause in clauses["when_not_matched"]],
            [bound_clause(clause, facts, relations, None) for clause in clauses["when_not_matched_by_source"]],
        )
        _check_merge(merge)
        with _Kept() as kept:
            numbered = kept.keep(source.withColumn(SOURCE_ROW, F.monotonically_increasing_id()))

            def found(target: TargetScan, shape: Shape, own: _Kept) -> tuple[Sequence[DataFrame], Statistics]:
                return _merged(merge, numbered, target, shape, own)

            shape = Shape.of(facts, merge.clauses, merge.not_matched)
            changes = _carried_out(spark, facts, shape, found, commit_as, hidden_in(texts, facts.schema))
            if commit_as.identifier is not None and not changes.snapshots:
                compute_repeated(source)
            return changes


def _merged(
    merge: _Merge, source: DataFrame, target: TargetScan, shape: Shape, kept: _Kept
) -> tuple[Sequence[DataFrame], Statistics]:
    """Evaluate the changes of all clauses: matching rows, rows of the table that match none, and new rows."""
    relations = merge.relations
    found: list[DataFrame] = []
    pairs: DataFrame | None = None
    may_repeat = bool(merge.matched)
    if merge.matched or merge.not_matched:
        with explaining_values():
            keys = source_keys(source, source.schema, merge.matching, merge.facts.schema)
        may_repeat = may_repeat and not keys.are_distinct
        near = target_frame(replace(target, bounds=keys.bounds)).alias(relations.target)
        rows = near.join(_sent_to_all(source).alias(relations.source), merge.matching.condition, "inner")
        if merge.matched:
            pairs = kept.keep(changes_of(rows, relations.target, merge.matched, shape, [SOURCE_ROW]))
            found.append(pairs)
        else:
            pairs = rows.select(column(SOURCE_ROW))
    if merge.not_matched_by_source:
        whole = target_frame(target).alias(relations.target)
        rest = whole.join(_sent_to_all(source).alias(relations.source), merge.matching.condition, "left_anti")
        changes = changes_of(rest, relations.target, merge.not_matched_by_source, shape)
        found.append(kept.keep(changes.where(f"{KIND} IS NOT NULL")))
    if merge.not_matched and pairs is not None:
        new = source.join(pairs.select(SOURCE_ROW), SOURCE_ROW, "left_anti").alias(relations.source)
        found.append(kept.keep(insertions_of(new, merge.not_matched, shape)))
    total = statistics_of(_together(found, shape), shape, may_repeat=may_repeat)
    if total.most_matches > 1 and pairs is not None:
        raise _ambiguous(merge, pairs, source, shape, total.most_matches)
    return found, total


def _sent_to_all(source: DataFrame) -> DataFrame:
    """Broadcast the source to all tasks if it is small. Otherwise Spark would shuffle the table."""
    if is_connect(source.sparkSession):
        return source
    size = int(source._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    return F.broadcast(source) if size <= _BROADCAST_BYTES else source


def _ambiguous(merge: _Merge, pairs: DataFrame, source: DataFrame, shape: Shape, most: int) -> InvalidData:
    """Return the error for a row that several rows of the source match, with the values of its match columns."""
    groups = pairs.groupBy(*shape.identity).agg(F.count(F.lit(1)).alias("rows"), F.min(SOURCE_ROW).alias("first"))
    row = groups.where(F.col("rows") > 1).orderBy(F.desc("rows")).first()
    where = "one row"
    if row is not None and merge.matching.pairs:
        columns = list(merge.matching.pairs.items())
        one = source.where(F.col(SOURCE_ROW) == row["first"]).select(*(column(of) for _, of in columns)).first()
        shown = ", ".join(f"{name} = {value!r}" for (name, _), value in zip(columns, one or (), strict=False))
        where = f"the row with {shown}"
    message = (
        f"merge into {merge.facts.name}: {most} rows of the source match {where}; remove duplicate keys from the source"
    )
    return InvalidData(message)


# --- what is refused --------------------------------------------------------------------------------------------------


def _check_table(facts: TableFacts) -> None:
    check_names(facts.schema, facts.name)
    # Changed rows are written with the types that Spark has.
    spark_schema(facts.schema.fields)


def _check_merge(merge: _Merge) -> None:
    facts = merge.facts
    if not facts.schema.is_primary_key_table:
        return
    assigned = frozenset(name for clause in merge.clauses for name in clause.values or ())
    check_updatable(facts, "merge", assigned)
    if any(clause.values is None for clause in merge.clauses):
        check_deletable(facts, "merge with a delete clause")
    moved = sorted(assigned.intersection(facts.schema.partition_keys))
    if moved and isinstance(facts.bucket_mode, CrossPartition):
        feature = "merge of partition columns"
        message = f"merge on {facts.name}: {', '.join(moved)} of the partition cannot be assigned; use update"
        raise UnsupportedFeature(feature, message)


# --- attempts ---------------------------------------------------------------------------------------------------------


class _Kept:
    """DataFrames that Spark persists until the block ends."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def keep(self, frame: DataFrame) -> DataFrame:
        """Return the DataFrame; Spark evaluates it only once."""
        kept = frame.persist()
        self._stack.callback(kept.unpersist)
        return kept


_Find = Callable[[TargetScan, Shape, _Kept], tuple[Sequence["DataFrame"], Statistics]]


def _carried_out(
    spark: SparkSession,
    facts: TableFacts,
    shape: Shape,
    find: _Find,
    commit_as: StatementCommit,
    hidden: tuple[str, ...],
) -> RowChanges:
    """Find the changes on the latest snapshot, write and commit them. Repeat all of it after a conflict.

    ``hidden`` are the metadata columns that the statement names.
    """
    noted = NOTHING

    def attempt(commit_user: str) -> tuple[Messages, RowChanges]:
        nonlocal noted
        target = latest_target(spark, facts, hidden)
        base = target.start.snapshot
        with explaining_expiry(facts.store, base), without_reserved_names(), _Kept() as kept:
            frames, noted = find(target, shape, kept)
            return _written(frames, shape, target, base, noted, commit_user), noted.counts

    changed = commit_statement(facts, attempt, commit_as)
    _warn(facts, commit_as.operation, noted)
    return changed


def _written(
    frames: Sequence[DataFrame],
    shape: Shape,
    target: TargetScan,
    base: Snapshot | None,
    found: Statistics,
    commit_user: str,
) -> Messages:
    counts = found.counts
    if not counts.inserted + counts.updated + counts.deleted:
        return ()
    changes = _together(frames, shape)
    if shape.is_keyed:
        return write_by_key(changes, shape, found, base, commit_user)
    return write_by_file(changes, shape, found, target.plans, base, commit_user)


def _together(frames: Sequence[DataFrame], shape: Shape) -> DataFrame:
    first, *others = (frame.select(*shape.columns) for frame in frames)
    return reduce(lambda all_, frame: all_.unionByName(frame), others, first)


def _warn(facts: TableFacts, operation: str, noted: Statistics) -> None:
    """Warn about written changes that have no effect for readers."""
    if noted.nulled:
        text = (
            f"{operation} on {facts.name}: {counted(noted.nulled, 'row was', 'rows were')} set to null, which "
            "merge-engine=partial-update treats as no value; the columns keep their old values"
        )
        warnings.warn(text, stacklevel=4)
    if noted.lowered:
        text = (
            f"{operation} on {facts.name}: {counted(noted.lowered, 'row was', 'rows were')} given a lower "
            "sequence.field than before, so the old rows win and the change has no effect"
        )
        warnings.warn(text, stacklevel=4)
