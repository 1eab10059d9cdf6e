"""Reading the indexes of data files: which files hold no row that a filter selects (format chapter 09, section 7).

Java ``FileIndexEvaluator``, ``FileIndexPredicate``. An index follows the schema its file was written with, so columns
are matched by field id; where the type has changed in a way that changes hashes the index says nothing. Nothing is
excluded by an index of a type or version that is not known here, nor by one that is damaged: an index only saves work,
and without it the rows are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.codecs.content_name import check_content, states_content
from table_format.codecs.file_index import IndexPlaces, decode_head, head_length
from table_format.errors import BadEncoding, CorruptionError, InvalidData, LimitExceeded, Truncated
from table_format.io.sound_files import opened_file
from table_format.io.table_store import TableStore
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.protocol import IndexReader, IndexType
from table_format.kernels.values import array_of, values_of
from table_format.limits import MAX_FILE_INDEX_BYTES
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import And, Compare, CompareOp, In, Literal, Or, Predicate, columns_of
from table_format.model.schema import TableSchema
from table_format.model.types import (
    CharType,
    DataField,
    LocalZonedTimestampType,
    TimestampType,
)

MAX_VALUES: Final = 1000
"""Of a longer IN some value is nearly always taken to be there."""

INDEX_SUFFIX: Final = ".index"

_FIRST_READ: Final = 4096
"""Most heads fit in it, and small indexes whole."""

_SHIFTED_IN_ORC_NANOS: Final = -12_000_000_000_000_000_000
"""1589-09-27: what ORC files move between calendars has become no later date than this."""

_log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

Read: TypeAlias = Callable[[int, int], bytes]
"""Bytes of a container, by their start and number."""


class Question:
    """Values of a column of the read schema, none of them null, that the indexes of many files are asked for."""

    def __init__(self, field: DataField, values: pa.Array) -> None:
        self.field = field
        self.count = len(values)
        self._values = values
        self._prepared: dict[str, Any] = {}

    def for_type(self, index_type: IndexType) -> Any:  # noqa: ANN401 - each type has its own
        """The values as one type of index takes them."""
        found = self._prepared.get(index_type.identifier)
        if found is None:
            found = self._prepared[index_type.identifier] = index_type.prepared(self._values, self.field.type)
        return found

    @cached_property
    def is_kept_by_orc(self) -> bool:
        """Whether ORC files give the values back as they were written: timestamps before 1582 move by days."""
        if not isinstance(self.field.type, TimestampType | LocalZonedTimestampType):
            return True
        values = values_of(self._values, self.field.type)
        return all(isinstance(value, int) and value > _SHIFTED_IN_ORC_NANOS for value in values)


class FileIndexes:
    """The indexes of the data files of one table, for filters over columns of ``read_schema``.

    ``schemas`` holds the schema of every file by id. What a condition asks for is worked out once for all files.
    """

    def __init__(self, store: TableStore, schemas: Mapping[int, TableSchema], read_schema: TableSchema) -> None:
        self._store = store
        self._schemas = schemas
        self._read_schema = read_schema
        self._questions: dict[Predicate, Question | None] = {}

    def question(self, condition: Compare | In) -> Question | None:
        """The values of which a row that meets a condition has one; ``None`` when no index can be asked for them."""
        if condition not in self._questions:
            self._questions[condition] = self._question(condition)
        return self._questions[condition]

    def _question(self, condition: Compare | In) -> Question | None:
        field = self._read_schema.field(condition.column)
        values = condition.values if isinstance(condition, In) else (condition.value,)
        if len(values) > MAX_VALUES or not any(t.supports(field.type) for t in INDEX_TYPES.values()):
            return None
        try:
            return Question(field, _with_both_zeros(array_of(values, field.type)))
        except InvalidData:
            return None  # a value that the type does not have: the filter itself finds that out

    def told(
        self,
        partition_text: str,
        bucket: int,
        file: DataFileMeta,
        ask: Callable[[FileIndex], _Answer],
        otherwise: _Answer,
    ) -> _Answer:
        """The answer of a file's indexes; ``otherwise`` where they are missing or damaged, which is logged.

        Raises ``OSError``.
        """
        try:
            with self._opened(partition_text, bucket, file) as index:
                return ask(index)
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
        with opened_file(self._store.io, path) as source:
            if states_content(path):
                yield FileIndex(self, _container(_checked(source, path), path), schema, file)
                return
            container = _opened(lambda start, length: source.read_at(length, start), source.size(), path)
            yield FileIndex(self, container, schema, file)


def has_index(file: DataFileMeta) -> bool:
    """Whether a file has indexes, in the manifest or beside it."""
    return file.embedded_file_index is not None or _index_file(file) is not None


def may_help(predicate: Predicate, schema: TableSchema) -> bool:
    """Whether some index could exclude files for a predicate.

    >>> from table_format.model.predicate import IsNull
    >>> may_help(IsNull("a"), TableSchema(id=0, fields=(), highest_field_id=0))
    False
    """
    match predicate:
        case And(parts) | Or(parts):
            each = (may_help(part, schema) for part in parts)
            return any(each) if isinstance(predicate, And) else all(each)
        case Compare(op=CompareOp.EQ) | In():
            (column,) = columns_of(predicate)
            return any(index_type.supports(schema.field(column).type) for index_type in INDEX_TYPES.values())
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Container:
    """Where the indexes of a file lie, and how their bytes are read."""

    places: IndexPlaces
    read: Read
    size: int
    path: str

    def payload(self, start: int, length: int) -> bytes:
        if length > MAX_FILE_INDEX_BYTES:
            raise LimitExceeded(self.path, f"an index of {length} bytes is longer than {MAX_FILE_INDEX_BYTES}")
        return self.read(start, length)


class FileIndex:
    """The indexes of one data file."""

    def __init__(self, indexes: FileIndexes, container: _Container, schema: TableSchema, file: DataFileMeta) -> None:
        self._indexes = indexes
        self._container = container
        self._schema = schema
        self._is_orc = file.file_name.endswith(".orc")
        self._readers: dict[str, tuple[tuple[IndexType, IndexReader | None], ...]] = {}

    def may_match(self, predicate: Predicate) -> bool:
        """Whether some row may satisfy the predicate."""
        match predicate:
            case And(parts):
                return all(self.may_match(part) for part in parts)
            case Or(parts):
                return any(self.may_match(part) for part in parts)
            case Literal(value):
                return value is True
            case Compare(op=CompareOp.EQ) | In():
                return self._may_meet(predicate)
            case _:
                return True

    def may_equal(self, question: Question) -> npt.NDArray[np.bool_] | None:
        """For each of the values whether some row may have it; ``None`` when no index tells."""
        if self._is_orc and not question.is_kept_by_orc:
            return None
        readers = self._readers_of(question.field)
        if not readers:
            return None
        found = np.ones(question.count, np.bool_)
        for index_type, reader in readers:
            found &= reader.may_equal(question.for_type(index_type)) if reader is not None else False
        return found

    def _may_meet(self, condition: Compare | In) -> bool:
        question = self._indexes.question(condition)
        if question is None:
            return True
        found = self.may_equal(question)
        return found is None or bool(found.any())

    def _readers_of(self, field: DataField) -> tuple[tuple[IndexType, IndexReader | None], ...]:
        """The indexes over a column that are known here; ``None`` is one that holds nothing."""
        readers = self._readers.get(field.name)
        if readers is None:
            readers = self._readers[field.name] = tuple(self._open(field))
        return readers

    def _open(self, field: DataField) -> Iterator[tuple[IndexType, IndexReader | None]]:
        stored = next((f for f in self._schema.fields if f.id == field.id), None)
        if stored is None or (self._is_orc and isinstance(stored.type, CharType)):
            # Spaces at the end of CHAR values were hashed, and reading ORC files takes them away.
            return
        for name, place in self._container.places.get(stored.name, {}).items():
            index_type = INDEX_TYPES.get(name)
            if index_type is None or not index_type.supports(stored.type):
                continue
            if not index_type.agrees(stored.type, field.type):
                continue
            payload = None if place.is_empty else self._container.payload(place.start, place.length)
            yield index_type, None if payload is None else index_type.reader(payload, path=self._container.path)


def _index_file(file: DataFileMeta) -> str | None:
    """The name of the file beside a data file that holds its indexes."""
    if file.embedded_file_index is not None:
        return None
    return next((name for name in file.extra_files if name.endswith(INDEX_SUFFIX)), None)


def _checked(source: pa.NativeFile, path: str) -> bytes:
    """The whole file, whose name states its content."""
    size = source.size()
    if size > MAX_FILE_INDEX_BYTES:
        raise LimitExceeded(path, f"a file index of {size} bytes is longer than {MAX_FILE_INDEX_BYTES}")
    data: bytes = source.read()
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
    ends = [place.start + place.length for column in places.values() for place in column.values() if not place.is_empty]
    if ends and max(ends) > size:
        raise Truncated(path, expected_bytes=max(ends), found_bytes=size)
    return _Container(places, known, size, path)


def _with_both_zeros(values: pa.Array) -> pa.Array:
    """0.0 and -0.0 are equal, and lie in indexes as they were written."""
    if pa.types.is_floating(values.type) and pc.any(pc.equal(values, 0)).as_py():
        return pa.concat_arrays([values, pa.array([0.0, -0.0], values.type)])
    return values
