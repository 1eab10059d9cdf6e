"""Reads the indexes of data files to find which rows a filter can select (format chapter 09, section 7).

Java ``FileIndexEvaluator``, ``FileIndexPredicate``. An index follows the schema with which its file was written, so
columns are matched by field id. An index is ignored if a type change affects the indexed values, if its type or version
is unknown, or if it is damaged. An index only saves work: without it, the result is the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from table_format.codecs.content_name import states_content
from table_format.codecs.file_index import IndexPlace
from table_format.errors import CorruptionError
from table_format.indexes.index_container import (
    FIRST_READS,
    Container,
    FirstReads,
    checked_container,
    container_of,
    unchecked_container,
)
from table_format.io.table_store import TableStore
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.bitmap import BitmapReader
from table_format.kernels.file_index.bsi import BsiReader
from table_format.kernels.file_index.conditions import Condition, SoughtValues, condition_of
from table_format.kernels.file_index.empty import EmptyIndex
from table_format.kernels.file_index.protocol import IndexReader, IndexType
from table_format.kernels.file_index.range_bitmap import RangeBitmapReader
from table_format.kernels.file_index.results import UNKNOWN, IndexResult, Leaf, Skip, evaluate_normal, narrowed
from table_format.kernels.predicate import normalise
from table_format.model.data_file import DataFileMeta
from table_format.model.file_index import BITMAP, BSI, RANGE_BITMAP
from table_format.model.predicate import And, Compare, CompareOp, In, Literal, Or, Predicate, columns_of
from table_format.model.schema import TableSchema
from table_format.model.types import (
    CharType,
    DataField,
)

INDEX_SUFFIX: Final = ".index"

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class FileIndexes:
    """Evaluates filters over columns of ``read_schema`` on the indexes of the data files of one table.

    ``schemas`` holds the schema of every file by id. A condition is prepared once for all files. Up to ``kept_bytes``
    of index files are cached. ``first_reads`` is the size of the first read of a file in this process.
    """

    def __init__(
        self,
        store: TableStore,
        schemas: Mapping[int, TableSchema],
        read_schema: TableSchema,
        *,
        kept_bytes: int = 0,
        first_reads: FirstReads = FIRST_READS,
    ) -> None:
        self._store = store
        self._schemas = schemas
        self._read_schema = read_schema
        self._first_reads = first_reads
        self._kept: dict[str, Container] = {}
        self._free_bytes = kept_bytes
        # By identity: comparing conditions for each file would cost more than evaluating them.
        self._normal: dict[int, tuple[Predicate, Predicate]] = {}
        self._conditions: dict[int, tuple[Leaf, DataField, Condition | None]] = {}

    def __reduce__(self) -> tuple[type[FileIndexes], tuple[object, ...]]:
        # The cache is not sent to other processes.
        return FileIndexes, (self._store, self._schemas, self._read_schema)

    def normal(self, predicate: Predicate) -> Predicate:
        """Return the predicate with NOT only at its leaves; always the same object for the same predicate."""
        found = self._normal.get(id(predicate))
        if found is None:
            # The predicate is kept too, so that no other object can get its identity.
            found = self._normal[id(predicate)] = predicate, normalise(predicate)
        return found[1]

    def condition(self, leaf: Leaf) -> tuple[DataField, Condition | None]:
        """Return the column of the read schema in a condition, and the condition in the form that indexes evaluate."""
        found = self._conditions.get(id(leaf))
        if found is None:
            (column,) = columns_of(leaf)
            field = self._read_schema.field(column)
            found = self._conditions[id(leaf)] = leaf, field, condition_of(leaf, field.type)
        return found[1:]

    def evaluated(
        self,
        partition_text: str,
        bucket: int,
        file: DataFileMeta,
        evaluation: Callable[[FileIndex], _Result],
        otherwise: _Result,
        *,
        for_look_ups: bool = False,
    ) -> _Result:
        """Evaluate a function on the indexes of a file. Return ``otherwise`` if they are missing or damaged; damage is
        logged.

        With ``for_look_ups``, bloom filters may be sufficient, and other indexes are read only when they are needed.
        Raises ``OSError``.
        """
        schema = self._schemas[file.schema_id]
        try:
            name = index_file(file)
            if name is None:
                path = self._store.paths.data_file(partition_text, bucket, file)
                return evaluation(
                    FileIndex(self, container_of(file.embedded_file_index, path, self._first_reads), schema, file)
                )
            path = self._store.paths.beside(partition_text, bucket, file, name)
            container = self._kept.get(path)
            if container is None and states_content(path):
                container = checked_container(self._store.io, path, for_look_ups=for_look_ups)
                self._keep(container)
            if container is not None:
                return evaluation(FileIndex(self, container, schema, file))
            with unchecked_container(self._store.io, path, self._first_reads) as opened:
                return evaluation(FileIndex(self, opened, schema, file))
        except CorruptionError as error:
            _log.warning("the index of a data file is not used, and the file is read instead: %s", error)
            return otherwise

    def _keep(self, container: Container) -> None:
        # Several threads may run this; at worst they cache a few bytes too many.
        if container.size <= self._free_bytes:
            self._free_bytes -= container.size
            self._kept[container.path] = container


def has_index(file: DataFileMeta) -> bool:
    """Return whether a data file has indexes, in the manifest or in a separate file."""
    return file.embedded_file_index is not None or index_file(file) is not None


def names_of_indexes(
    store: TableStore, partition_text: str, bucket: int, file: DataFileMeta, *, checks_content: bool = False
) -> frozenset[tuple[str, str]]:
    """Return the indexes of a data file as pairs: the column, or the key of a map column, and the index type.

    Only the head is read. With ``checks_content``, the whole file is read if its name contains a hash of its content.

    Raises:
        CorruptionError: the indexes are missing or damaged.
    """
    with opened_indexes(store, partition_text, bucket, file, checks_content=checks_content) as container:
        return frozenset() if container is None else indexes_in(container)


@contextmanager
def opened_indexes(
    store: TableStore,
    partition_text: str,
    bucket: int,
    file: DataFileMeta,
    *,
    checks_content: bool = False,
    first_reads: FirstReads = FIRST_READS,
) -> Iterator[Container | None]:
    """Open the container with the indexes of a data file; ``None`` if it has none. See ``names_of_indexes``."""
    name = index_file(file)
    path = store.paths.beside(partition_text, bucket, file, name or file.file_name)
    if file.embedded_file_index is not None:
        yield container_of(file.embedded_file_index, path)
    elif name is None:
        yield None
    elif checks_content and states_content(path):
        yield checked_container(store.io, path)
    else:
        with unchecked_container(store.io, path, first_reads) as container:
            yield container


def indexes_in(container: Container) -> frozenset[tuple[str, str]]:
    """The indexes in a container, each by its column, or key of a map column, and its type."""
    return frozenset((column, index_type) for column, types in container.places.items() for index_type in types)


def may_help(predicate: Predicate, schema: TableSchema) -> bool:
    """Return whether an index could exclude files for a predicate over columns of the schema.

    The predicate has NOT only at its leaves. Every index type supports = and IN. Only indexes that find rows support
    other conditions. For those, index files are opened only if the options of the schema configure one for
    the column.

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
    """Return the columns for which the options configure an index that finds rows."""
    found: set[str] = set()
    for index_type in INDEX_TYPES.values():
        if index_type.finds_rows:
            found.update(map(str.strip, options.get(index_type.declaration.columns_key, "").split(",")))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of one index of a file for a condition on its column."""

    column: str
    index_type: str
    result: IndexResult

    def __str__(self) -> str:
        return f"{self.index_type}({self.column})"


class FileIndex:
    """The indexes of one data file."""

    def __init__(self, indexes: FileIndexes, container: Container, schema: TableSchema, file: DataFileMeta) -> None:
        self._indexes = indexes
        self._container = container
        self._schema = schema
        self._row_count = file.row_count
        self._is_orc = file.file_name.endswith(".orc")
        self._readers: dict[tuple[str, str], IndexReader | None] = {}

    def evaluate(self, predicate: Predicate) -> IndexResult:
        """Return which rows of the file can satisfy the predicate.

        Raises:
            CorruptionError: an index that is needed is damaged.
        """
        return evaluate_normal(self._indexes.normal(predicate), self._leaf)

    def evidence(self, predicate: Predicate) -> tuple[IndexResult, tuple[Evidence, ...]]:
        """Return the result of ``evaluate``, and the result of each index that was read for each condition on its
        column.
        """
        found: list[Evidence] = []
        normal = self._indexes.normal(predicate)
        return evaluate_normal(normal, lambda leaf: self._leaf(leaf, found.append)), tuple(found)

    def numbers(self, field: DataField) -> BsiReader | None:
        """Return the bit slices of a column. Their keys are those of the values that a reader gets. Errors as
        ``evaluate``.
        """
        readers = self._readers_of(field, lambda index_type: index_type.declaration.identifier == BSI)
        return next((reader for _, reader in readers if isinstance(reader, BsiReader)), None)

    def groups(self, field: DataField) -> BitmapReader | None:
        """Return the bitmaps of a column. Their keys are those of the values that a reader gets. Errors as
        ``evaluate``.
        """
        readers = self._readers_of(field, lambda index_type: index_type.declaration.identifier == BITMAP)
        return next((reader for _, reader in readers if isinstance(reader, BitmapReader)), None)

    def ranking(self, field: DataField) -> BsiReader | RangeBitmapReader | None:
        """Return the bit slices or ranks of a column, which find the rows with the largest keys. Errors as
        ``evaluate``.
        """
        readers = self._readers_of(field, lambda index_type: index_type.declaration.identifier in (BSI, RANGE_BITMAP))
        return next((reader for _, reader in readers if isinstance(reader, BsiReader | RangeBitmapReader)), None)

    @property
    def row_count(self) -> int:
        """The number of rows of the data file."""
        return self._row_count

    @property
    def is_orc(self) -> bool:
        """Whether the data file is an ORC file."""
        return self._is_orc

    def may_match(self, predicate: Predicate) -> bool:
        """Return whether a row may satisfy the predicate. Errors as ``evaluate``."""
        return not isinstance(self.evaluate(predicate), Skip)

    def may_equal(self, field: DataField, values: SoughtValues) -> npt.NDArray[np.bool_] | None:
        """Return for each value whether a row may have it; ``None`` if no index can decide. Errors as ``evaluate``."""
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
        """Return readers of the wanted indexes of a column by type, small indexes first. Unknown types are skipped."""
        stored = indexed_field(self._schema, field, is_orc=self._is_orc)
        if stored is None:
            return
        places = self._container.places.get(stored.name, {})
        ordered = places.items() if len(places) < 2 else sorted(places.items(), key=lambda item: item[1].length)
        for name, place in ordered:
            index_type = INDEX_TYPES.get(name)
            if index_type is not None and is_wanted(index_type) and is_usable(index_type, stored, field):
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


def indexed_field(schema: TableSchema, field: DataField, *, is_orc: bool) -> DataField | None:
    """Return the column of a file with this schema whose indexes are valid for a column of the read schema."""
    stored = next((f for f in schema.fields if f.id == field.id), None)
    if stored is None or (is_orc and isinstance(stored.type, CharType)):
        # The index includes trailing spaces of CHAR values, which reading an ORC file removes.
        return None
    return stored


def is_usable(index_type: IndexType, stored: DataField, field: DataField) -> bool:
    """Return whether an index of this type on a column of a file can be used for a column of the read schema."""
    return index_type.declaration.supports(stored.type) and index_type.agrees(stored.type, field.type)


def index_file(file: DataFileMeta) -> str | None:
    """Return the name of the separate file with the indexes of a data file, or ``None`` if there is none."""
    if file.embedded_file_index is not None:
        return None
    for name in file.extra_files:
        if name.endswith(INDEX_SUFFIX):
            return name
    return None
