"""Key lookups in the bloom filters of many files. They skip most files of a lookup.

This is a fast filter before ``FileIndexes``. It reads only the bloom filters of the columns in a condition. The first
lookup in an index file verifies all filters with the hash in the file name, and keeps a hash of each filter. Later
lookups read one filter and verify it with that hash, because files never change. Conditions that bloom filters cannot
decide, and damaged files, are left to ``FileIndexes``, which also logs the damage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from xxhash import xxh3_64_intdigest

from table_format.codecs.content_name import states_content
from table_format.codecs.file_index import HeadLayout
from table_format.decoded_files import FileKey
from table_format.errors import BadEncoding, CorruptionError
from table_format.indexes.file_index import FileIndexes, indexed_field, is_usable
from table_format.indexes.index_container import CheckedFilters, checked_filters
from table_format.io.file_io import UnexpectedKind
from table_format.io.local import LocalFileIO
from table_format.io.table_store import TableStore
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.bloom_filter import bloom_reader
from table_format.kernels.file_index.conditions import Condition
from table_format.kernels.file_index.results import SKIP, UNKNOWN, IndexResult, Leaf
from table_format.model.data_file import DataFileMeta
from table_format.model.file_index import BLOOM_FILTER
from table_format.model.predicate import And, Literal, Or, Predicate
from table_format.model.schema import TableSchema

_FilterOf: TypeAlias = Callable[[int], bytes]
"""Returns the bytes of a bloom filter, given its number in the file; empty if all values are null."""

_Excludes: TypeAlias = Callable[[_FilterOf], bool]
"""Returns whether the filters show that no row meets a condition."""

_NOT_READABLE: Final = (CorruptionError, FileNotFoundError, IsADirectoryError, UnexpectedKind)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A compiled condition for files of one layout. ``is_all`` is false if other indexes may exclude more files."""

    excludes: _Excludes | None
    is_all: bool


class LookUps:
    """Lookups for conditions on columns of the read schema of ``indexes``.

    They read only index files on a local disk whose names contain a hash of their content.
    """

    def __init__(self, store: TableStore, indexes: FileIndexes) -> None:
        self._io = store.io if isinstance(store.io, LocalFileIO) else None
        self._kept = store.runtime.decoded
        self._indexes = indexes
        # By identity of the condition, which is the same object for all files and is kept here.
        self._compiled: dict[tuple[int, int, bool, HeadLayout], tuple[Predicate, _Compiled]] = {}

    def result(self, predicate: Predicate, path: str, schema: TableSchema, file: DataFileMeta) -> IndexResult | None:
        """Return the result of the bloom filters in the index file at ``path``; ``None`` if ``FileIndexes`` must
        decide.

        ``schema`` is the schema of the file. Raises ``OSError``.
        """
        io = self._io
        if io is None:
            return None
        key: FileKey = (path, None)
        known = None if self._kept is None else self._kept.find(key)
        try:
            if isinstance(known, CheckedFilters):
                test = self._compiled_for(predicate, schema, file, known.layout)
                is_excluded = test.excludes is not None and _excluded_again(io, path, known, test.excludes)
            else:
                found = checked_filters(io, path) if states_content(path) else None
                if found is None:
                    return None
                checked, filters = found
                if self._kept is not None:
                    self._kept.put(key, checked, checked.memory_bytes + len(path))
                test = self._compiled_for(predicate, schema, file, checked.layout)
                is_excluded = test.excludes is not None and test.excludes(filters.__getitem__)
        except _NOT_READABLE:
            return None
        if is_excluded:
            return SKIP
        return UNKNOWN if test.is_all else None

    def _compiled_for(
        self, predicate: Predicate, schema: TableSchema, file: DataFileMeta, layout: HeadLayout
    ) -> _Compiled:
        is_orc = file.file_name.endswith(".orc")
        key = (id(predicate), schema.id, is_orc, layout)
        found = self._compiled.get(key)
        if found is None:
            made = _Compiler(self._indexes, schema, layout, is_orc=is_orc).compiled(self._indexes.normal(predicate))
            found = self._compiled[key] = predicate, made
        return found[1]


def _excluded_again(io: LocalFileIO, path: str, known: CheckedFilters, excludes: _Excludes) -> bool:
    def in_file(size: int, read: Callable[[int, int], bytes]) -> bool:
        if size != known.size:
            raise BadEncoding(
                path, f"the file index changed during the read: it had {known.size} bytes and now has {size}"
            )

        def filter_of(number: int) -> bytes:
            at = 2 * known.layout.filters[number]
            start, length = known.numbers[at : at + 2]
            data = read(start, length) if length else b""
            if xxh3_64_intdigest(data) != known.hashes[number]:
                raise BadEncoding(path, f"the bloom filter at byte {start} changed during the read")
            return data

        return excludes(filter_of)

    return io.read_parts(path, in_file)


class _Compiler:
    """Compiles a condition for files of one schema and layout."""

    def __init__(self, indexes: FileIndexes, schema: TableSchema, layout: HeadLayout, *, is_orc: bool) -> None:
        self._indexes = indexes
        self._schema = schema
        self._is_orc = is_orc
        self._filters = {layout.indexes[place][0]: number for number, place in enumerate(layout.filters)}
        self._others = {column for column, index_type in layout.indexes if index_type != BLOOM_FILTER}

    def compiled(self, predicate: Predicate) -> _Compiled:
        """Compile a condition that has NOT only at its leaves."""
        match predicate:
            case And(parts):
                return self._every([self.compiled(part) for part in parts])
            case Or(parts):
                return self._any([self.compiled(part) for part in parts])
            case Literal(value):
                return _Compiled(None if value is True else lambda _: True, is_all=True)
            case _:
                return self._leaf(predicate)

    def _every(self, parts: list[_Compiled]) -> _Compiled:
        tests = [part.excludes for part in parts if part.excludes is not None]
        is_all = all(part.is_all for part in parts)
        if len(tests) < 2:
            return _Compiled(tests[0] if tests else None, is_all)
        return _Compiled(lambda filter_of: any(test(filter_of) for test in tests), is_all)

    def _any(self, parts: list[_Compiled]) -> _Compiled:
        tests = [part.excludes for part in parts if part.excludes is not None]
        is_all = all(part.is_all for part in parts)
        if len(tests) < len(parts):
            return _Compiled(None, is_all)
        return _Compiled(lambda filter_of: all(test(filter_of) for test in tests), is_all)

    def _leaf(self, leaf: Leaf) -> _Compiled:
        field, condition = self._indexes.condition(leaf)
        stored = indexed_field(self._schema, field, is_orc=self._is_orc)
        if stored is None or condition is None or (self._is_orc and not condition.is_kept_by_orc):
            return _Compiled(None, is_all=True)
        is_all = stored.name not in self._others
        number = self._filters.get(stored.name)
        if number is None or condition.values is None or not is_usable(INDEX_TYPES[BLOOM_FILTER], stored, field):
            return _Compiled(None, is_all)
        return _Compiled(_test(number, condition), is_all)


def _test(number: int, condition: Condition) -> _Excludes:
    def excludes(filter_of: _FilterOf) -> bool:
        data = filter_of(number)
        # The index of a column that is all null has no bytes.
        return not data or bloom_reader(data, "").evaluate(condition) is SKIP

    return excludes
