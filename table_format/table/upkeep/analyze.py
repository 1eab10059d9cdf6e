"""ANALYZE: statistics of the current rows of a table, committed in a separate snapshot (format chapter 10, section 8).

The statistics, and the texts of values, are those of Spark's ANALYZE TABLE and Java ``ColStats``.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from table_format.codecs.java_floats import float_text
from table_format.errors import UnsupportedFeature
from table_format.formats.casts import cast_of
from table_format.kernels.column_summary import ColumnSummary, SummaryBuilder
from table_format.kernels.values import values_of
from table_format.metastore.references.expired_reads import retry_if_expired
from table_format.model.snapshot import Snapshot
from table_format.model.statistics import ColumnStatistics, Statistics
from table_format.model.types import (
    MAX_LENGTH,
    NESTED,
    AnyTimestampType,
    DataField,
    DataType,
    DoubleType,
    FloatType,
    TimestampType,
    VarCharType,
)
from table_format.options.declare import Operation
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.read.scan import Scan, columns_argument
from table_format.table.rows.texts import value_text
from table_format.table.write.batch_commit import expire_after_commit, fresh_user


@reporting_drops
def analyze_table(table: HasFacts, columns: Sequence[str] | None) -> tuple[Snapshot, ...]:
    """See ``Table.analyze``."""
    facts = table.current_facts
    with facts.blaming_old_columns():
        snapshots = analyze(facts, fresh_user(facts), columns_argument(columns) or ())
    expire_after_commit(facts)
    return snapshots


def analyze(facts: TableFacts, commit_user: str, columns: Sequence[str]) -> tuple[Snapshot, ...]:
    """Compute and commit statistics of the rows and some columns of the latest snapshot, if there is one.

    They describe the rows that readers see, so that an engine plans with the rows that it will read.

    Raises:
        ColumnNotFound: the table has no such column.
        UnsupportedFeature: a column holds ARRAY, MAP, MULTISET or ROW.
    """
    facts.require(Operation.WRITE)
    fields = _countable(facts, columns)
    found = retry_if_expired(lambda: _counted(facts, fields))
    return () if found is None else (facts.committer(commit_user).analyze(found),)


def _counted(facts: TableFacts, fields: Sequence[DataField]) -> Statistics | None:
    """Return the statistics of the latest snapshot; ``None`` for a table without one."""
    # To count merged rows, a column must be read; every file has the key.
    read = [f.name for f in fields] or [facts.schema.field_names[0]]
    scan = Scan(facts, tuple(read))
    plan = scan.plan()
    if plan.snapshot is None:
        return None
    rows, builders = 0, {f.name: SummaryBuilder(f.type) for f in fields}
    for batch in scan.to_batches():
        rows += batch.num_rows
        for name, builder in builders.items():
            builder.add(batch.column(name))
    return Statistics(
        snapshot_id=plan.snapshot.id,
        schema_id=plan.schema.id,
        merged_record_count=rows,
        merged_record_size=plan.byte_count,
        columns={f.name: _statistics(f, builders[f.name].summary()) for f in fields},
    )


def _countable(facts: TableFacts, columns: Sequence[str]) -> tuple[DataField, ...]:
    fields = facts.schema.select(columns)
    for field in fields:
        if isinstance(field.type, NESTED):
            feature = f"ANALYZE of column '{field.name}' of type {field.type}"
            raise UnsupportedFeature(feature)
    return fields


def _statistics(field: DataField, summary: ColumnSummary) -> ColumnStatistics:
    return ColumnStatistics(
        field_id=field.id,
        distinct_count=summary.distinct_count,
        minimum=_text(summary.minimum, field.type),
        maximum=_text(summary.maximum, field.type),
        null_count=summary.null_count,
        average_length=summary.average_length,
        maximum_length=summary.maximum_length,
    )


def _text(bound: pa.Array, data_type: DataType) -> str | None:
    """The text that Java's serializer of the type reads back."""
    if len(bound) == 0:
        return None
    if isinstance(data_type, AnyTimestampType):
        to_text = cast_of(TimestampType(precision=data_type.precision), VarCharType(length=MAX_LENGTH))
        assert to_text is not None  # noqa: S101 - every timestamp has a text
        text: str = to_text(bound.view(pa.timestamp(bound.type.unit)))[0].as_py()
        return text
    if isinstance(data_type, FloatType | DoubleType):
        return float_text(bound[0].as_py(), single=isinstance(data_type, FloatType))
    return value_text(data_type, values_of(bound, data_type)[0])
