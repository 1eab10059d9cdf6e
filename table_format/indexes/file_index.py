"""Reading the indexes of data files: which rows of a file a filter can select (format chapter 09, section 7).

Java ``FileIndexEvaluator``, ``FileIndexPredicate``. An index follows the schema its file was written with, so columns
are matched by field id; where the type has changed in a way that changes what is indexed the index says nothing. The
same goes for an index of a type or version that is not known here, and for one that is damaged: an index only saves
work, and without it the rows are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from table_format.codecs.content_name import check_content, states_content
from table_format.codecs.file_index import IndexPlace, IndexPlaces, check_places, decode_head, head_length
from table_format.errors import BadEncoding, CorruptionError, LimitExceeded, MissingFile
from table_format.io.file_io import FileIO
from table_format.io.sound_files import opened_file, read_file
from table_format.io.table_store import TableStore
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.bitmap import BitmapReader
from table_format.kernels.file_index.bsi import BsiReader
from table_format.kernels.file_index.conditions import Condition, SoughtValues, condition_of
from table_format.kernels.file_index.empty import EmptyIndex
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.protocol import IndexReader, IndexType
from table_format.kernels.file_index.range_bitmap import RangeBitmapReader
from table_format.kernels.file_index.results import UNKNOWN, IndexResult, Leaf, Skip, evaluate, narrowed
from table_format.limits import MAX_FILE_INDEX_BYTES
from table_format.model.arrow_calls import read_at
from table_format.model.data_file import DataFileMeta
from table_format.model.file_index import BITMAP, BSI, RANGE_BITMAP
from table_format.model.predicate import And, Compare, CompareOp, In, Literal, Or, Predicate, columns_of
from table_format.model.schema import TableSchema
from table_format.model.types import (
    CharType,
    DataField,
)

INDEX_SUFFIX: Final = ".index"

_FIRST_READ: Final = 4096
"""Most heads fit in it, and small indexes whole."""

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

Read: TypeAlias = Callable[[int, int], bytes]
"""Bytes of a container, by their start and number."""


class FileIndexes:
    """The indexes of the data files of one table, for filters over columns of ``read_schema``.

    ``schemas`` holds the schema of every file by id. A condition is prepared once for all files. Of what was read of
    index files, up to ``kept_bytes`` is kept, and not read again.
    """

    def __init__(
        self,
        store: TableStore,
        schemas: Mapping[int, TableSchema],
        read_schema: TableSchema,
        *,
        kept_bytes: int = 0,
    ) -> None:
        self._store = store
        self._schemas = schemas
        self._read_schema = read_schema
        self._kept: dict[str, _Container] = {}
        self._free_bytes = kept_bytes
        self._conditions: dict[Leaf, tuple[DataField, Condition | None]] = {}

    def __reduce__(self) -> tuple[type[FileIndexes], tuple[object, ...]]:
        # What is kept stays in its process.
        return FileIndexes, (self._store, self._schemas, self._read_schema)

    def condition(self, leaf: Leaf) -> tuple[DataField, Condition | None]:
        """The column of the read schema that a condition is on, and the condition as indexes evaluate it."""
        found = self._conditions.get(leaf)
        if found is None:
            (column,) = columns_of(leaf)
            field = self._read_schema.field(column)
            found = self._conditions[leaf] = field, condition_of(leaf, field.type)
        return found

    def evaluated(
        self,
        partition_text: str,
        bucket: int,
        file: DataFileMeta,
        evaluation: Callable[[FileIndex], _Result],
        otherwise: _Result,
    ) -> _Result:
        """What is evaluated on a file's indexes; ``otherwise`` where they are missing or damaged, which is logged.

        Raises ``OSError``.
        """
        try:
            with self._opened(partition_text, bucket, file) as index:
                return evaluation(index)
        except CorruptionError as error:
            _log.warning("the index of a data file is not used, and the file is read instead: %s", error)
            return otherwise

    @contextmanager
    def _opened(self, partition_text: str, bucket: int, file: DataFileMeta) -> Iterator[FileIndex]:
        schema = self._schemas[file.schema_id]
        name = _index_file(file)
        if name is None:
            path = self._store.paths.data_file(partition_text, bucket, file)
            yield FileIndex(self, _container(file.embedded_file_index, path), schema, file)
            return
        path = self._store.paths.file_in_bucket(partition_text, bucket, name)
        if path in self._kept:
            yield FileIndex(self, self._kept[path], schema, file)
            return
        if states_content(path):
            data = _checked(self._store.io, path)
            container = _container(data, path)
            self._keep(container, len(data))
            yield FileIndex(self, container, schema, file)
            return
        with opened_file(self._store.io, path) as source:
            container = _opened(lambda start, length: read_at(source, length, start), source.size(), path)
            yield FileIndex(self, container, schema, file)

    def _keep(self, container: _Container, size: int) -> None:
        # Several threads may come here; they keep a few bytes too many at most.
        if size <= self._free_bytes:
            self._free_bytes -= size
            self._kept[container.path] = container


def has_index(file: DataFileMeta) -> bool:
    """Whether a file has indexes, in the manifest or beside it."""
    return file.embedded_file_index is not None or _index_file(file) is not None


def names_of_indexes(
    store: TableStore, partition_text: str, bucket: int, file: DataFileMeta, *, checks_content: bool = False
) -> frozenset[tuple[str, str]]:
    """The indexes that a file has, each by its column, or key of a map column, and its type.

    Only the head is read. With ``checks_content`` the whole file is, where its name states its content.

    Raises:
        CorruptionError: they are missing or damaged.
    """
    if file.embedded_file_index is not None:
        container = _container(file.embedded_file_index, store.paths.data_file(partition_text, bucket, file))
        return _pairs(container)
    name = _index_file(file)
    if name is None:
        return frozenset()
    path = store.paths.file_in_bucket(partition_text, bucket, name)
    if checks_content and states_content(path):
        return _pairs(_container(_checked(store.io, path), path))
    with opened_file(store.io, path) as source:
        return _pairs(_opened(lambda start, length: read_at(source, length, start), source.size(), path))


def _pairs(container: _Container) -> frozenset[tuple[str, str]]:
    return frozenset((column, index_type) for column, types in container.places.items() for index_type in types)


def may_help(predicate: Predicate, schema: TableSchema) -> bool:
    """Whether some index could exclude files for a predicate over columns of the schema; NOT is at leaves only.

    Every type of index helps with = and IN. With other conditions only those do that find rows, and files are not
    opened for them unless the schema's options ask for such an index of the column.

    >>> from table_format.model.predicate import IsNull
    >>> may_help(IsNull("a"), TableSchema(id=0, fields=(), highest_field_id=0))
    False
    """
    return _may_help(predicate, schema, _columns_with_rows(schema.options))


def _may_help(predicate: Predicate, schema: TableSchema, with_rows: frozenset[str]) -> bool:
    match predicate:
        case And(parts) | Or(parts):
            each = (_may_help(part, schema, with_rows) for part in parts)
            return any(each) if isinstance(predicate, And) else all(each)
        case Compare(column=column, op=CompareOp.EQ) | In(column=column):
            data_type = schema.field(column).type
            return any(index_type.declaration.supports(data_type) for index_type in INDEX_TYPES.values())
        case Literal():
            return False
        case _:
            return columns_of(predicate) <= with_rows


def _columns_with_rows(options: Mapping[str, str]) -> frozenset[str]:
    """The columns of which options ask for an index that finds rows."""
    found: set[str] = set()
    for index_type in INDEX_TYPES.values():
        if index_type.finds_rows:
            found.update(map(str.strip, options.get(index_type.declaration.columns_key, "").split(",")))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Container:
    """Where the indexes of a file lie, and how their bytes are read."""

    places: IndexPlaces
    read: Read
    size: int
    path: str

    def payload(self, place: IndexPlace) -> Payload:
        if place.length > MAX_FILE_INDEX_BYTES:
            raise LimitExceeded(self.path, f"an index of {place.length} bytes is longer than {MAX_FILE_INDEX_BYTES}")
        return Payload(place.length, lambda start, length: self.read(place.start + start, length), self.path)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one index of a file says of a condition on its column."""

    column: str
    index_type: str
    result: IndexResult

    def __str__(self) -> str:
        return f"{self.index_type}({self.column})"


class FileIndex:
    """The indexes of one data file."""

    def __init__(self, indexes: FileIndexes, container: _Container, schema: TableSchema, file: DataFileMeta) -> None:
        self._indexes = indexes
        self._container = container
        self._schema = schema
        self._row_count = file.row_count
        self._is_orc = file.file_name.endswith(".orc")
        self._readers: dict[tuple[str, str], IndexReader | None] = {}

    def evaluate(self, predicate: Predicate) -> IndexResult:
        """Which rows of the file can satisfy the predicate.

        Raises:
            CorruptionError: an index that had to be read is damaged.
        """
        return evaluate(predicate, self._leaf)

    def evidence(self, predicate: Predicate) -> tuple[IndexResult, tuple[Evidence, ...]]:
        """As ``evaluate``, and what each index that was read says of each condition on its column."""
        found: list[Evidence] = []
        return evaluate(predicate, lambda leaf: self._leaf(leaf, found.append)), tuple(found)

    def numbers(self, field: DataField) -> BsiReader | None:
        """The bit slices of a column, whose keys are those of the values as they are read; errors as before."""
        readers = self._readers_of(field, lambda index_type: index_type.declaration.identifier == BSI)
        return next((reader for _, reader in readers if isinstance(reader, BsiReader)), None)

    def groups(self, field: DataField) -> BitmapReader | None:
        """The bitmaps of a column, whose keys are those of the values as they are read; errors as before."""
        readers = self._readers_of(field, lambda index_type: index_type.declaration.identifier == BITMAP)
        return next((reader for _, reader in readers if isinstance(reader, BitmapReader)), None)

    def ranking(self, field: DataField) -> BsiReader | RangeBitmapReader | None:
        """The bit slices or ranks of a column, which find the rows with the largest keys; errors as before."""
        readers = self._readers_of(field, lambda index_type: index_type.declaration.identifier in (BSI, RANGE_BITMAP))
        return next((reader for _, reader in readers if isinstance(reader, BsiReader | RangeBitmapReader)), None)

    @property
    def row_count(self) -> int:
        """The rows of the data file."""
        return self._row_count

    @property
    def is_orc(self) -> bool:
        """Whether the data file is an ORC file."""
        return self._is_orc

    def may_match(self, predicate: Predicate) -> bool:
        """Whether some row may satisfy the predicate; errors as for ``evaluate``."""
        return not isinstance(self.evaluate(predicate), Skip)

    def may_equal(self, field: DataField, values: SoughtValues) -> npt.NDArray[np.bool_] | None:
        """For each of the values whether some row may have it; ``None`` when no index tells; errors as before."""
        if self._is_orc and not values.is_kept_by_orc:
            return None
        each = [reader.may_equal(values) for _, reader in self._readers_of(field)]
        return np.logical_and.reduce(each) if each else None

    def _leaf(self, leaf: Leaf, note: Callable[[Evidence], None] | None = None) -> IndexResult:
        field, condition = self._indexes.condition(leaf)
        if condition is None or (self._is_orc and not condition.is_kept_by_orc):
            return UNKNOWN
        sought = condition.values is not None
        readers = self._readers_of(field, lambda index_type: sought or index_type.finds_rows)
        if note is None:
            return narrowed(reader.evaluate(condition) for _, reader in readers)
        found = [(name, reader.evaluate(condition)) for name, reader in readers]
        for name, result in found:
            note(Evidence(field.name, name, result))
        return narrowed(result for _, result in found)

    def _readers_of(
        self, field: DataField, is_wanted: Callable[[IndexType], bool] = lambda _type: True
    ) -> Iterator[tuple[str, IndexReader]]:
        """The wanted indexes over a column that are known here, by type, small ones first."""
        stored = next((f for f in self._schema.fields if f.id == field.id), None)
        if stored is None or (self._is_orc and isinstance(stored.type, CharType)):
            # Spaces at the end of CHAR values were indexed, and reading ORC files takes them away.
            return
        places = self._container.places.get(stored.name, {})
        for name, place in sorted(places.items(), key=lambda item: item[1].length):
            index_type = INDEX_TYPES.get(name)
            if index_type is None or not is_wanted(index_type):
                continue
            if index_type.declaration.supports(stored.type) and index_type.agrees(stored.type, field.type):
                reader = self._reader(index_type, stored, place)
                if reader is not None:
                    yield name, reader

    def _reader(self, index_type: IndexType, stored: DataField, place: IndexPlace) -> IndexReader | None:
        if place.is_empty:
            return EmptyIndex()
        key = (stored.name, index_type.declaration.identifier)
        if key not in self._readers:
            payload = self._container.payload(place)
            self._readers[key] = index_type.reader(payload, stored.type, self._row_count)
        return self._readers[key]


def _index_file(file: DataFileMeta) -> str | None:
    """The name of the file beside a data file that holds its indexes."""
    if file.embedded_file_index is not None:
        return None
    return next((name for name in file.extra_files if name.endswith(INDEX_SUFFIX)), None)


def _checked(io: FileIO, path: str) -> bytes:
    """The whole file, whose name states its content."""
    try:
        data = read_file(io, path)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    if len(data) > MAX_FILE_INDEX_BYTES:
        raise LimitExceeded(path, f"a file index of {len(data)} bytes is longer than {MAX_FILE_INDEX_BYTES}")
    check_content(data, path=path)
    return data


def _container(data: bytes | None, path: str) -> _Container:
    held = data or b""
    return _opened(lambda start, length: held[start : start + length], len(held), path)


def _opened(read: Read, size: int, path: str) -> _Container:
    first = read(0, min(size, _FIRST_READ))

    def known(start: int, length: int) -> bytes:
        return first[start : start + length] if start + length <= len(first) else read(start, length)

    length = head_length(first, path=path)
    if length is None:
        return _Container({}, known, size, path)
    if length > size:
        raise BadEncoding(path, f"the head of the file index is said to have {length} bytes, the whole has {size}")
    places = decode_head(known(0, length), path=path)
    check_places(places, head_length=length, size=size, path=path)
    return _Container(places, known, size, path)
