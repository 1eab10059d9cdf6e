"""Computes the rows that a statement changes as a DataFrame: kind of change, identity of the old row, and new values.
The columns of the table are named ``v0``, ``v1`` and so on, since their real names may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from table_format.errors import InvalidData
from table_format.model.types import ArrayType, BytesType, MapType, MultisetType, RowType, TextType
from table_format.options.merge import MergeEngine
from table_format.options.stream import ChangelogProducer
from table_format.spark.dml.clauses import BoundClause, first_that_holds, named
from table_format.spark.dml.store_assignment import stored
from table_format.spark.read.numbered_rows import FILE, POSITION
from table_format.spark.types import spark_type
from table_format.spark.write.few_rows import are_few
from table_format.spark.write.sizes import WIDEST_VALUE, lengths_of
from table_format.table.changes.row_changes import RowChanges
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KIND: Final = "__dml_kind"
"""``UPDATED``, ``DELETED`` or ``INSERTED``; null for a row that matches and does not change."""

UPDATED, DELETED, INSERTED = 1, 2, 3

SOURCE_ROW: Final = "__dml_source_row"
"""The number of a row of the source of a MERGE."""

NULLED: Final = "__dml_nulled"
"""Whether a null was assigned, which ``partial-update`` treats as no value."""

LOWERED: Final = "__dml_lowered"
"""Whether the old row wins over the new one by ``sequence.field``."""

_CLAUSE: Final = "__dml_clause"


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of the DataFrames of changes of one statement.

    With ``with_rows``, they include the values of updated and inserted rows, and on a primary-key table of deleted
    rows. With ``with_before``, they also include the old values of updated rows.
    """

    facts: TableFacts
    assigned: frozenset[str]
    with_rows: bool
    with_before: bool

    @classmethod
    def of(cls, facts: TableFacts, clauses: Sequence[BoundClause], inserts: Sequence[BoundClause] = ()) -> Shape:
        """Return the shape for clauses that change rows and clauses that insert rows."""
        keyed = facts.schema.is_primary_key_table
        assigned = frozenset(name for clause in clauses for name in clause.values or ())
        merge = facts.options.merge
        with_before = (
            keyed
            and facts.options.stream.changelog_producer is ChangelogProducer.INPUT
            and merge.engine is MergeEngine.DEDUPLICATE
            and not assigned.intersection(merge.sequence_fields)
        )
        return cls(facts, assigned, keyed or any(c.values is not None for c in (*clauses, *inserts)), with_before)

    @property
    def is_keyed(self) -> bool:
        """Whether the table has a primary key."""
        return self.facts.schema.is_primary_key_table

    @property
    def values(self) -> tuple[str, ...]:
        """The columns with the values of the columns of the table."""
        return tuple(f"v{n}" for n in range(len(self.facts.schema.fields))) if self.with_rows else ()

    @property
    def before(self) -> tuple[str, ...]:
        """The columns with the old values of updated rows."""
        return tuple(f"o{n}" for n in range(len(self.facts.schema.fields))) if self.with_before else ()

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify the row of the table."""
        if not self.is_keyed:
            return FILE, POSITION
        at = self.facts.schema.field_names.index
        return tuple(f"v{at(name)}" for name in self.facts.schema.primary_keys)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the DataFrames of changes have in common."""
        numbers = () if self.is_keyed else (FILE, POSITION)
        return (KIND, *numbers, *self.values, *self.before, NULLED, LOWERED)


def changes_of(
    rows: DataFrame, target: str, clauses: Sequence[BoundClause], shape: Shape, keep: Sequence[str] = ()
) -> DataFrame:
    """Apply to each row the first clause whose condition is true. ``target`` has the columns of the table.

    Rows to which no clause applies get no kind. ``keep`` are additional columns of the result.

    Raises:
        InvalidData: the type of a value cannot be stored in its column.
    """
    facts = shape.facts
    decided, values = _decided(rows, clauses, facts)
    kinds = [DELETED if clause.values is None else UPDATED for clause in clauses]
    numbers = [] if shape.is_keyed else [F.col(FILE), F.col(POSITION)]
    new = {
        f.name: _chosen(values, f.name, named(target, f.name)) if f.name in shape.assigned else named(target, f.name)
        for f in facts.schema.fields
    }
    columns = [c.alias(v) for v, c in zip(shape.values, new.values(), strict=False)]
    before = [named(target, f.name).alias(o) for o, f in zip(shape.before, facts.schema.fields, strict=False)]
    notes = [F.lit(False).alias(NULLED), F.lit(False).alias(LOWERED)]
    if shape.is_keyed:
        old = {name: named(target, name) for name in new}
        notes = [_is_nulled(shape, new, old).alias(NULLED), _is_lowered(shape, new, old).alias(LOWERED)]
    kept = [F.col(name) for name in keep]
    return decided.select(_kind(kinds).alias(KIND), *numbers, *columns, *before, *notes, *kept)


def insertions_of(rows: DataFrame, clauses: Sequence[BoundClause], shape: Shape) -> DataFrame:
    """Return the rows to insert: for each row of a source, the values of the first clause whose condition is true.

    Raises:
        InvalidData: the type of a value cannot be stored in its column.
    """
    facts = shape.facts
    decided, values = _decided(rows, clauses, facts)
    none = {f.name: F.lit(None).cast(spark_type(f.type, f.name)) for f in facts.schema.fields}
    numbers = (
        [] if shape.is_keyed else [F.lit(None).cast("string").alias(FILE), F.lit(None).cast("bigint").alias(POSITION)]
    )
    columns = [
        _chosen(values, name, null).alias(v) for v, (name, null) in zip(shape.values, none.items(), strict=False)
    ]
    before = [null.alias(o) for o, null in zip(shape.before, none.values(), strict=False)]
    notes = [F.lit(False).alias(NULLED), F.lit(False).alias(LOWERED)]
    return decided.where(F.col(_CLAUSE).isNotNull()).select(
        F.lit(INSERTED).alias(KIND), *numbers, *columns, *before, *notes
    )


def _decided(
    rows: DataFrame, clauses: Sequence[BoundClause], facts: TableFacts
) -> tuple[DataFrame, Sequence[Mapping[str, Column]]]:
    """Return the rows with the number of their clause, and the values of each clause, cast to the column types."""
    decided = rows.withColumn(_CLAUSE, first_that_holds(clauses).cast("int"))
    found: list[Mapping[str, Column]] = []
    for clause in clauses:
        values = clause.values or {}
        types = (
            decided.select(*(value.alias(f"v{n}") for n, value in enumerate(values.values()))).schema if values else ()
        )
        found.append(
            {
                name: stored(value, typed.dataType, facts.schema.field(name), facts.name)
                for (name, value), typed in zip(values.items(), types, strict=True)
            }
        )
    return decided, found


def _chosen(values: Sequence[Mapping[str, Column]], name: str, otherwise: Column) -> Column:
    """Return the value of a column from the clause of each row."""
    found: Column | None = None
    for number, of_clause in enumerate(values):
        if name in of_clause:
            holds = F.col(_CLAUSE) == number
            found = F.when(holds, of_clause[name]) if found is None else found.when(holds, of_clause[name])
    return otherwise if found is None else found.otherwise(otherwise)


def _kind(kinds: Sequence[int]) -> Column:
    found = F.lit(None).cast("int")
    for number, kind in enumerate(kinds):
        found = F.when(F.col(_CLAUSE) == number, kind).otherwise(found)
    return found


def _is_nulled(shape: Shape, new: Mapping[str, Column], old: Mapping[str, Column]) -> Column:
    merge = shape.facts.options.merge
    if merge.engine is not MergeEngine.PARTIAL_UPDATE:
        return F.lit(False)
    grouped = {name for group in merge.sequence_groups.values() for name in group}
    plain = sorted(shape.assigned.difference(grouped, *(key.split(",") for key in merge.sequence_groups)))
    return reduce(or_, (new[name].isNull() & old[name].isNotNull() for name in plain), F.lit(False))


def _is_lowered(shape: Shape, new: Mapping[str, Column], old: Mapping[str, Column]) -> Column:
    merge = shape.facts.options.merge
    if not shape.assigned.intersection(merge.sequence_fields):
        return F.lit(False)
    after, before = (F.struct(*(rows[name].alias(name) for name in merge.sequence_fields)) for rows in (new, old))
    return after > before if merge.sequence_descending else after < before


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of the changed rows: their numbers, and the deleted or changed rows by file."""

    counts: RowChanges
    files: Mapping[str, int]
    most_matches: int
    nulled: int
    lowered: int
    size: int | None
    """The total size of their values in bytes; ``None`` if the table has nested columns."""

    @property
    def are_few(self) -> bool:
        """Whether the driver may collect the changed rows."""
        counts = self.counts
        return are_few(counts.inserted + counts.updated + counts.deleted, self.size)


NOTHING: Final = Statistics(RowChanges(), {}, 0, 0, 0, 0)


def statistics_of(changes: DataFrame, shape: Shape, *, may_repeat: bool = False) -> Statistics:
    """Evaluate a frame of changes, count the rows, and look for several changes of one row of the table.

    Raises:
        InvalidData: a value does not fit its column.
    """
    # Text, because each function and operator of a ``Column`` is a call to the JVM.
    size = _row_size(shape)
    sums = {
        "inserted": f"count_if({KIND} = {INSERTED})",
        "updated": f"count_if({KIND} = {UPDATED})",
        "deleted": f"count_if({KIND} = {DELETED})",
        "nulled": f"count_if({NULLED} AND {KIND} = {UPDATED})",
        "lowered": f"count_if({LOWERED} AND {KIND} = {UPDATED})",
        "size": f"sum(CASE WHEN {KIND} IS NOT NULL THEN {size or '0L'} END)",
    }
    most = "1"
    if may_repeat:
        matches = F.expr(f"count_if({KIND} IS NULL OR {KIND} <> {INSERTED}) AS most")
        changes = changes.groupBy(*shape.identity).agg(matches, *_named(sums))
        sums = {name: f"sum({name})" for name in sums}
        most = "max(most)"
    groups = [] if shape.is_keyed else [FILE]
    with explaining_values():
        found = changes.groupBy(*groups).agg(F.expr(f"{most} AS most"), *_named(sums)).collect()
    total = {name: sum(row[name] or 0 for row in found) for name in sums}
    touched = {row[FILE]: row["updated"] + row["deleted"] for row in found} if groups else {}
    return Statistics(
        RowChanges(total["inserted"], total["updated"], total["deleted"]),
        {name: rows for name, rows in touched.items() if rows},
        max((row["most"] or 0 for row in found), default=0),
        total["nulled"],
        total["lowered"],
        None if size is None else total["size"],
    )


def _named(expressions: Mapping[str, str]) -> list[Column]:
    return [F.expr(f"{text} AS {name}") for name, text in expressions.items()]


def _row_size(shape: Shape) -> str | None:
    """Return the size of the values of a row in bytes, as SQL; ``None`` if the table has nested columns."""
    types = [field.type for field in shape.facts.schema.fields]
    if any(isinstance(type_, ArrayType | MapType | MultisetType | RowType) for type_ in types):
        return None
    wide = [
        name
        for names in (shape.values, shape.before)
        for name, type_ in zip(names, types, strict=False)
        if isinstance(type_, TextType | BytesType)
    ]
    fixed = f"{WIDEST_VALUE * len(shape.columns)}L"
    return f"({fixed} + {lengths_of(wide)})" if wide else fixed


@contextmanager
def explaining_values() -> Iterator[None]:
    """Convert errors of ``store_assignment`` about a value to errors of the library.

    Raises:
        InvalidData: a value does not fit its column.
    """
    try:
        yield
    except PySparkException as error:
        message = str((error.getMessageParameters() or {}).get("errorMessage", ""))
        if error.getCondition() == "USER_RAISED_EXCEPTION" and message.startswith("table "):
            raise InvalidData(message) from error
        raise
