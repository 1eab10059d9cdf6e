"""The entries of a manifest as columns: the facts by which a plan selects files, and the entries of selected files.

A plan examines all entries of a table but often reads few files. The facts that identify a file, and the positions of
its bounds, are kept in arrays. An entry is built on demand and then cached. Manifests never change, so all plans share
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.codecs.avro import ContainerSchema, open_container
from table_format.codecs.avro_columns import (
    AvroColumn,
    AvroColumns,
    Int64Array,
    NotInColumnsError,
    Numbers,
    Spans,
    read_columns,
)
from table_format.codecs.avro_schema import record_schema
from table_format.codecs.columnar_manifest import is_columnar
from table_format.codecs.file_names import is_safe_file_name
from table_format.codecs.manifest_avro import MANIFEST, MANIFEST_VERSION, decode_manifest, is_bucket
from table_format.codecs.many_objects import collector_at_rest
from table_format.errors import TableFormatError
from table_format.limits import MAX_INT, MAX_SEQUENCE_NUMBER
from table_format.model.data_file import DataFileMeta, FileSource, SimpleStats
from table_format.model.manifest import FileIdentifier, FileKind, ManifestEntry

_BEGINNINGS: Final = (bytes((2 * MANIFEST_VERSION, 0)), bytes((2 * MANIFEST_VERSION, 2)))
"""The version and the kind (ADD or DELETE), as zigzag numbers."""

_FILE: Final = "_FILE."
_SOURCES: Final = (FileSource.APPEND, FileSource.COMPACT)

_MANY: Final = 64
"""Fewer entries are decoded one by one, with the garbage collector running, because that is faster."""

_BYTES_OF_AN_ENTRY: Final = 1_200
"""The approximate memory of an entry in addition to its bytes."""


ValueLayout: TypeAlias = tuple[int, tuple[str, ...] | None, tuple[str, ...] | None]
"""The facts that determine the columns of statistics: schema, columns with statistics, and written columns."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows:
    """One serialised BinaryRow for each entry: the bytes of ``content`` from ``starts`` to ``ends``."""

    content: bytes
    starts: Int64Array
    ends: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The stored minimum and maximum of the keys, or of all columns, of each file."""

    minima: StoredRows
    maxima: StoredRows


@dataclass(frozen=True, slots=True, eq=False)
class ManifestColumns:
    """The entries of one manifest, in order; ``partitions`` are the distinct ones, and entries refer to them by code.

    ``key_bounds`` and ``value_bounds`` are set if they are known without building entries.
    """

    is_added: npt.NDArray[np.bool_]
    partitions: tuple[bytes, ...]
    partition_codes: npt.NDArray[np.int32]
    buckets: npt.NDArray[np.int32]
    total_buckets: npt.NDArray[np.int32]
    levels: npt.NDArray[np.int32]
    schema_ids: Int64Array
    names: tuple[str, ...]
    size: int
    key_bounds: Bounds | None = None
    value_bounds: Bounds | None = None
    _source: _Source | None = field(default=None, repr=False)
    _made: list[ManifestEntry | None] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, entries: Sequence[ManifestEntry]) -> ManifestColumns:
        """Return the columns of existing entries."""
        codes: dict[bytes, int] = {}
        files = [entry.file for entry in entries]
        return cls(
            is_added=np.array([entry.kind is FileKind.ADD for entry in entries], np.bool_),
            partition_codes=np.array([codes.setdefault(e.partition, len(codes)) for e in entries], np.int32),
            partitions=tuple(codes),
            buckets=np.array([entry.bucket for entry in entries], np.int32),
            total_buckets=np.array([entry.total_buckets for entry in entries], np.int32),
            levels=np.array([file.level for file in files], np.int32),
            schema_ids=np.array([file.schema_id for file in files], np.int64),
            names=tuple(file.file_name for file in files),
            size=sum(_entry_size(file) for file in files),
            _made=list(entries),
        )

    def entries(self, rows: Int64Array | None = None) -> list[ManifestEntry]:
        """Return the entries at some positions, or all of them; each is built only once."""
        made = self._made
        wanted: Sequence[int] = range(len(self)) if rows is None else rows.tolist()
        if self._source is not None:
            missing = [row for row in wanted if made[row] is None]
            if missing:
                with collector_at_rest(when=len(missing) >= _MANY):
                    fresh = self._source.entries(self, missing)
                for row, entry in zip(missing, fresh, strict=True):
                    made[row] = entry
        return [made[row] for row in wanted]  # type: ignore[misc]  # all are built

    def value_layouts(self, rows: Int64Array) -> list[ValueLayout]:
        """Return the layouts of the column statistics of entries at some positions, without building the entries."""
        if self._source is None:
            files = [entry.file for entry in self.entries(rows)]
            return [(file.schema_id, file.value_stats_cols, file.write_cols) for file in files]
        ids: list[int] = self.schema_ids[rows].tolist()
        return list(zip(ids, *self._source.covered(rows.tolist()), strict=True))

    def identifiers(self, rows: Int64Array) -> list[FileIdentifier]:
        """Return the identifiers of the entries at some positions, without building the entries."""
        if self._source is None:
            return [entry.identifier for entry in self.entries(rows)]
        wanted: list[int] = rows.tolist()
        partitions, names = self.partitions, self.names
        codes, buckets, levels = (a[rows].tolist() for a in (self.partition_codes, self.buckets, self.levels))
        beside = self._source.identifying(wanted)
        return [
            (partitions[code], bucket, level, names[row], *rest)
            for code, bucket, level, row, rest in zip(codes, buckets, levels, wanted, beside, strict=True)
        ]


def decode_manifest_columns(data: bytes, *, path: str, entries: int | None = None) -> ManifestColumns:
    """Return the entries of a manifest file as columns; ``entries`` is the count in the manifest list, if known.

    Manifests in the usual form of this library and of Paimon are decoded by column; small and unusual ones by entry.

    Raises:
        CorruptionError: the bytes are no manifest, or end early, or declare too much.
        UnsupportedFeature: they are compressed with a codec outside the format.
    """
    if not is_columnar(data) and (entries is None or entries >= _MANY):
        try:
            return _in_columns(data, MANIFEST, path, entries)
        except (NotInColumnsError, TableFormatError):
            pass  # the general decoder reads the manifest, or reports what is wrong
    return ManifestColumns.of(decode_manifest(data, path=path, entries=entries))


def _in_columns(data: bytes, schema: ContainerSchema, path: str, most: int | None) -> ManifestColumns:
    container = open_container(data, schema, path=path, max_records=most)
    found = read_columns(record_schema(container.schema), container.blocks, _BEGINNINGS)
    if found.count == 0:
        return ManifestColumns.of(())
    source = _Source.of(found)
    codes: dict[bytes, int] = {}
    partition_codes = [codes.setdefault(p, len(codes)) for p in source.pieces("_PARTITION")]
    buckets, total_buckets = source.numbers("_BUCKET"), source.numbers("_TOTAL_BUCKETS")
    names = tuple(map(_text, source.pieces(f"{_FILE}_FILE_NAME")))
    if not (is_bucket(buckets).all() and is_bucket(total_buckets).all() and all(map(is_safe_file_name, names))):
        raise NotInColumnsError
    source.check()
    return ManifestColumns(
        is_added=source.numbers("_KIND") == FileKind.ADD,
        partitions=tuple(codes),
        partition_codes=np.array(partition_codes, np.int32),
        buckets=buckets.astype(np.int32),
        total_buckets=total_buckets.astype(np.int32),
        levels=source.numbers(f"{_FILE}_LEVEL").astype(np.int32),
        schema_ids=source.numbers(f"{_FILE}_SCHEMA_ID"),
        names=names,
        size=2 * len(found.content) + len(names) * _BYTES_OF_AN_ENTRY,
        key_bounds=source.bounds(f"{_FILE}_KEY_STATS"),
        value_bounds=source.bounds(f"{_FILE}_VALUE_STATS"),
        _source=source,
        _made=[None] * len(names),
    )


def _entry_size(file: DataFileMeta) -> int:
    stats = (file.key_stats, file.value_stats)
    stored = sum(len(s.min_values) + len(s.max_values) for s in stats) + len(file.min_key) + len(file.max_key)
    return _BYTES_OF_AN_ENTRY + stored + len(file.embedded_file_index or b"")


_FILE_NUMBERS: Final = (
    *("_FILE_SIZE", "_ROW_COUNT", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER"),
    *("_SCHEMA_ID", "_LEVEL"),
)
_STATS: Final = (f"{_FILE}_KEY_STATS", f"{_FILE}_VALUE_STATS")
_NUMBERS: Final = frozenset(
    ("_VERSION", "_KIND", "_BUCKET", "_TOTAL_BUCKETS", *(_FILE + name for name in _FILE_NUMBERS))
)
_NULLABLE_NUMBERS: Final = frozenset(
    _FILE + name for name in ("_CREATION_TIME", "_DELETE_ROW_COUNT", "_FILE_SOURCE", "_FIRST_ROW_ID")
)
_BYTES: Final = frozenset(
    (
        *("_PARTITION", f"{_FILE}_FILE_NAME", f"{_FILE}_MIN_KEY", f"{_FILE}_MAX_KEY", f"{_FILE}_EXTRA_FILES"),
        *(f"{stats}.{name}" for stats in _STATS for name in ("_MIN_VALUES", "_MAX_VALUES")),
    )
)
"""The fields whose bytes are kept: texts and lists."""

_NULLABLE_BYTES: Final = frozenset(
    (
        *(_FILE + name for name in ("_EMBEDDED_FILE_INDEX", "_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_WRITE_COLS")),
        *(f"{stats}._NULL_COUNTS" for stats in _STATS),
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """The columns from which entries are built. Values that are equal in many entries are decoded once."""

    content: bytes
    columns: dict[str, AvroColumn]
    texts: dict[bytes | None, tuple[str, ...] | None] = field(default_factory=dict)
    counts: dict[bytes | None, tuple[int | None, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, found: AvroColumns) -> _Source:
        """Check the fields of the columns.

        Raises:
            NotInColumnsError: a field, or a null, does not match the format.
        """
        columns = dict(found.columns)
        if not columns.keys() <= _NUMBERS | _NULLABLE_NUMBERS | _BYTES | _NULLABLE_BYTES:
            raise NotInColumnsError
        for name in _NUMBERS:
            column = columns.get(name)
            if not isinstance(column, Numbers) or column.present is not None:
                raise NotInColumnsError
        for name in _BYTES:
            spans = columns.get(name)
            if not isinstance(spans, Spans) or (spans.starts < 0).any():
                raise NotInColumnsError
        return cls(found.content, columns)

    def numbers(self, name: str) -> Int64Array:
        """Return the numbers of a non-nullable field."""
        column = self.columns[name]
        if not isinstance(column, Numbers):
            raise NotInColumnsError
        return column.values

    def spans(self, name: str) -> Spans | None:
        """Return the positions of the bytes of a field; ``None`` if the manifest has no such field."""
        column = self.columns.get(name)
        if isinstance(column, Numbers):
            raise NotInColumnsError
        return column

    def pieces(self, name: str, rows: Sequence[int] | None = None) -> list[bytes]:
        """Return the bytes of a non-nullable field."""
        spans = self.spans(name)
        if spans is None:
            raise NotInColumnsError
        content = self.content
        starts, ends = spans.starts, spans.ends
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        return [content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def bounds(self, name: str) -> Bounds:
        """Return the bounds in the statistics record ``name``."""
        return Bounds(self._rows(f"{name}._MIN_VALUES"), self._rows(f"{name}._MAX_VALUES"))

    def _rows(self, name: str) -> StoredRows:
        spans = self.spans(name)
        if spans is None:
            raise NotInColumnsError
        return StoredRows(self.content, spans.starts, spans.ends)

    def check(self) -> None:
        """Refuse everything that the general decoder refuses, which then reports the error."""
        rows, low, high = (
            self.numbers(_FILE + n) for n in ("_ROW_COUNT", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER")
        )
        level = self.numbers(f"{_FILE}_LEVEL")
        deleted, first, source = (
            self._nullable(name) for name in ("_DELETE_ROW_COUNT", "_FIRST_ROW_ID", "_FILE_SOURCE")
        )
        is_sound = (
            (self.numbers(f"{_FILE}_FILE_SIZE") >= 0)
            & (rows >= 0)
            & (level >= 0)
            & (level <= MAX_INT)
            & (self.numbers(f"{_FILE}_SCHEMA_ID") >= 0)
            & (low >= -1)
            & (low <= high + 1)
            & (high >= -1)
            & (high <= MAX_SEQUENCE_NUMBER)
        )
        if deleted is not None:
            is_sound &= _is_null(deleted) | ((deleted.values >= 0) & (deleted.values <= rows))
        if first is not None:
            is_sound &= _is_null(first) | (first.values >= 0)
        if source is not None:
            is_sound &= _is_null(source) | (source.values == 0) | (source.values == 1)
        if not is_sound.all():
            raise NotInColumnsError
        for name in ("_EXTRA_FILES", "_VALUE_STATS_COLS", "_WRITE_COLS"):
            for texts in self._texts(_FILE + name):
                if name == "_EXTRA_FILES" and not all(map(is_safe_file_name, texts or ())):
                    raise NotInColumnsError
        for path in self._pieces_or_none(f"{_FILE}_EXTERNAL_PATH"):
            if path is not None:
                _text(path)

    def covered(self, rows: Sequence[int]) -> tuple[list[tuple[str, ...] | None], list[tuple[str, ...] | None]]:
        """Return the columns with statistics and the written columns of each entry."""
        return self._texts(f"{_FILE}_VALUE_STATS_COLS", rows), self._texts(f"{_FILE}_WRITE_COLS", rows)

    def identifying(self, rows: Sequence[int]) -> Iterator[tuple[tuple[str, ...], bytes | None, str | None]]:
        """Return the extra files, embedded index and external path, which are part of an entry's identifier."""
        extra = (texts or () for texts in self._texts(f"{_FILE}_EXTRA_FILES", rows))
        indexes = self._pieces_or_none(f"{_FILE}_EMBEDDED_FILE_INDEX", rows)
        external = (None if p is None else p.decode() for p in self._pieces_or_none(f"{_FILE}_EXTERNAL_PATH", rows))
        return zip(extra, indexes, external, strict=True)

    def entries(self, columns: ManifestColumns, rows: Sequence[int]) -> list[ManifestEntry]:
        """Return the entries at some positions."""
        at = np.array(rows, np.int64)
        files = zip(
            self.pieces(f"{_FILE}_MIN_KEY", rows),
            self.pieces(f"{_FILE}_MAX_KEY", rows),
            self._stats(_STATS[0], rows),
            self._stats(_STATS[1], rows),
            *(self.numbers(_FILE + name)[at].tolist() for name in _FILE_NUMBERS),
            self._texts(f"{_FILE}_EXTRA_FILES", rows),
            self._numbers_or_none("_CREATION_TIME", at),
            self._numbers_or_none("_DELETE_ROW_COUNT", at),
            self._pieces_or_none(f"{_FILE}_EMBEDDED_FILE_INDEX", rows),
            self._numbers_or_none("_FILE_SOURCE", at),
            self._texts(f"{_FILE}_VALUE_STATS_COLS", rows),
            self._pieces_or_none(f"{_FILE}_EXTERNAL_PATH", rows),
            self._numbers_or_none("_FIRST_ROW_ID", at),
            self._texts(f"{_FILE}_WRITE_COLS", rows),
            strict=True,
        )
        names, partitions = columns.names, columns.partitions
        codes, added = columns.partition_codes[at].tolist(), columns.is_added[at].tolist()
        buckets, totals = columns.buckets[at].tolist(), columns.total_buckets[at].tolist()
        return [
            ManifestEntry(
                FileKind.ADD if added[i] else FileKind.DELETE,
                partitions[codes[i]],
                buckets[i],
                totals[i],
                DataFileMeta(
                    file_name=names[rows[i]],
                    file_size=file_size,
                    row_count=row_count,
                    min_key=min_key,
                    max_key=max_key,
                    key_stats=key_stats,
                    value_stats=value_stats,
                    min_sequence_number=low,
                    max_sequence_number=high,
                    schema_id=schema_id,
                    level=level,
                    extra_files=extra or (),
                    creation_time=created,
                    delete_row_count=deleted,
                    embedded_file_index=index,
                    file_source=None if source is None else _SOURCES[source],
                    value_stats_cols=covered,
                    external_path=None if external is None else external.decode(),
                    first_row_id=first,
                    write_cols=written,
                ),
            )
            for i, (
                min_key,
                max_key,
                key_stats,
                value_stats,
                file_size,
                row_count,
                low,
                high,
                schema_id,
                level,
                extra,
                created,
                deleted,
                index,
                source,
                covered,
                external,
                first,
                written,
            ) in enumerate(files)
        ]

    def _stats(self, name: str, rows: Sequence[int]) -> Iterable[SimpleStats]:
        lists = self._pieces_or_none(f"{name}._NULL_COUNTS", rows)
        known = self.counts
        for encoded in set(lists).difference(known):
            known[encoded] = () if encoded is None else tuple(_null_counts(encoded))
        minima, maxima = self.pieces(f"{name}._MIN_VALUES", rows), self.pieces(f"{name}._MAX_VALUES", rows)
        return map(SimpleStats, minima, maxima, map(known.__getitem__, lists))

    def _texts(self, name: str, rows: Sequence[int] | None = None) -> list[tuple[str, ...] | None]:
        known = self.texts
        pieces = self._pieces_or_none(name, rows)
        for encoded in set(pieces).difference(known):
            known[encoded] = None if encoded is None else tuple(_text_items(encoded))
        return [known[encoded] for encoded in pieces]

    def _pieces_or_none(self, name: str, rows: Sequence[int] | None = None) -> list[bytes | None]:
        spans = self.spans(name)
        if spans is None:
            return [None] * (self.numbers("_KIND").size if rows is None else len(rows))
        starts, ends = spans.starts, spans.ends
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        if (starts < 0).all():
            return [None] * starts.size
        content = self.content
        return [
            None if start < 0 else content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _nullable(self, name: str) -> Numbers | None:
        column = self.columns.get(_FILE + name)
        if isinstance(column, Spans):
            raise NotInColumnsError
        return column

    def _numbers_or_none(self, name: str, rows: Int64Array) -> list[int | None]:
        column = self._nullable(name)
        if column is None:
            return [None] * rows.size
        values: list[int | None] = column.values[rows].tolist()
        if column.present is None:
            return values
        return [v if is_there else None for v, is_there in zip(values, column.present[rows].tolist(), strict=True)]


def _is_null(column: Numbers) -> npt.NDArray[np.bool_]:
    return np.zeros(column.values.size, np.bool_) if column.present is None else ~column.present


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise NotInColumnsError from e


def _text_items(encoded: bytes) -> Iterable[str]:
    """Yield the texts of an Avro list that consists of one group."""
    count, at = _long(encoded, 0)
    for _ in range(count):
        length, at = _long(encoded, at)
        yield _text(encoded[at : at + length])
        at += length


def _null_counts(encoded: bytes) -> Iterable[int | None]:
    """Yield the nullable numbers of an Avro list that consists of one group."""
    count, at = _long(encoded, 0)
    for _ in range(count):
        if encoded[at]:
            number, at = _long(encoded, at + 1)
            yield number
        else:
            at += 1
            yield None


def _long(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
