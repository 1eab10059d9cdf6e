"""The statistics of a data file as text, in the columns of the schema that is shown (Java ``SimpleStatsEvolution``).

Unlike the bounds that pruning uses, all stored values are shown, also NaN and values whose cast changes the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from table_format.codecs.binary_row import deserialize_row
from table_format.errors import InvalidData
from table_format.formats.casts import cast_of
from table_format.kernels.values import array_of, values_of
from table_format.model.data_file import DataFileMeta
from table_format.model.schema import TableSchema
from table_format.model.types import NESTED, DataField, DataType, InternalValue
from table_format.table.rows.texts import value_text


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Three texts of the form ``{a=1, b=null}``, columns in Java's order of names."""

    null_counts: str
    minima: str
    maxima: str


def file_statistics(schema: TableSchema, schemas: Mapping[int, TableSchema], file: DataFileMeta) -> FileStatistics:
    """Return the value statistics of a file for the columns of ``schema``; unknown values are ``null``."""
    written = schemas[file.schema_id]
    in_file = written.fields if file.write_cols is None else written.written_fields(file.write_cols)
    covered = in_file if file.value_stats_cols is None else written.written_fields(file.value_stats_cols)
    types = [f.type for f in covered]
    minima = _by_id(covered, deserialize_row(types, file.value_stats.min_values) if covered else ())
    maxima = _by_id(covered, deserialize_row(types, file.value_stats.max_values) if covered else ())
    nulls = {f.id: count for f, count in zip(covered, file.value_stats.null_counts, strict=False)}
    present = {f.id: f for f in in_file}
    fields = sorted(schema.fields, key=lambda f: f.name.encode("utf-16-be"))
    counts = [(f.name, nulls.get(f.id) if f.id in present else file.row_count) for f in fields]
    return FileStatistics(
        null_counts=_braced((name, "null" if count is None else str(count)) for name, count in counts),
        minima=_braced((f.name, _shown(f, present.get(f.id), minima.get(f.id))) for f in fields),
        maxima=_braced((f.name, _shown(f, present.get(f.id), maxima.get(f.id))) for f in fields),
    )


def _by_id(fields: Sequence[DataField], values: Sequence[InternalValue]) -> Mapping[int, InternalValue]:
    return {f.id: value for f, value in zip(fields, values, strict=True)}


def _shown(field: DataField, stored: DataField | None, value: InternalValue) -> str:
    if stored is None or value is None or isinstance(field.type, NESTED):
        return "null"
    return value_text(field.type, _cast(value, stored.type, field.type))


def _cast(value: InternalValue, source: DataType, target: DataType) -> InternalValue:
    """Return the value as in the rows of the file; null if the value cannot be cast."""
    if source.not_null() == target.not_null():
        return value
    cast = cast_of(source, target)
    try:
        return None if cast is None else values_of(cast(array_of([value], source)), target)[0]
    except InvalidData:
        return None


def _braced(members: Iterable[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{name}={text}' for name, text in members)}}}"
