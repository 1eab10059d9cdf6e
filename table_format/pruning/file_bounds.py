"""Converts the statistics of files to bounds of the columns that a scan reads (format chapter 04, sections 3 and 5).

The statistics of a file follow the schema with which it was written, so columns are matched by field id. Renamed
columns keep their bounds, widened columns keep them if the cast is exact, and columns that were added later are null in
the file. Dense statistics list the columns that they cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from table_format.codecs.binary_row import deserialize_row
from table_format.kernels.bounds import ColumnBounds
from table_format.model.data_file import DataFileMeta, SimpleStats
from table_format.model.manifest import ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.type_changes import keeps_bounds
from table_format.model.types import (
    NESTED,
    AnyTimestampType,
    CharType,
    DataField,
    DataType,
    InternalValue,
)

_Layout: TypeAlias = tuple[int, tuple[str, ...] | None, tuple[str, ...] | None]

_GREGORIAN_START_NANOS: Final = -12_219_292_800_000_000_000
"""1582-10-15."""


@dataclass(frozen=True, slots=True)
class StatsColumns:
    """The positions of the wanted columns in a statistics row, and the columns that the file does not have."""

    types: tuple[DataType, ...]
    names: tuple[str, ...]
    positions: tuple[int, ...]
    absent: tuple[str, ...]

    def bounds(self, stats: SimpleStats, row_count: int, *, in_orc: bool = False) -> dict[str, ColumnBounds]:
        """Return the bounds from the statistics of files with this layout, by column name."""
        found = dict.fromkeys(self.absent, ColumnBounds(None, None, row_count, row_count))
        if self.positions:
            minima = deserialize_row(self.types, stats.min_values, columns=self.positions)
            maxima = deserialize_row(self.types, stats.max_values, columns=self.positions)
            for name, i, minimum, maximum in zip(self.names, self.positions, minima, maxima, strict=True):
                nulls = stats.null_counts[i] if i < len(stats.null_counts) else None
                bounds = column_bounds(minimum, maximum, nulls, row_count)
                found[name] = bounds_in_orc(bounds, self.types[i]) if in_orc else bounds
        return found


class FileBounds:
    """Bounds of some columns of the read schema in data files of any schema."""

    def __init__(self, schema: TableSchema, schemas: Mapping[int, TableSchema], columns: Iterable[str]) -> None:
        self._schemas = schemas
        self._wanted = schema.select(sorted(columns))
        self._times_of_partition = [f.name for f in schema.partition_fields if isinstance(f.type, AnyTimestampType)]
        self._keys: dict[int, StatsColumns] = {}
        self._values: dict[_Layout, StatsColumns] = {}

    def of_keys(self, file: DataFileMeta) -> Mapping[str, ColumnBounds]:
        """Bounds from the statistics of the trimmed primary key."""
        columns = self.key_columns(file.schema_id)
        return columns.bounds(file.key_stats, file.row_count, in_orc=_is_orc(file))

    def of_values(self, file: DataFileMeta) -> Mapping[str, ColumnBounds]:
        """Bounds from the statistics of all columns; columns without statistics are missing.

        Timestamps of the partition are missing in ORC files: before 1970, Java stores and measures them one second
        late, and what is read is the value of the partition.
        """
        columns = self.value_columns(file.schema_id, file.value_stats_cols, file.write_cols)
        found = columns.bounds(file.value_stats, file.row_count, in_orc=_is_orc(file))
        if not (self._times_of_partition and _is_orc(file)):
            return found
        return {name: bounds for name, bounds in found.items() if name not in self._times_of_partition}

    def key_columns(self, schema_id: int) -> StatsColumns:
        """Return the positions of the columns in the key statistics of files that were written with this schema."""
        columns = self._keys.get(schema_id)
        if columns is None:
            written = self._schemas[schema_id]
            columns = _locate(self._wanted, written.select(written.trimmed_primary_keys), absent=())
            self._keys[schema_id] = columns
        return columns

    def value_columns(
        self, schema_id: int, value_stats_cols: tuple[str, ...] | None, write_cols: tuple[str, ...] | None
    ) -> StatsColumns:
        """Return the positions of the columns in the value statistics of a file. The arguments are its attributes."""
        layout = (schema_id, value_stats_cols, write_cols)
        columns = self._values.get(layout)
        if columns is None:
            columns = self._values[layout] = self._value_columns(*layout)
        return columns

    def _value_columns(
        self, schema_id: int, value_stats_cols: tuple[str, ...] | None, write_cols: tuple[str, ...] | None
    ) -> StatsColumns:
        written = self._schemas[schema_id]
        ids = {f.id for f in written.fields}
        # A file with some of the columns gives no bounds for the others, which may be in another file.
        absent = () if write_cols is not None else tuple(f.name for f in self._wanted if f.id not in ids)
        covered = value_stats_cols if value_stats_cols is not None else write_cols
        fields = written.fields if covered is None else written.written_fields(covered)
        return _locate(self._wanted, fields, absent=absent)


def column_bounds(minimum: InternalValue, maximum: InternalValue, nulls: int | None, row_count: int) -> ColumnBounds:
    """Return the bounds as stored. NaN is not a bound.

    >>> column_bounds(1.0, float("nan"), 0, 5)
    ColumnBounds(minimum=None, maximum=None, null_count=0, row_count=5)
    """
    if minimum != minimum or maximum != maximum:
        return ColumnBounds(None, None, nulls, row_count)
    return ColumnBounds(minimum, maximum, nulls, row_count)


def bounds_in_orc(bounds: ColumnBounds, data_type: DataType) -> ColumnBounds:
    """Correct the bounds of an ORC file where the values that are read differ from those that Java measured.

    The statistics of CHAR include trailing spaces, which reading removes. Timestamps before the Gregorian calendar were
    stored in the Julian calendar, which shifts them by days.

    >>> bounds_in_orc(ColumnBounds("a  ", "b  ", 0, 2), CharType(3)).minimum
    'a'
    """
    minimum = bounds.minimum
    if isinstance(data_type, CharType) and isinstance(minimum, str):
        return replace(bounds, minimum=minimum.rstrip(" "))
    if isinstance(data_type, AnyTimestampType) and (isinstance(minimum, int) and minimum < _GREGORIAN_START_NANOS):
        return replace(bounds, minimum=None, maximum=None)
    return bounds


def _is_orc(file: DataFileMeta) -> bool:
    return file.file_name.endswith(".orc")


def partition_bounds(fields: Sequence[DataField], manifest: ManifestFileMeta) -> Mapping[str, ColumnBounds]:
    """Return the bounds of the partition keys over all entries of a manifest."""
    columns = _locate(fields, fields, absent=())
    return columns.bounds(manifest.partition_stats, manifest.num_added_files + manifest.num_deleted_files)


def _locate(wanted: Sequence[DataField], stored: Sequence[DataField], *, absent: tuple[str, ...]) -> StatsColumns:
    by_id = {f.id: i for i, f in enumerate(stored)}
    found = {
        field.name: by_id[field.id]
        for field in wanted
        if field.id in by_id
        and not isinstance(field.type, NESTED)
        and keeps_bounds(stored[by_id[field.id]].type, field.type)
    }
    return StatsColumns(tuple(f.type for f in stored), tuple(found), tuple(found.values()), absent)
