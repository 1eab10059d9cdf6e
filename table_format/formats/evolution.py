"""Schema evolution: converts columns of an older schema to the read schema (format chapter 06, section 8).

Columns and ROW fields are matched by id; names and positions do not matter. Columns that the file lacks are null, and
changed types are cast. Partition columns have the values of the partition, whatever the file holds. Java
``SchemaEvolutionUtil``, ``FormatReaderMapping``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidData, UnsupportedFeature
from table_format.formats.casts import BoundCast, Cast, bound_cast_of, cast_of
from table_format.formats.nested import (
    list_values,
    map_entries,
    struct_fields,
    with_list_values,
    with_map_entries,
    with_struct_fields,
)
from table_format.kernels.bounds import ColumnBounds
from table_format.model.arrow_calls import nulls, repeat
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.types import (
    NESTED,
    ArrayType,
    DataField,
    DataType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    MultisetType,
    RowType,
)

NO_CONSTANTS: Final[Mapping[int, pa.Scalar]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Output:
    """The source of one column: its position among the columns read, if the file has it, and its conversion.

    ``constant`` is the id of a column whose value is the same in all rows of the file.
    """

    source: int | None
    cast: Cast | None
    constant: int | None = None


class Evolution:
    """Converts batches of ``file_fields`` to batches of ``fields``.

    The columns with the ids ``constants`` are not read from the file: ``apply`` gets their values.
    """

    def __init__(
        self, file_fields: Sequence[DataField], fields: Sequence[DataField], constants: Collection[int] = ()
    ) -> None:
        """Match the columns by id.

        Raises:
            UnsupportedFeature: this version does not support the change of the type of a column.
        """
        by_id = {f.id: f for f in file_fields if f.id not in constants}
        found = [by_id[f.id] for f in fields if f.id in by_id]
        self.file_fields: tuple[DataField, ...] = tuple(dict.fromkeys(found))
        """The columns that have to be read from the file."""
        self._schema = arrow_schema(fields)
        positions = {f.id: i for i, f in enumerate(self.file_fields)}
        self._outputs = [
            _Output(
                positions.get(f.id),
                evolving_cast(by_id[f.id], f) if f.id in by_id else None,
                f.id if f.id in constants else None,
            )
            for f in fields
        ]

        self._changes_nothing = self.file_fields == tuple(fields)

    def apply(self, batch: pa.RecordBatch, constants: Mapping[int, pa.Scalar] = NO_CONSTANTS) -> pa.RecordBatch:
        """Return a batch of the output columns for a batch of ``file_fields``."""
        if self._changes_nothing:
            return batch
        columns = []
        for output, field in zip(self._outputs, self._schema, strict=True):
            if output.constant is not None:
                columns.append(repeat(constants[output.constant], batch.num_rows))
                continue
            if output.source is None:
                columns.append(nulls(batch.num_rows, field.type))
                continue
            column = batch.column(output.source)
            columns.append(column if output.cast is None else output.cast(column))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


class BoundsEvolution:
    """Converts bounds of a file's columns to bounds of columns of the read schema, if the cast preserves the order."""

    def __init__(self, file_fields: Sequence[DataField], fields: Sequence[DataField]) -> None:
        by_id = {f.id: f for f in file_fields if not isinstance(f.type, NESTED)}
        self._casts: dict[str, tuple[DataField, BoundCast]] = {}
        in_file = {f.id for f in file_fields}
        self._absent = tuple(f.name for f in fields if f.id not in in_file)
        for field in fields:
            file_field = by_id.get(field.id)
            cast = bound_cast_of(file_field.type, field.type) if file_field is not None else None
            if file_field is not None and cast is not None:
                self._casts[field.name] = (file_field, cast)

    @property
    def file_fields(self) -> tuple[DataField, ...]:
        """The columns of the file whose bounds can be converted to the read schema."""
        return tuple(dict.fromkeys(file_field for file_field, _ in self._casts.values()))

    def absent(self, rows: int) -> dict[str, ColumnBounds]:
        """Return the bounds of the columns that the file lacks: all rows are null."""
        return {name: ColumnBounds(None, None, rows, rows) for name in self._absent}

    def apply(self, bounds: Mapping[str, ColumnBounds]) -> dict[str, ColumnBounds]:
        """Convert bounds by column name of the file to bounds by column name of the read schema."""
        result = {}
        for name, (file_field, cast) in self._casts.items():
            known = bounds.get(file_field.name)
            if known is not None:
                result[name] = ColumnBounds(
                    cast(known.minimum),
                    cast(known.maximum),
                    known.null_count,
                    known.row_count,
                    may_hold_nan=known.may_hold_nan and isinstance(file_field.type, FloatType | DoubleType),
                )
        return result


def evolving_cast(old: DataField, new: DataField) -> Cast | None:
    """Return the conversion of a column from an older schema to the current one; ``None`` if nothing has changed.

    Raises:
        UnsupportedFeature: this version does not support the change of the type.
    """
    return _cast(old.type, new.type, new.name)


def _cast(old: DataType, new: DataType, name: str) -> Cast | None:
    if arrow_type(old) == arrow_type(new) and _same_shape(old, new):
        return None
    match old, new:
        case ArrayType(), ArrayType():
            return _array_cast(old, new, name)
        case RowType(), RowType():
            return _row_cast(old, new, name)
        case MapType(), MapType():
            return _map_cast(old, new, name)
        case MultisetType(), MultisetType():
            return _map_cast(old, new, name)
    cast = None if isinstance(new, NESTED) else cast_of(old, new)
    if cast is None:
        feature = f"reading column '{name}' of type {old} as {new}"
        raise UnsupportedFeature(feature)
    return _naming(name, cast)


def _naming(name: str, cast: Cast) -> Cast:
    def named(array: pa.Array) -> pa.Array:
        try:
            return cast(array)
        except InvalidData as error:
            message = f"column '{name}': {error}"
            raise InvalidData(message) from error

    return named


def _same_shape(old: DataType, new: DataType) -> bool:
    """Return whether columns with equal Arrow types need no cast: nested ids are equal, and no length cuts values."""
    match old, new:
        case ArrayType(element=a), ArrayType(element=b):
            return _same_shape(a, b)
        case MapType(key=k, value=a), MapType(key=m, value=b):
            return _same_shape(k, m) and _same_shape(a, b)
        case RowType(fields=old_fields), RowType(fields=new_fields):
            pairs = zip(old_fields, new_fields, strict=False)
            return len(old_fields) == len(new_fields) and all(
                a.id == b.id and _same_shape(a.type, b.type) for a, b in pairs
            )
    # TIME(p) stores milliseconds for every p.
    same: bool = old.not_null() == new.not_null() or bound_cast_of(old, new) is not None
    return same


def _array_cast(old: ArrayType, new: ArrayType, name: str) -> Cast:
    element = _cast(old.element, new.element, name)
    target = arrow_type(new)

    def cast(array: pa.Array) -> pa.Array:
        values = list_values(array)
        return with_list_values(array, values if element is None else element(values), target)

    return cast


def _map_cast(old: MapType | MultisetType, new: MapType | MultisetType, name: str) -> Cast:
    key = _cast(_key(old), _key(new), name)
    value = _cast(_value(old), _value(new), name)
    target = arrow_type(new)

    def cast(array: pa.Array) -> pa.Array:
        keys, items = map_entries(array)
        return with_map_entries(
            array, keys if key is None else key(keys), items if value is None else value(items), target
        )

    return cast


def _row_cast(old: RowType, new: RowType, name: str) -> Cast:
    positions = {f.id: i for i, f in enumerate(old.fields)}
    outputs = [
        _Output(
            positions.get(f.id),
            _cast(old.fields[positions[f.id]].type, f.type, f"{name}.{f.name}") if f.id in positions else None,
        )
        for f in new.fields
    ]
    target = arrow_type(new)
    types = [arrow_type(f.type) for f in new.fields]

    def cast(array: pa.Array) -> pa.Array:
        fields = struct_fields(array)
        columns = []
        for output, arrow in zip(outputs, types, strict=True):
            if output.source is None:
                columns.append(nulls(len(array), arrow))
            else:
                column = fields[output.source]
                columns.append(column if output.cast is None else output.cast(column))
        return with_struct_fields(array, columns, target)

    return cast


def _key(data_type: MapType | MultisetType) -> DataType:
    return data_type.key if isinstance(data_type, MapType) else data_type.element


def _value(data_type: MapType | MultisetType) -> DataType:
    return data_type.value if isinstance(data_type, MapType) else IntType(nullable=False)
