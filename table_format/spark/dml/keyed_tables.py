"""Writes changes of a table with a primary key as rows with row kinds, like any DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.commit import CommitMessage
from table_format.model.row_kind import ROW_KIND_COLUMN, RowKind
from table_format.model.snapshot import Snapshot
from table_format.spark.dml.changed_rows import DELETED, INSERTED, KIND, UPDATED, Shape, Statistics
from table_format.spark.write.few_rows import write_changed_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TEXTS = {UPDATED: RowKind.UPDATE_AFTER.text, DELETED: RowKind.DELETE.text, INSERTED: RowKind.INSERT.text}


def write_by_key(
    changes: DataFrame, shape: Shape, found: Statistics, base: Snapshot | None, commit_user: str
) -> tuple[CommitMessage, ...]:
    """Write the changes of rows of the snapshot ``base``, and return the messages. The driver writes few rows itself.

    Raises:
        InvalidData: a value does not fit its column. No files are left.
    """
    counts = found.counts
    if not counts.inserted + counts.updated + counts.deleted:
        return ()
    facts = shape.facts
    kind_column = facts.options.merge.rowkind_field or ROW_KIND_COLUMN
    names = (*facts.schema.field_names, KIND)
    kind = F.when(F.col(KIND) == UPDATED, _TEXTS[UPDATED]).when(F.col(KIND) == DELETED, _TEXTS[DELETED])
    rows = changes.where(F.col(KIND).isNotNull())
    after = [F.col(v) for v in shape.values]
    if shape.with_before and counts.updated:
        rows = _with_before(rows, shape, after, kind.otherwise(_TEXTS[INSERTED]))
    else:
        rows = rows.select(*after, kind.otherwise(_TEXTS[INSERTED]).alias(KIND))
    rows = rows.toDF(*names)
    if kind_column in facts.schema.field_names:
        at = facts.schema.field_names.index(kind_column)
        # The value of the column itself is part of the row, unless the row is a retract.
        retracts = F.col(KIND).isin(RowKind.DELETE.text, RowKind.UPDATE_BEFORE.text)
        columns = [rows[n] for n in range(len(facts.schema.fields))]
        columns[at] = F.when(retracts, F.col(KIND)).otherwise(columns[at]).alias(kind_column)
        rows = rows.select(*columns)
    else:
        rows = rows.withColumnRenamed(KIND, kind_column)
    messages = write_changed_rows(rows, facts, are_few=found.are_few, base=base, commit_user=commit_user)
    identity = snapshot_identity(base)
    return tuple(replace(message, rows_base=identity, numbers_base=None, rewrites=True) for message in messages)


def _with_before(rows: DataFrame, shape: Shape, after: Sequence[Column], kind: Column) -> DataFrame:
    """Return each updated row after its old version. One task sends both, so they stay in this order."""

    def entry(values: Sequence[Column], of_kind: Column) -> Column:
        return F.struct(*(c.alias(f"v{n}") for n, c in enumerate(values)), of_kind.alias(KIND))

    before = entry([F.col(o) for o in shape.before], F.lit(RowKind.UPDATE_BEFORE.text))
    now = entry(after, kind)
    both = F.when(F.col(KIND) == UPDATED, F.array(before, now)).otherwise(F.array(now))
    return rows.select(F.explode(both).alias("row")).select("row.*")
