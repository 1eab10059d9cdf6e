"""Decodes the records of an Avro block to columns: all records together, field by field, with numpy.

A record begins where the previous one ends, so records would normally be decoded one after another. But records of a
known kind begin with known bytes. Every position that looks like the start of a record is therefore decoded. The
records are those positions that form a chain from the first byte of the block to its last. The result is exactly that
of a sequential decoder. If this fails for any reason, the general decoder of ``codecs.avro`` reads the block, or
reports what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Int64Array: TypeAlias = npt.NDArray[np.int64]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

_CONTINUES: Final = 0x80
_VALUE_BITS: Final = 7
_LAST_SHIFT: Final = 63
"""The tenth byte of a number of 64 bits holds one bit."""

_MAX_ITEMS: Final = 2048
"""The longest list whose items are decoded here; longer lists are left to the general decoder."""

_MAX_DEPTH: Final = 4
_PREFIX: Final = 8
"""The number of first fields that are decoded to find positions that are not records."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one field; ``present`` is ``None`` if no value is null."""

    values: Int64Array
    present: BoolArray | None = None

    def take(self, rows: Int64Array) -> Numbers:
        """Return the numbers at some positions."""
        return Numbers(self.values[rows], None if self.present is None else self.present[rows])

    def spread(self, rows: Int64Array, size: int) -> Numbers:
        """Return the numbers at positions ``rows`` of ``size``; the others are null."""
        values, present = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        values[rows], present[rows] = self.values, True if self.present is None else self.present
        return Numbers(values, present)

    def moved(self, _by: int) -> Numbers:
        """Return the same numbers, because they are not positions."""
        return self

    @staticmethod
    def joined(parts: Sequence[Numbers]) -> Numbers:
        """Return the numbers of several blocks."""
        values = np.concatenate([part.values for part in parts])
        if all(part.present is None for part in parts):
            return Numbers(values)
        masks = [np.ones(part.values.size, np.bool_) if part.present is None else part.present for part in parts]
        return Numbers(values, np.concatenate(masks))


@dataclass(frozen=True, slots=True)
class Spans:
    """The byte positions of the values of one field; a start of -1 means null. Lists are spans of encoded bytes."""

    starts: Int64Array
    ends: Int64Array

    def take(self, rows: Int64Array) -> Spans:
        """Return the spans at some positions."""
        return Spans(self.starts[rows], self.ends[rows])

    def spread(self, rows: Int64Array, size: int) -> Spans:
        """Return the spans at positions ``rows`` of ``size``; the others are null."""
        starts, ends = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        starts[rows], ends[rows] = self.starts, self.ends
        return Spans(starts, ends)

    def moved(self, by: int) -> Spans:
        """Return the spans shifted by ``by``, the position at which their block begins."""
        null = self.starts < 0
        return Spans(np.where(null, -1, self.starts + by), np.where(null, -1, self.ends + by))

    @staticmethod
    def joined(parts: Sequence[Spans]) -> Spans:
        """Return the spans of several blocks."""
        return Spans(np.concatenate([p.starts for p in parts]), np.concatenate([p.ends for p in parts]))


AvroColumn: TypeAlias = Numbers | Spans
Columns: TypeAlias = Mapping[str, AvroColumn]
"""Columns by field name; a field of a nested record has both names, separated by a dot."""


@dataclass(frozen=True, slots=True)
class AvroColumns:
    """All records of a container: the content of its blocks, and the columns, whose spans are positions in it."""

    content: bytes
    columns: Columns
    count: int


class NotInColumnsError(Exception):
    """The records do not have the usual shape, or are damaged."""


def read_columns(
    record: Mapping[str, Any], blocks: Iterable[tuple[int, bytes]], beginnings: Sequence[bytes]
) -> AvroColumns:
    """Return the records of blocks as columns.

    ``record`` is the parsed schema of the records, without named types inside. ``blocks`` are record counts and
    decompressed contents. Each record must begin with one of ``beginnings``, which have two bytes each.

    Raises:
        NotInColumnsError: the general decoder has to read the blocks.
    """
    contents: list[bytes] = []
    parts: list[Columns] = []
    at = total = 0
    for count, block in blocks:
        if count == 0 and not block:
            continue
        found = _Block(block).records(record, count, beginnings)
        parts.append({name: column.moved(at) for name, column in found.items()} if at else found)
        contents.append(block)
        at += len(block)
        total += count
    if not parts:
        return AvroColumns(b"", {}, 0)
    columns = parts[0] if len(parts) == 1 else {name: _joined([part[name] for part in parts]) for name in parts[0]}
    return AvroColumns(b"".join(contents), columns, total)


def _joined(parts: Sequence[AvroColumn]) -> AvroColumn:
    numbers = [part for part in parts if isinstance(part, Numbers)]
    return Numbers.joined(numbers) if numbers else Spans.joined([part for part in parts if isinstance(part, Spans)])


class _Block:
    """One block. A position beyond its end marks a record that cannot be decoded, which is therefore invalid."""

    def __init__(self, content: bytes) -> None:
        self._size = len(content)
        self._bytes: UInt8Array = np.frombuffer(content + b"\0\0", np.uint8)

    def records(self, record: Mapping[str, Any], count: int, beginnings: Sequence[bytes]) -> Columns:
        starts = self._beginnings(beginnings)
        if starts.size > count:
            starts = starts[self._record(_prefix(record), starts)[1] <= self._size]
        columns, ends = self._record(record, starts)
        chain = self._chain(starts, ends, count)
        return columns if chain is None else {name: column.take(chain) for name, column in columns.items()}

    def _beginnings(self, beginnings: Sequence[bytes]) -> Int64Array:
        first, second = self._bytes[:-2], self._bytes[1:-1]
        found = np.zeros(self._size, np.bool_)
        for beginning in beginnings:
            found |= (first == beginning[0]) & (second == beginning[1])
        return np.flatnonzero(found)

    def _chain(self, starts: Int64Array, ends: Int64Array, count: int) -> Int64Array | None:
        """Return the indices of the decoded positions that are records of the block; ``None`` if all are records."""
        if starts.size < count or count < 1 or starts[0] != 0:
            raise NotInColumnsError
        if starts.size == count:
            if ends[-1] == self._size and np.array_equal(starts[1:], ends[:-1]):
                return None
            raise NotInColumnsError
        following = np.searchsorted(starts, ends)
        goes_on = (following < starts.size) & (starts[np.minimum(following, starts.size - 1)] == ends)
        after: list[int] = np.where(goes_on, following, -1).tolist()
        chain = [0]
        for _ in range(count - 1):
            chain.append(after[chain[-1]])
            if chain[-1] < 0:
                raise NotInColumnsError
        if ends[chain[-1]] != self._size:
            raise NotInColumnsError
        return np.array(chain, np.int64)

    # --- values: each method takes the start positions, and returns the end positions ------------------------------

    def _record(
        self, record: Mapping[str, Any], at: Int64Array, depth: int = 0
    ) -> tuple[dict[str, AvroColumn], Int64Array]:
        if depth > _MAX_DEPTH:
            raise NotInColumnsError
        columns: dict[str, AvroColumn] = {}
        for field in record["fields"]:
            name, kind = field["name"], field["type"]
            if isinstance(kind, list) and _is_record(_branch(kind)):
                # Old releases declare records as nullable, but never write null.
                at, kind = np.where(self._bytes[at] == 2, at + 1, self._size + 1), _branch(kind)
            if _is_record(kind):
                inner, at = self._record(kind, at, depth + 1)
                columns.update((f"{name}.{inner_name}", column) for inner_name, column in inner.items())
            else:
                columns[name], at = self._value(kind, at)
        return columns, at

    def _value(self, kind: Any, at: Int64Array) -> tuple[AvroColumn, Int64Array]:  # noqa: ANN401
        match kind:
            case "int" | "long":
                values, after = self._long(at)
                return Numbers(values), after
            case "bytes" | "string":
                return self._span(at)
            case {"type": "array", "items": items}:
                return Spans(at, after := self._list_end(items, at)), after
            case list():
                return self._optional(_branch(kind), at)
        raise NotInColumnsError

    def _optional(self, kind: Any, at: Int64Array) -> tuple[AvroColumn, Int64Array]:  # noqa: ANN401
        branch = self._bytes[at]
        is_present = branch == 2
        after = np.where(is_present | (branch == 0), np.minimum(at + 1, self._size + 1), self._size + 1)
        if is_present.all():
            return self._value(kind, after)
        rows = np.flatnonzero(is_present)
        inner, ends = self._value(kind, after[rows])
        after[rows] = ends
        return inner.spread(rows, at.size), after

    def _long(self, at: Int64Array) -> tuple[Int64Array, Int64Array]:
        first = self._bytes[at]
        raw = (first & 0x7F).astype(np.uint64)
        after = np.minimum(at + 1, self._size + 1)
        rows = np.flatnonzero(first & _CONTINUES)
        for shift in range(_VALUE_BITS, _LAST_SHIFT + 1, _VALUE_BITS):
            if not rows.size:
                break
            places = after[rows]
            byte = self._bytes[places]
            raw[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            goes_on = byte & _CONTINUES != 0
            is_sound = ~goes_on & (byte < 2) if shift == _LAST_SHIFT else True
            after[rows] = np.where(is_sound, np.minimum(places + 1, self._size + 1), self._size + 1)
            rows = rows[goes_on]
        values = (raw >> np.uint64(1)).view(np.int64)
        return np.where(raw & np.uint64(1), ~values, values), after

    def _span(self, at: Int64Array) -> tuple[Spans, Int64Array]:
        length, starts = self._long(at)
        is_inside = (length >= 0) & (length <= self._size - starts)
        ends = np.where(is_inside, starts + length, self._size + 1)
        return Spans(starts, ends), ends

    def _list_end(self, items: Any, at: Int64Array) -> Int64Array:  # noqa: ANN401
        """Return the end of lists that consist of one group, as all known writers encode them."""
        count, after = self._long(at)
        after[(count < 0) | (count > _MAX_ITEMS)] = self._size + 1
        rows = np.flatnonzero((count > 0) & (after <= self._size))
        most = int(count[rows].max(initial=0))
        for number in range(most):
            rows = rows[(count[rows] > number) & (after[rows] <= self._size)]
            if not rows.size:
                break
            after[rows] = self._value(items, after[rows])[1]
        rows = np.flatnonzero(count > 0)
        places = after[rows]
        after[rows] = np.where(self._bytes[places] == 0, np.minimum(places + 1, self._size + 1), self._size + 1)
        return after


def _is_record(kind: Any) -> bool:  # noqa: ANN401
    return isinstance(kind, dict) and kind.get("type") == "record"


def _branch(union: Sequence[Any]) -> Any:  # noqa: ANN401
    """Return the type of the non-null values of a union, whose first branch is null."""
    if len(union) != 2 or union[0] != "null":
        raise NotInColumnsError
    return union[1]


def _prefix(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record schema with only the first fields."""
    fields: list[Mapping[str, Any]] = []
    for field in record["fields"]:
        kind = field["type"]
        if _is_record(kind):
            fields.append({"name": field["name"], "type": _prefix(kind)})
            break
        fields.append(field)
        if len(fields) == _PREFIX:
            break
    return {"type": "record", "fields": fields}
