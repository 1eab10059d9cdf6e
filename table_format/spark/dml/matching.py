"""The match condition of a MERGE, and the rows of the table that it can match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from table_format.errors import InvalidInputError
from table_format.kernels.values import values_of
from table_format.model.arguments import name_or_names, texts_by_text
from table_format.model.column_names import no_such_column
from table_format.model.predicate import And, Compare, CompareOp, In, Literal, Predicate
from table_format.model.schema import TableSchema
from table_format.model.types import (
    AnyTimestampType,
    BooleanType,
    DataField,
    DateType,
    DecimalType,
    IntegerType,
    InternalValue,
    VarCharType,
)
from table_format.spark.dml.clauses import named
from table_format.spark.names import Names, column
from table_format.spark.types import spark_type
from table_format.table.changes.merge_into import On
from table_format.table.rows.casts import cast_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

MatchOn: TypeAlias = On | Column
"""A condition over both relations, as SQL or a Spark column; or columns as for ``Table.merge``."""

_MAX_LISTED_KEYS: Final = 100
"""With up to this many rows of a source, the scan filters by each key; with more, by the bounds of the keys."""

_BOUNDED: Final = (BooleanType, IntegerType, DecimalType, VarCharType, DateType, AnyTimestampType)
"""Types with the same order in Spark and in this library."""


@dataclass(frozen=True)
class Matching:
    """``condition`` determines which rows match. ``pairs`` maps columns of the table to equal columns of the source."""

    condition: Column
    pairs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Relations:
    """The names and columns of the two relations of a MERGE."""

    target: str
    source: str
    schema: TableSchema
    source_schema: StructType
    names: Names

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The names of the columns of the source."""
        return tuple(self.source_schema.names)


def matching_of(on: MatchOn, relations: Relations) -> Matching:
    """Return the match condition of a MERGE.

    Raises:
        ColumnNotFound: a column does not exist.
        InvalidInputError: the list of columns is empty.
    """
    if isinstance(on, Column):
        return Matching(on, {})
    if isinstance(on, str) and relations.names.find(on, relations.schema.field_names) is None:
        return Matching(F.expr(on), equal_columns(on, relations))
    given = texts_by_text(on, "on") if isinstance(on, Mapping) else {n: n for n in name_or_names(on, "on")}
    if not given:
        message = "a merge needs at least one column to join on"
        raise InvalidInputError(message)
    pairs = {
        _found(relations.names, name, relations.schema.field_names, "the table"): _found(
            relations.names, of_source, relations.source_columns, "the source"
        )
        for name, of_source in given.items()
    }
    tests = (named(relations.target, name) == named(relations.source, other) for name, other in pairs.items())
    return Matching(reduce(and_, tests), pairs)


def _found(names: Names, name: str, columns: Sequence[str], where: str) -> str:
    found = names.find(name, columns)
    if found is None:
        raise no_such_column(name, columns, f"of {where}")
    return found


def equal_columns(text: str, relations: Relations) -> Mapping[str, str]:
    """Return columns of the table that a condition requires to equal columns of the source. Some may be missing."""
    # The SQL parser takes longer to import than the rest of the library.
    from table_format.codecs.spark_columns import equalities_of_text

    pairs: dict[str, str] = {}
    for equality in equalities_of_text(text):
        found = dict(side for name in equality if (side := _side(name, relations)) is not None)
        if len(found) == len(equality):
            pairs.setdefault(found["target"], found["source"])
    return pairs


def same_column(text: object, relations: Relations) -> tuple[str, str] | None:
    """Return the relation, ``target`` or ``source``, and the column of a text that is only a column; otherwise
    ``None``.
    """
    from table_format.codecs.spark_columns import column_of_text

    found = column_of_text(text) if isinstance(text, str) else None
    return None if found is None else _side(found, relations)


def _side(named_column: tuple[str, str], relations: Relations) -> tuple[str, str] | None:
    qualifier, name = named_column
    names = relations.names
    of_target = names.find(name, relations.schema.field_names)
    of_source = names.find(name, relations.source_columns)
    if qualifier:
        of_target = of_target if qualifier.lower() == relations.target.lower() else None
        of_source = of_source if qualifier.lower() == relations.source.lower() else None
    if of_target is not None and of_source is None:
        return "target", of_target
    # Spark refuses a name that both relations have.
    return ("source", of_source) if of_source is not None and of_target is None else None


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """The match columns of the source of a MERGE.

    Every row of the table that can match a row of the source meets ``bounds``. If the rows ``are_distinct``, no row
    of the table matches two of them.
    """

    bounds: Predicate | None
    are_distinct: bool


def source_keys(source: DataFrame, columns: StructType, matching: Matching, schema: TableSchema) -> SourceKeys:
    """Evaluate the match columns of a source.

    Columns whose types differ from those of the source are left out, because Spark chooses the type of the comparison.
    """
    pairs = [
        (schema.field(name), other)
        for name, other in matching.pairs.items()
        if isinstance(schema.field(name).type, _BOUNDED)
        and spark_type(schema.field(name).type) == columns[other].dataType
    ]
    if not pairs:
        return SourceKeys(None, are_distinct=False)
    keys = source.select(*(column(other).alias(f"k{n}") for n, (_, other) in enumerate(pairs)))
    listed = keys.limit(_MAX_LISTED_KEYS + 1).toArrow()
    if listed.num_rows <= _MAX_LISTED_KEYS:
        bounds = And(tuple(_one_of(field, listed[f"k{n}"]) for n, (field, _) in enumerate(pairs)))
        return SourceKeys(bounds if listed.num_rows else Literal(value=False), _are_distinct(listed))
    ends = [f(f"k{n}").alias(f"{end}{n}") for n in range(len(pairs)) for end, f in _ENDS]
    found = keys.agg(*ends).toArrow()
    ranges = (_between(field, found[f"min{n}"], found[f"max{n}"]) for n, (field, _) in enumerate(pairs))
    return SourceKeys(And(tuple(test for tests in ranges for test in tests)), are_distinct=False)


def _are_distinct(keys: pa.Table) -> bool:
    """Return whether no two keys are equal. A key with a null equals none."""
    whole = keys.drop_null()
    return whole.group_by(whole.column_names).aggregate([]).num_rows == whole.num_rows


_ENDS: Final = (("min", F.min), ("max", F.max))


def _one_of(field: DataField, keys: pa.ChunkedArray) -> Predicate:
    values = _values(field, pc.unique(keys).drop_null())
    return In(field.name, tuple(values)) if values else Literal(value=False)


def _between(field: DataField, low: pa.ChunkedArray, high: pa.ChunkedArray) -> Iterator[Predicate]:
    for op, end in ((CompareOp.GE, low), (CompareOp.LE, high)):
        (value,) = _values(field, end)
        yield Literal(value=False) if value is None else Compare(field.name, op, value)


def _values(field: DataField, keys: pa.Array | pa.ChunkedArray) -> list[InternalValue]:
    array = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    return list(values_of(cast_column(array, field.type, field.name), field.type))
