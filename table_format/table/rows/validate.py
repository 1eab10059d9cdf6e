"""Validates input rows. If a row does not fit the table, nothing is written.

Columns are matched by name; none may be missing or additional. Values are cast without loss. A null in a NOT NULL
column is refused. Row kinds become numbers. Messages name the column, the value and the row, counted from 0 over all
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.counted import counted
from table_format.errors import InvalidData, UnsupportedFeature
from table_format.formats.char_keys import without_padding
from table_format.formats.registry import check_values
from table_format.model.arrow_calls import if_else, not_equal
from table_format.model.arrow_types import arrow_schema, described
from table_format.model.default_values import default_of
from table_format.model.row_kind import ROW_KIND_COLUMN, ROW_KIND_TEXT, RowKind
from table_format.model.schema import VALUE_KIND, TableSchema
from table_format.model.types import (
    MAX_LENGTH,
    NESTED,
    ArrayType,
    BytesType,
    CharType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TextType,
    VarCharType,
    types_in,
)
from table_format.options.char_keys import char_keys
from table_format.options.file_formats import PARQUET
from table_format.options.merge import MergeOptions
from table_format.options.table_options import TableOptions
from table_format.table.rows.casts import cast_column
from table_format.table.rows.map_keys import with_single_keys

_FOR_WHAT_OTHERS_REFUSE = frozenset({PARQUET.name})
"""Rows that another format cannot hold are kept in Parquet (``formats/storable``), so it must hold every row."""

# Arrow imports pandas when it first converts Python values; importing this module should not do that.


@cache
def _kinds() -> pa.Array:
    return pa.array(ROW_KIND_TEXT)


@cache
def _retracts() -> pa.Array:
    return pa.array([kind.value for kind in RowKind if kind.is_retract], pa.int8())


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules for the rows of one table.

    ``formats`` are those of all files of the table. A value that one of them cannot store would otherwise be accepted,
    and stop a later compaction that writes files of that format. Without ``check_lengths``, texts and bytes may be
    longer than their columns: they come from rows of another writer that ignores lengths.
    """

    schema: TableSchema
    merge: MergeOptions
    formats: frozenset[str] = frozenset()
    check_lengths: bool = True

    @classmethod
    def of(cls, schema: TableSchema, options: TableOptions, *, check_lengths: bool = True) -> RowRules:
        """Return the rules of a table with these options."""
        return cls(schema, options.merge, options.written_formats, check_lengths)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse rows whose columns are not those of the table.

        Raises:
            InvalidData: names the columns that are missing, additional or duplicate.
        """
        allowed = {*self.schema.field_names, self._kind_column}
        problems = []
        if missing := [name for name in self.schema.field_names if name not in names]:
            problems.append(f"missing: {', '.join(missing)}")
        if extra := [name for name in names if name not in allowed]:
            problems.append(f"not in the table: {', '.join(extra)}")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            problems.append(f"more than once: {', '.join(twice)}")
        alike = {name.lower(): name for name in missing}
        if cases := [f"{name} and {alike[name.lower()]}" for name in extra if name.lower() in alike]:
            problems.append(f"different in case only: {', '.join(cases)}")
        if problems:
            message = f"the columns of the rows differ from those of the table; {'; '.join(problems)}"
            raise InvalidData(message)

    def conform(self, batch: pa.RecordBatch, *, first_row: int = 0) -> pa.RecordBatch:
        """Return the rows to write: the columns of the table, followed by ``_VALUE_KIND`` on a primary key table.

        Raises:
            InvalidData: a value, a null or a row kind that the table cannot hold.
        """
        kinds = self._kinds(batch, first_row)
        columns = [self._cast(batch.column(f.name), f, kinds, first_row) for f in self.schema.fields]
        columns = self._without_padding(columns, self.schema.fields)
        columns = [with_single_keys(c, f.type) for c, f in zip(columns, self.schema.fields, strict=True)]
        for field, column in zip(self.schema.fields, columns, strict=True):
            _check_nulls(field, column, first_row)
            _check_texts(field, column, first_row)
        columns = [_with_default(column, f) for column, f in zip(columns, self.schema.fields, strict=True)]
        for field, column in zip(self.schema.fields, columns, strict=True):
            check_values(column, field, self.formats | _FOR_WHAT_OTHERS_REFUSE)
        schema = arrow_schema(self.schema.fields)
        if kinds is None:
            kinds = pa.array(np.zeros(batch.num_rows, np.int8))
        else:
            columns, kinds = self._without_ignored(columns, kinds)
            self._check_retracts(kinds, first_row)
        if not self.schema.primary_keys:
            return pa.RecordBatch.from_arrays(columns, schema=schema)
        kind_field = pa.field(VALUE_KIND.name, pa.int8(), nullable=False)
        return pa.RecordBatch.from_arrays([*columns, kinds], schema=schema.append(kind_field))

    def conform_columns(self, batch: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
        """Return some columns of the rows with the types of the table.

        Raises:
            InvalidData: a value or a null that the table cannot hold.
        """
        columns = [cast_column(batch.column(f.name), f.type, f.name) for f in fields]
        columns = self._without_padding(columns, fields)
        for field, column in zip(fields, columns, strict=True):
            _check_nulls(field, column, 0)
            _check_texts(field, column, 0)
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))

    def _cast(self, column: pa.Array, field: DataField, kinds: pa.Array | None, first_row: int) -> pa.Array:
        """Cast a column to the type of the table. A row that retracts may hold longer values: it deletes a row that
        another writer wrote.
        """
        retracts = None if kinds is None or not _has_length(field.type) else pc.is_in(kinds, _retracts())
        if retracts is None or not retracts.true_count or not self.check_lengths:
            return cast_column(column, field.type, field.name, first_row=first_row, check_lengths=self.check_lengths)
        found = cast_column(column, field.type, field.name, first_row=first_row, check_lengths=False)
        added = if_else(retracts, pa.scalar(None, found.type), found)
        cast_column(added, field.type, field.name, first_row=first_row)
        return found

    def _without_padding(self, columns: list[pa.Array], fields: Sequence[DataField]) -> list[pa.Array]:
        names = char_keys(self.schema, self.formats)
        if not names:
            return columns
        return [without_padding(c) if f.name in names else c for c, f in zip(columns, fields, strict=True)]

    def without_ignored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows without those of a kind that the table options ignore.

        Raises:
            InvalidData: a row kind does not exist.
        """
        kinds = self._kinds(batch, 0) if self.merge.ignore_delete or self.merge.ignore_update_before else None
        return batch if kinds is None else batch.filter(self._kept(kinds))

    @property
    def _kind_column(self) -> str | None:
        if self.merge.rowkind_field is not None:
            return self.merge.rowkind_field
        # A table of another program may have a column of this name; then it is an ordinary column.
        return None if ROW_KIND_COLUMN in self.schema.field_names else ROW_KIND_COLUMN

    def _kinds(self, batch: pa.RecordBatch, first_row: int) -> pa.Array | None:
        name = self._kind_column
        if name is None or name not in batch.schema.names:
            return None
        texts = batch.column(name)
        if pa.types.is_dictionary(texts.type):
            texts = cast("pa.DictionaryArray", texts).dictionary_decode()
        if pa.types.is_null(texts.type) and len(texts):
            texts = texts.cast(pa.string())
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            message = f"column '{name}' holds row kinds as text, not as {described(texts.type)}"
            raise InvalidData(message)
        kinds = pc.index_in(texts.cast(pa.string()), _kinds())
        if kinds.null_count:  # as in Java, the letter may be in lower case
            kinds = pc.index_in(pc.utf8_upper(texts.cast(pa.string())), _kinds())
        if kinds.null_count:
            row = pc.index(pc.is_null(kinds), value=True).as_py()
            message = (
                f"column '{name}' holds {texts[row].as_py()!r} in row {first_row + row}; "
                f"a row kind is one of {', '.join(ROW_KIND_TEXT)}"
            )
            raise InvalidData(message)
        return kinds.cast(pa.int8())

    def _without_ignored(self, columns: list[pa.Array], kinds: pa.Array) -> tuple[list[pa.Array], pa.Array]:
        if not (self.merge.ignore_delete or self.merge.ignore_update_before):
            return columns, kinds
        kept = self._kept(kinds)
        return [column.filter(kept) for column in columns], kinds.filter(kept)

    def _kept(self, kinds: pa.Array) -> pa.Array:
        if self.merge.ignore_delete:
            return pc.invert(pc.is_in(kinds, _retracts()))
        return not_equal(kinds, RowKind.UPDATE_BEFORE.value)

    def _check_retracts(self, kinds: pa.Array, first_row: int) -> None:
        if self.schema.primary_keys:
            return
        retracts = pc.is_in(kinds, _retracts())
        if retracts.true_count:
            row = pc.index(retracts, value=True).as_py()
            message = (
                f"a table without primary key cannot retract rows; row {first_row + row} is "
                f"{ROW_KIND_TEXT[kinds[row].as_py()]} ({retracts.true_count} such rows)"
            )
            raise InvalidData(message)


def _has_length(data_type: DataType) -> bool:
    return any(isinstance(t, TextType | BytesType) and t.length < MAX_LENGTH for t in types_in(data_type))


def check_defaults(schema: TableSchema, bucket_keys: Sequence[str]) -> None:
    """Refuse to write a table with default values that this version cannot apply.

    Rows find their partitions and buckets before nulls are replaced.

    Raises:
        InvalidSchema, UnsupportedFeature: names the column.
    """
    for field in schema.fields:
        default = default_of(field)
        if default is not None and field.type.nullable and field.name in (*schema.partition_keys, *bucket_keys):
            feature = "a default value of a partition column or a bucket key that admits nulls"
            message = f"{feature} is not supported: column '{field.name}'; ALTER COLUMN {field.name} DROP DEFAULT"
            raise UnsupportedFeature(feature, message)


def _with_default(column: pa.Array, field: DataField) -> pa.Array:
    """Return the column with nulls replaced by its default value. A NOT NULL column has no nulls."""
    if field.default_value is None or not column.null_count:
        return column
    default = default_of(field)
    return column if default is None else pc.fill_null(column, cast("Any", default))


def _check_nulls(field: DataField, column: pa.Array, first_row: int) -> None:
    if not field.type.nullable and column.null_count:
        row = pc.index(pc.is_null(column), value=True).as_py()
        where = f"the first in row {first_row + row}"
        message = f"column '{field.name}' is {field.type}; found {counted(column.null_count, 'null')}, {where}"
        raise InvalidData(message)
    for path, part, values in _parts(field.name, field.type, column):
        if not part.nullable and values.null_count:
            message = f"column '{path}' is {part}; found {counted(values.null_count, 'null')}"
            raise InvalidData(message)


def _check_texts(field: DataField, column: pa.Array, first_row: int) -> None:
    if not isinstance(field.type, (CharType, VarCharType, *NESTED)):
        return
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        message = f"column '{field.name}' is {field.type}; in the rows from {first_row} on: {error}. Correct the values"
        raise InvalidData(message) from error


def _parts(path: str, data_type: DataType, column: pa.Array) -> Iterator[tuple[str, DataType, pa.Array]]:
    """The parts of a nested column with the values of those parents that are not null."""
    match data_type:
        case ArrayType(element=element):
            parts = [("element", element, cast("pa.ListArray", column).flatten())]
        case MapType(value=value):
            parts = [("value", value, cast("pa.MapArray", column.drop_null()).items)]
        case RowType(fields=fields):
            present = column.drop_null()
            parts = [(f.name, f.type, pc.struct_field(present, i)) for i, f in enumerate(fields)]
        case MultisetType():
            parts = []
        case _:
            return
    for name, part, values in parts:
        yield f"{path}.{name}", part, values
        yield from _parts(f"{path}.{name}", part, values)
