"""Maps the partitions of one run to the table: which rows are replaced, counted and refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg

from dagster_paimon.io.partitions import Slice, condition_of, dimensions, slices_of
from dagster_paimon.io.spec import WriteMode, WriteSpec
from dagster_paimon.io.tally import PartitionRows, Tally
from dagster_paimon.tables.measure import partition_key
from table_format import CommitKind, Predicate, Schema, Snapshot, TableSchema
from table_format.engine import CommitMessage, FileKind, PartitionChoice, TableFacts
from table_format.errors import InvalidData
from table_format.types import AnyTimestampType, ArrayType, DataField, InternalValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPartitions:
    """The Dagster partitions of a run, as values of columns of its table and of its frame.

    ``slices`` holds the values of the columns in ``partition_expr``; it is empty without this metadata.
    ``are_partitions`` is true if they consist of whole partitions of the table. ``of_rows`` holds the values of the
    columns in ``paimon/row_partition``.
    """

    spec: WriteSpec
    keys: tuple[str, ...]
    slices: tuple[Slice, ...]
    are_partitions: bool
    of_rows: tuple[Slice, ...]
    table_fields: tuple[DataField, ...]
    frame_fields: tuple[DataField, ...]

    @classmethod
    def of(
        cls,
        spec: WriteSpec,
        table: Schema | TableSchema,
        frame: Sequence[DataField],
        keys: Iterable[str],
        definition: dg.PartitionsDefinition[Any] | None,
    ) -> RunPartitions:
        """Map the partitions of a run to the table.

        Raises:
            InvalidInputError: a column does not exist, or cannot express a partition.
        """
        listed = tuple(keys)
        known = definition or dg.StaticPartitionsDefinition([str(key) for key in listed])

        def slices(expression: object, fields: Sequence[DataField], key: str) -> tuple[Slice, ...]:
            where = f"{spec.table}: {key}"
            if expression is None or not listed:
                return ()
            return slices_of(dimensions(known, expression, where=where), listed, fields, where=where)

        return cls(
            spec=spec,
            keys=listed,
            slices=slices(spec.partition_expr, table.fields, "partition_expr"),
            are_partitions=set(spec.columns) <= set(table.partition_keys),
            of_rows=slices(spec.row_partition, [_element(f) for f in frame], "paimon/row_partition"),
            table_fields=tuple(f for f in table.fields if f.name in spec.columns),
            frame_fields=tuple(frame),
        )

    @property
    def span(self) -> str:
        """Describe the partitions by the first and the last one."""
        return str(self.keys[0]) if len(self.keys) == 1 else f"{self.keys[0]} to {self.keys[-1]}"

    @property
    def condition(self) -> Predicate:
        """A condition for the rows of the table that belong to the partitions."""
        return condition_of(self.slices)

    def tally(self) -> Tally | None:
        """Return the row counter of the write; ``None`` if the committed files have the counts, or nothing does.

        Raises:
            InvalidData: the frame lacks a column that determines which rows are replaced.
        """
        if self.of_rows:
            found = [f for f in self.frame_fields if f.name in self.spec.dropped]
            in_lists = any(isinstance(f.type, ArrayType) for f in found)
            if in_lists and len(found) > 1:
                message = f"{self.spec.table}: paimon/row_partition: lists are for partitions of one dimension"
                raise InvalidData(message)
            fields = tuple(_element(f) for f in found)
            return Tally(self.spec.table, self.of_rows, fields, refuse_others=False, in_lists=in_lists)
        if not self.slices or self.are_partitions:
            return None
        replaces = self.spec.mode is WriteMode.overwrite_partition
        missing = set(self.spec.columns) - {field.name for field in self.frame_fields}
        if missing and replaces:
            message = f"{self.spec.table}: the frame lacks {', '.join(sorted(missing))}, which partition_expr names"
            raise InvalidData(message)
        return None if missing else Tally(self.spec.table, self.slices, self.table_fields, refuse_others=replaces)

    def refusal(self) -> Tally | None:
        """Return a counter that refuses rows outside of the run; ``None`` if the run does not replace its partitions.

        Raises:
            InvalidData: see ``tally``.
        """
        if self.slices and self.are_partitions and self.spec.mode is WriteMode.overwrite_partition:
            return Tally(self.spec.table, self.slices, self.table_fields, refuse_others=True)
        return self.tally()

    def outside(self, facts: TableFacts, messages: Iterable[CommitMessage]) -> list[str]:
        """Return partitions of the table that have new rows but are not part of the run."""
        fields = {field.name: field for field in facts.schema.partition_fields}
        key_of = self._finder()
        found = set()
        for partition in {message.partition for message in messages}:
            values = _values(facts, partition)
            if key_of(values) is None:
                found.add(
                    ", ".join(f"{name} = {partition_key(fields[name], values[name])}" for name in self.spec.columns)
                )
        return sorted(found)

    def replaced(self, facts: TableFacts) -> list[dict[str, InternalValue]] | PartitionChoice:
        """Return the partitions of the table to replace: all partitions of the run, even without rows.

        For a time window, these are the partitions with such times that the table has when the commit takes effect.
        """
        if not any(found.has_windows for found in self.slices):
            return [spec for found in self.slices for spec in found.specs()]

        def within(partitions: frozenset[bytes]) -> frozenset[bytes]:
            return frozenset(p for p in partitions if any(found.holds(_values(facts, p)) for found in self.slices))

        return within

    def committed_rows(self, facts: TableFacts, snapshots: Sequence[Snapshot]) -> dict[str, PartitionRows]:
        """Return the rows that these snapshots added, without compactions, by partition; empty if the files cannot
        tell, also because a snapshot has expired.
        """
        if not self.slices or not self.are_partitions:
            return {}
        key_of = self._finder()
        rows: Counter[str] = Counter()
        deletes: Counter[str] = Counter()
        for snapshot in snapshots:
            if snapshot.commit_kind is CommitKind.COMPACT:
                continue
            changed = facts.changed_files(snapshot)
            if changed is None:
                return {}
            for entry in changed:
                key = key_of(_values(facts, entry.partition)) if entry.kind is FileKind.ADD else None
                if key is not None:
                    rows[key] += entry.file.row_count
                    deletes[key] += entry.file.delete_row_count or 0
        return {found.key: PartitionRows(rows[found.key], deletes[found.key]) for found in self.slices}

    def _finder(self) -> Callable[[Mapping[str, InternalValue]], str | None]:
        """Return a function that finds the partition of a row with given values."""
        columns = tuple(self.slices[0].extents) if self.slices else ()
        exact = {
            tuple(spec[name] for name in columns): found.key
            for found in self.slices
            if not found.has_windows
            for spec in found.specs()
        }
        windows = [found for found in self.slices if found.has_windows]

        def find(values: Mapping[str, InternalValue]) -> str | None:
            key = exact.get(tuple(values[name] for name in columns))
            return key or next((found.key for found in windows if found.holds(values)), None)

        return find


def partition_columns(
    spec: WriteSpec, fields: Sequence[DataField], definition: dg.PartitionsDefinition[Any] | None
) -> tuple[str, ...]:
    """Return the partition columns of a new table: ``paimon/partition_by``, or those of ``partition_expr``.

    A TIMESTAMP column would create a separate partition for each time. An append table is not partitioned by
    this column, because the rows of a time window can be replaced by their values.
    """
    if spec.partition_by is not None:
        return spec.partition_by
    if definition is None or spec.partition_expr is None:
        return spec.columns
    types = {field.name: field.type for field in fields}
    return tuple(
        dim.column
        for dim in dimensions(definition, spec.partition_expr, where=f"{spec.table}: partition_expr")
        if spec.primary_key
        or not isinstance(dim.definition, dg.TimeWindowPartitionsDefinition)
        or not isinstance(types.get(dim.column), AnyTimestampType)
    )


def _element(field: DataField) -> DataField:
    return replace(field, type=field.type.element) if isinstance(field.type, ArrayType) else field


def _values(facts: TableFacts, partition: bytes) -> dict[str, InternalValue]:
    return dict(zip(facts.schema.partition_keys, facts.partitions.values(partition), strict=True))
