"""MERGE: joins rows of a source with rows of the table by key columns (Java ``MergeIntoPaimonTable``).

The source is held in memory and the table is streamed. As in SQL, the first clause whose condition holds applies to a
row. It is an error if several rows of the source match one row of the table. A null matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.counted import listed
from table_format.errors import ColumnNotFound, InvalidData, InvalidInputError, UnsupportedFeature
from table_format.kernels.expression_kinds import plain
from table_format.kernels.key_join import NOT_FOUND, JoinIndex, Rows
from table_format.kernels.values import values_of
from table_format.model.arguments import name_or_names, text, texts_by_text
from table_format.model.arrow_calls import concat_batches, repeat
from table_format.model.arrow_types import arrow_schema
from table_format.model.column_names import no_such_column
from table_format.model.expression import SOURCE, TARGET
from table_format.model.predicate import And, Compare, CompareOp, In, Literal, Predicate
from table_format.model.schema import TableSchema
from table_format.model.types import (
    NESTED,
    BytesType,
    DataField,
    FloatingType,
)
from table_format.table.changes.assignments import Assignments, Condition, Scope, Values, bind, bind_condition
from table_format.table.changes.row_changes import Changed, Mask, table_rows
from table_format.table.rows.casts import cast_column
from table_format.table.rows.input import Rows as Input
from table_format.table.rows.input import reader_of

_MAX_LISTED_KEYS: Final = 100
"""Up to this many keys, the scan filters by each key; with more, by their bounds."""

_INSERT_ROWS: Final = 65_536
_NOT_JOINED: Final = (*NESTED, FloatingType)


@dataclass(frozen=True, slots=True)
class Update:
    """Change a row. Without ``set``, all columns except the join columns take the values of the source."""

    set: Values | None = None
    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a row."""

    condition: str | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """Insert a row of the source that has no match. Without ``values``, all columns take the values of the source.
    Columns missing in ``values`` are null.
    """

    values: Values | None = None
    condition: str | None = None


MatchedClause: TypeAlias = Update | Delete
On: TypeAlias = str | Sequence[str] | Mapping[str, str]
"""Columns that both sides have, or a mapping from columns of the table to columns of the source."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A bound clause; without assignments it deletes."""

    condition: Condition | None
    assignments: Assignments | None

    def decides(self, relations: Mapping[str, pa.RecordBatch], open_rows: Mask) -> Mask:
        """Return the undecided rows that the clause applies to."""
        if self.condition is None:
            return open_rows.copy()
        found: Mask = self.condition.holds(relations).to_numpy(zero_copy_only=False)
        return open_rows & found


@dataclass(frozen=True, slots=True)
class Merge:
    """A MERGE bound to a table and its source, shared by all attempts."""

    name: str
    schema: TableSchema
    source: pa.RecordBatch
    on: tuple[DataField, ...]
    keys: tuple[pa.Array, ...]
    index: JoinIndex
    matched: tuple[_Clause, ...]
    not_matched: tuple[_Clause, ...]
    not_matched_by_source: tuple[_Clause, ...]

    @classmethod
    def of(
        cls,
        name: str,
        schema: TableSchema,
        source: Input,
        on: On,
        *,
        matched: Sequence[MatchedClause] = (),
        not_matched: Sequence[Insert] = (),
        not_matched_by_source: Sequence[MatchedClause] = (),
    ) -> Merge:
        """Bind the clauses and index the source.

        Raises:
            ColumnNotFound: a column does not exist.
            InvalidInputError: a clause or an expression is invalid, or a value of the source does not fit.
            UnsupportedFeature: a column cannot be joined on.
        """
        rows = _in_memory(source)
        pairs = _pairs(on)
        fields = tuple(_joinable(schema, target) for target in pairs)
        _check_source(rows.schema, pairs.values())
        keys = tuple(cast_column(rows.column(pairs[f.name]), f.type, f.name) for f in fields)
        target = {TARGET: arrow_schema(schema.fields)}
        both = {**target, SOURCE: rows.schema}
        others = [column for column in schema.field_names if column not in pairs]
        return cls(
            name=name,
            schema=schema,
            source=rows,
            on=fields,
            keys=keys,
            index=JoinIndex.of([f.type for f in fields], keys),
            matched=tuple(_bound(clause, schema, both, others) for clause in matched),
            not_matched=tuple(
                _bound(clause, schema, {SOURCE: rows.schema}, schema.field_names) for clause in not_matched
            ),
            not_matched_by_source=tuple(_bound(clause, schema, target, ()) for clause in not_matched_by_source),
        )

    @property
    def deletes(self) -> bool:
        """Whether a clause deletes rows."""
        return any(clause.assignments is None for clause in (*self.matched, *self.not_matched_by_source))

    @property
    def assigned(self) -> frozenset[str]:
        """The columns of the table that may get new values."""
        clauses = (*self.matched, *self.not_matched_by_source)
        return frozenset().union(*(c.assignments.names for c in clauses if c.assignments is not None))

    @property
    def where(self) -> Predicate | None:
        """A condition that holds for all rows that can match; ``None`` if other rows are affected too."""
        if self.not_matched_by_source:
            return None
        distinct = (pc.unique(key.drop_null()) for key in self.index.keys)
        parts = [part for f, keys in zip(self.on, distinct, strict=True) for part in _bounds(f, keys)]
        return And(tuple(parts)) if parts else Literal(value=True)


class MergeStatement:
    """One attempt of a MERGE (``RowStatement``). It remembers which rows of the source have matched."""

    removes_only = False

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._met = np.zeros(len(merge.index.first_rows), np.bool_)
        self.where: Predicate | None = merge.where
        self.columns = tuple(f.name for f in merge.on)
        self.assigned = merge.assigned

    def find(self, batch: pa.RecordBatch) -> Mask:
        """Return the rows that a clause may affect, and remember the matching rows of the source.

        Raises:
            InvalidData: a row matches several rows of the source.
        """
        keys = self._keys_of(batch)
        met: Mask = keys != NOT_FOUND
        self._met[keys[met]] = True
        concerned = np.zeros(batch.num_rows, np.bool_)
        if self._merge.matched:
            self._check_single(keys[met])
            concerned |= met
        if self._merge.not_matched_by_source:
            concerned |= ~met
        return concerned

    def change(self, rows: pa.RecordBatch) -> Changed:
        """Apply to each row the first clause that fits."""
        merge = self._merge
        keys = self._keys_of(rows)
        deleted = np.zeros(rows.num_rows, np.bool_)
        updated = np.zeros(rows.num_rows, np.bool_)
        parts = [table_rows(rows.slice(0, 0), merge.schema)]
        places: list[Rows] = [np.empty(0, np.int64)]
        for is_matched in (True, False):
            at = np.flatnonzero((keys != NOT_FOUND) == is_matched)
            relations = {TARGET: rows.take(at)}
            if is_matched:
                relations[SOURCE] = merge.source.take(merge.index.first_rows[keys[at]])
            clauses = merge.matched if is_matched else merge.not_matched_by_source
            for clause, chosen in _decided(clauses, relations, len(at)):
                if clause.assignments is None:
                    deleted[at[chosen]] = True
                    continue
                mine = {name: part.filter(pa.array(chosen)) for name, part in relations.items()}
                parts.append(clause.assignments.applied(mine.pop(TARGET), mine))
                places.append(at[chosen])
        place = np.concatenate(places)
        updated[place] = True
        return Changed(deleted, updated, concat_batches(parts).take(np.argsort(place)))

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Return the rows to insert for rows of the source without a match."""
        merge = self._merge
        if not merge.not_matched:
            return
        for start in range(0, merge.source.num_rows, _INSERT_ROWS):
            keys = merge.index.find([key.slice(start, _INSERT_ROWS) for key in merge.keys])
            is_new = keys == NOT_FOUND
            is_new[~is_new] = ~self._met[keys[~is_new]]
            rows = merge.source.slice(start, _INSERT_ROWS).filter(pa.array(is_new))
            for clause, chosen in _decided(merge.not_matched, {SOURCE: rows}, rows.num_rows):
                if clause.assignments is not None:
                    yield clause.assignments.rows_of({SOURCE: rows.filter(pa.array(chosen))})

    def _keys_of(self, batch: pa.RecordBatch) -> Rows:
        return self._merge.index.find([batch.column(f.name) for f in self._merge.on])

    def _check_single(self, keys: Rows) -> None:
        index = self._merge.index
        several = keys[index.counts[keys] > 1]
        if not len(several):
            return
        key = int(several[0])
        fields = zip(self._merge.on, index.keys, strict=True)
        shown = ", ".join(f"{f.name} = {column[key].as_py()!r}" for f, column in fields)
        message = (
            f"merge into {self._merge.name}: {index.counts[key]} rows of the source match the row with {shown}; "
            "remove duplicate keys from the source"
        )
        raise InvalidData(message)


def _decided(
    clauses: Sequence[_Clause], relations: Mapping[str, pa.RecordBatch], row_count: int
) -> Iterator[tuple[_Clause, Mask]]:
    """Return the clauses with the rows to which each is the first to apply."""
    undecided = np.ones(row_count, np.bool_)
    for clause in clauses:
        chosen = clause.decides(relations, undecided)
        undecided &= ~chosen
        if chosen.any():
            yield clause, chosen


def _bound(clause: MatchedClause | Insert, schema: TableSchema, scope: Scope, columns: Sequence[str]) -> _Clause:
    """Bind a clause to the relations in scope. Without values of its own, it takes ``columns`` of the source."""
    condition = None if clause.condition is None else bind_condition(text(clause.condition, "condition"), scope)
    if isinstance(clause, Delete):
        return _Clause(condition, None)
    values = clause.values if isinstance(clause, Insert) else clause.set
    if values is None and SOURCE in scope:
        _check_source(scope[SOURCE], columns)
        values = {name: f"source.{_quoted(name)}" for name in columns}
    if not values:
        message = f"a clause {type(clause).__name__} of a merge: no column is given"
        raise InvalidInputError(message)
    return _Clause(condition, bind(values, schema, scope))


def _in_memory(source: Input) -> pa.RecordBatch:
    table = reader_of(source).read_all()
    names = table.schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"the source has more than one column named {', '.join(twice)}"
        raise InvalidData(message)
    columns = [plain(_one_array(column)) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return cast("pa.Array", column.chunk(0))
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _pairs(on: On) -> dict[str, str]:
    pairs = texts_by_text(on, "on") if isinstance(on, Mapping) else {n: n for n in name_or_names(on, "on")}
    if not pairs:
        message = "a merge needs at least one column to join on"
        raise InvalidInputError(message)
    return pairs


def _joinable(schema: TableSchema, name: str) -> DataField:
    if name not in schema.field_names:
        raise no_such_column(name, schema.field_names, "to merge on")
    field = schema.field(name)
    if isinstance(field.type, _NOT_JOINED):
        feature = f"merge on a column of type {field.type}"
        message = f"column '{name}' is {field.type}: values of this type cannot be join keys"
        raise UnsupportedFeature(feature, message)
    return field


def _check_source(schema: pa.Schema, names: Iterable[str]) -> None:
    missing = [name for name in names if name not in schema.names]
    if missing:
        message = f"the source has no column {listed(missing)}; its columns are {listed(schema.names)}"
        raise ColumnNotFound(message)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _bounds(field: DataField, keys: pa.Array) -> Iterator[Predicate]:
    if len(keys) <= _MAX_LISTED_KEYS:
        yield In(field.name, tuple(values_of(keys, field.type))) if len(keys) else Literal(value=False)
    elif not isinstance(field.type, BytesType):
        bounds = pc.min_max(keys)
        ends = pa.concat_arrays([repeat(bounds["min"], 1), repeat(bounds["max"], 1)])
        low, high = values_of(ends, field.type)
        yield Compare(field.name, CompareOp.GE, low)
        yield Compare(field.name, CompareOp.LE, high)
