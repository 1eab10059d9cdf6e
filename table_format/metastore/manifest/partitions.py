"""Converts partitions between serialised rows and values (format chapter 04, section 3; chapter 10, section 6).

Entries contain partitions as bytes, and a table has few distinct ones, so each is decoded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from table_format.codecs.binary_row import deserialize_row, serialize_row
from table_format.errors import BadEncoding, InvalidInputError
from table_format.io.partition_path import partition_text, partition_values, shown_value
from table_format.io.paths import TablePaths
from table_format.model.data_file import EMPTY_STATS, SimpleStats
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Or, Predicate
from table_format.model.schema import TableSchema
from table_format.model.types import DataType, InternalValue
from table_format.options.table_options import TableOptions

PartitionSpec: TypeAlias = Mapping[str, InternalValue]
"""Values of some or all partition keys, which select all partitions with these values."""

PartitionChoice: TypeAlias = Callable[[frozenset[bytes]], frozenset[bytes]]
"""A function that selects some of the given partitions."""


def select_partitions(choice: PartitionChoice, partitions: frozenset[bytes]) -> frozenset[bytes]:
    """Return the partitions that a function selects.

    Raises:
        InvalidInputError: the function does not take or return a set of some of the given partitions.
    """
    try:
        selected = choice(partitions)
    except TypeError as error:
        message = f"{choice!r:.100} cannot choose which of a frozenset of partitions to overwrite: {error}"
        raise InvalidInputError(message) from error
    if isinstance(selected, frozenset) and selected <= partitions:
        return selected
    message = (
        f"the function that selects the partitions to overwrite returned {selected!r:.100}; "
        "it has to return a frozenset of some of the partitions that it gets"
    )
    raise InvalidInputError(message)


class Partitions:
    """The partitions of one table; each is decoded on first use."""

    def __init__(self, schema: TableSchema, options: TableOptions) -> None:
        self.fields = schema.partition_fields
        self.types: tuple[DataType, ...] = tuple(f.type.with_nullable(True) for f in self.fields)
        self.options = options
        self._values: dict[bytes, tuple[InternalValue, ...]] = {}
        self._texts: dict[bytes, str] = {}

    def values(self, partition: bytes) -> tuple[InternalValue, ...]:
        """Return the values of the partition keys."""
        found = self._values.get(partition)
        if found is None:
            found = self._values[partition] = deserialize_row(self.types, partition)
        return found

    def text(self, partition: bytes) -> str:
        """Return the partition's directory below the table; empty for an unpartitioned table."""
        found = self._texts.get(partition)
        if found is None:
            files = self.options.files
            found = self._texts[partition] = partition_text(
                self.fields,
                self.values(partition),
                default_name=files.partition_default_name,
                legacy=files.partition_legacy_name,
            )
        return found

    def spec_texts(self, partition: bytes) -> dict[str, str]:
        """Return the texts of the partition's values by column, as in its directory but without escapes."""
        files = self.options.files
        return partition_values(
            self.fields,
            self.values(partition),
            default_name=files.partition_default_name,
            legacy=files.partition_legacy_name,
        )

    def spec_text(self, partition: bytes) -> str:
        """Return the partition's values as SQL spells them, whatever its directory is called."""
        files = self.options.files
        return partition_text(
            self.fields, self.values(partition), default_name=files.partition_default_name, legacy=False
        )

    def index_path(self, paths: TablePaths, partition: bytes, bucket: int, name: str) -> str:
        """Return the path of an index file of a bucket; it depends on the partition with
        ``index-file-in-data-file-dir``.

        Raises:
            BadEncoding: the partition in the index manifest is not valid for the table.
        """
        beside = self.options.bucket.index_in_data_file_dir
        try:
            text = self.text(partition) if beside else ""
        except BadEncoding as error:
            reason = f"a partition that the table cannot have: {str(error).removeprefix(': ')}"
            message = f"the index manifest that names this file has {reason}"
            raise BadEncoding(paths.index(name), message) from error
        return paths.index_file(text, bucket, name, beside_data=beside)

    def shown(self, partition: bytes) -> str:
        """Return the text of a partition for messages."""
        if not self.fields:
            return "the table"
        values = dict(zip((field.name for field in self.fields), self.values(partition), strict=True))
        return f"partition {self.shown_spec(values)}"

    def shown_spec(self, spec: PartitionSpec) -> str:
        """Return the text of some values of partition columns for messages."""
        pairs = (
            f"{field.name}={shown_value(field.type, spec[field.name])}" for field in self.fields if field.name in spec
        )
        return f"{{{', '.join(pairs)}}}"

    def test(self, specs: Iterable[PartitionSpec]) -> Callable[[bytes], bool]:
        """Return whether a partition has the values of one of the specs. NaN equals itself, as in filters."""
        # Specs are looked up rather than tried one by one: there may be as many as partitions.
        wanted: dict[tuple[str, ...], set[tuple[InternalValue, ...]]] = {}
        for spec in specs:
            columns = tuple(sorted(spec))
            wanted.setdefault(columns, set()).add(tuple(_equal(spec[column]) for column in columns))

        def is_selected(partition: bytes) -> bool:
            values = {f.name: _equal(v) for f, v in zip(self.fields, self.values(partition), strict=True)}
            return any(tuple(values[column] for column in columns) in keys for columns, keys in wanted.items())

        return is_selected

    def predicate(self, specs: Sequence[PartitionSpec]) -> Predicate | None:
        """Return the condition that a partition matches one of the specs; ``None`` if all partitions match."""
        if not all(specs):
            return None
        # There may be thousands of partitions, which often differ in their last column only.
        last: dict[tuple[tuple[str, InternalValue], ...], dict[str, list[InternalValue]]] = {}
        for spec in specs:
            *outer, (column, value) = spec.items()
            last.setdefault(tuple(outer), {}).setdefault(column, []).append(value)
        return Or(
            tuple(
                And((*(_is_one_of(name, [value]) for name, value in outer), _is_one_of(column, values)))
                for outer, columns in last.items()
                for column, values in columns.items()
            )
        )

    def check_spec(self, spec: PartitionSpec) -> None:
        """Refuse a spec with a column that is not a partition key, or a value of the wrong type.

        Raises:
            InvalidInputError: the spec is invalid; the message names the partition keys.
        """
        types = {f.name: t for f, t in zip(self.fields, self.types, strict=True)}
        for name, value in spec.items():
            if name not in types:
                keys = ", ".join(types) or "none"
                message = f"'{name}' is not a partition key; the partition keys are {keys}"
                raise InvalidInputError(message)
            serialize_row((types[name],), (value,))


def _is_one_of(column: str, values: Sequence[InternalValue]) -> Predicate:
    known = tuple(value for value in values if value is not None)
    if not known:
        return IsNull(column)
    test = Compare(column, CompareOp.EQ, known[0]) if len(known) == 1 else In(column, known)
    return test if len(known) == len(values) else Or((test, IsNull(column)))


def _equal(value: InternalValue) -> InternalValue:
    """Return the value itself, and for every NaN the same object, which equals itself in tuples."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def partition_stats(types: Sequence[DataType], partitions: Iterable[bytes]) -> SimpleStats:
    """Minimum, maximum and null count of each partition key over the entries of a manifest."""
    if not types:
        return EMPTY_STATS
    counts: dict[bytes, int] = {}
    for partition in partitions:
        counts[partition] = counts.get(partition, 0) + 1
    rows = [(deserialize_row(types, partition), number) for partition, number in counts.items()]
    minima: list[InternalValue] = []
    maxima: list[InternalValue] = []
    nulls: list[int] = []
    for i in range(len(types)):
        present = [row[i] for row, _ in rows if row[i] is not None]
        minima.append(min(present, key=_orderable, default=None))
        maxima.append(max(present, key=_orderable, default=None))
        nulls.append(sum(number for row, number in rows if row[i] is None))
    return SimpleStats(serialize_row(types, minima), serialize_row(types, maxima), tuple(nulls))


def _orderable(value: InternalValue) -> tuple[bool, object]:
    # As in Java, NaN is greater than every number.
    return (value != value, 0 if value != value else value)
