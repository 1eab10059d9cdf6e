"""Counts the rows of a frame by partition while it is written, and refuses rows of other partitions.

It counts the rows that the asset returned. Their columns need not be stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import pyarrow as pa
import pyarrow.compute as pc

from dagster_paimon.io.partitions import Slice, condition_of
from table_format.engine.support import ROW_KIND_COLUMN, cast_column, matches, values_of
from table_format.errors import InvalidData
from table_format.types import AnyTimestampType, DataField, InternalValue

RETRACTING: frozenset[str] = frozenset(("-U", "-D"))


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The number of rows of one partition, and how many of them are retracts."""

    rows: int = 0
    deletes: int = 0


@dataclass(slots=True)
class Tally:
    """Counts rows by slice. ``fields`` are the columns of the slices, with the types of their values.

    With ``in_lists``, the only column holds lists of such values, and a row counts for each slice in its list. With
    ``refuse_others``, a row outside of all slices is an error. ``begin`` resets the counts of an earlier attempt.
    """

    table: str
    slices: Sequence[Slice]
    fields: tuple[DataField, ...]
    refuse_others: bool
    in_lists: bool = False
    rows: Counter[str] = dataclass_field(default_factory=Counter)
    deletes: Counter[str] = dataclass_field(default_factory=Counter)
    _keys: dict[tuple[InternalValue, ...], str] = dataclass_field(default_factory=dict)

    def begin(self) -> None:
        """Reset the counts, because the rows are written again."""
        self.rows.clear()
        self.deletes.clear()

    def count(self, batch: pa.RecordBatch, *, kind: str | None = None) -> None:
        """Count the rows of a batch. ``kind`` is the kind of all rows; without it, a column may hold the kinds.

        Raises:
            InvalidData: a row is outside of all slices, and ``refuse_others`` is set.
        """
        retracts = _retracting(batch, kind)
        columns = [batch.column(field.name) for field in self.fields]
        if self.in_lists:
            retracts = retracts.take(pc.list_parent_indices(columns[0]))
            columns = [pc.list_flatten(columns[0])]
        columns = [cast_column(c, field.type, field.name) for c, field in zip(columns, self.fields, strict=True)]
        wanted = pa.RecordBatch.from_arrays(columns, names=[field.name for field in self.fields])
        has_windows = any(found.has_windows for found in self.slices)
        held = self._count_in_windows(wanted, retracts) if has_windows else self._count_values(wanted, retracts)
        if self.refuse_others and held < wanted.num_rows:
            outside = pc.invert(matches(condition_of(self.slices), wanted, self.fields))
            example = {name: values[0] for name, values in wanted.filter(outside).slice(0, 1).to_pydict().items()}
            raise self.error(", ".join(f"{name} = {'null' if v is None else v}" for name, v in example.items()))

    def _count_values(self, wanted: pa.RecordBatch, retracts: pa.BooleanArray) -> int:
        """Count rows by their values, once for each combination: a run may have very many partitions, and a frame very
        many batches. Return the number of rows in slices.
        """
        if not self._keys:
            for found in reversed(self.slices):
                self._keys |= {tuple(spec[field.name] for field in self.fields): found.key for spec in found.specs()}
        names = [*map(str, range(len(self.fields)))]
        rows = pa.Table.from_arrays([*wanted.columns, retracts], names=[*names, "retracts"])
        counted = rows.group_by([*names, "retracts"]).aggregate([([], "count_all")]).combine_chunks()
        values = [
            values_of(counted[name].combine_chunks(), field.type)
            for name, field in zip(names, self.fields, strict=True)
        ]
        held = 0
        for *value, retract, count in zip(
            *values, counted["retracts"].to_pylist(), counted["count_all"].to_pylist(), strict=True
        ):
            key = self._keys.get(tuple(value))
            if key is not None:
                self.add(key, count, count if retract else 0)
                held += count
        return held

    def _count_in_windows(self, wanted: pa.RecordBatch, retracts: pa.BooleanArray) -> int:
        """Count rows slice by slice, of the slices that the batch may have. Return the number of rows in slices."""
        held = 0
        rest = pa.repeat(pa.scalar(value=True), wanted.num_rows)
        for found in self._within(wanted):
            # An hour that occurs twice has the same times as the one before, which counts their rows.
            mask = pc.and_(matches(condition_of([found]), wanted, self.fields), rest)
            rest = pc.and_not(rest, mask)
            self.add(found.key, mask.true_count, pc.and_(mask, retracts).true_count)
            held += mask.true_count
        return held

    def _within(self, wanted: pa.RecordBatch) -> list[Slice]:
        """Return the slices whose time windows have times between the first and the last one of the batch."""
        found = list(self.slices)
        for field in self.fields:
            if not isinstance(field.type, AnyTimestampType):
                continue
            bounds = pc.min_max(wanted.column(field.name))
            first, last = values_of(pa.array([bounds["min"], bounds["max"]], bounds["min"].type), field.type)
            if not isinstance(first, int) or not isinstance(last, int):
                return []  # there are only nulls
            found = [one for one in found if one.extents[field.name].may_hold(first, last)]
        return found

    def add(self, key: str, rows: int, deletes: int) -> None:
        """Count rows of one slice."""
        self.rows[key] += rows
        self.deletes[key] += deletes

    def error(self, example: str) -> InvalidData:
        """Return the error for a row outside of all slices."""
        keys = [found.key for found in self.slices]
        span = keys[0] if len(keys) == 1 else f"{keys[0]} to {keys[-1]}"
        message = (
            f"{self.table}: the frame has rows of {example}, which are not among the run's partitions ({span}); "
            "nothing was written"
        )
        return InvalidData(message)

    def result(self) -> dict[str, PartitionRows]:
        """Return the counts of all slices."""
        return {s.key: PartitionRows(self.rows[s.key], self.deletes[s.key]) for s in self.slices}


def _retracting(batch: pa.RecordBatch, kind: str | None) -> pa.BooleanArray:
    if kind is not None or ROW_KIND_COLUMN not in batch.schema.names:
        return pa.repeat(pa.scalar(kind in RETRACTING), batch.num_rows)
    return pc.is_in(batch.column(ROW_KIND_COLUMN), value_set=pa.array(sorted(RETRACTING)))
