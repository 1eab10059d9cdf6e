"""The indexes that a data file should have by the current options of its table, and whether it has them.

An index is named and typed by the schema its file was written with, so that columns are matched by field id (Java
``FileIndexProcessor.SchemaCache``). A column that the file does not have gets no index, and neither does one whose type
has changed so that readers would not use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from table_format.errors import CorruptionError, InvalidOption
from table_format.formats.index_writer import ColumnIndex
from table_format.indexes.file_index import INDEX_SUFFIX, indexes_in, opened_indexes
from table_format.indexes.index_container import Container, FirstReads
from table_format.kernels.file_index import INDEX_TYPES
from table_format.limits import KIB
from table_format.metastore.references.expired_reads import on_latest
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.file_index import BSI, bit_slices_hold, column_of, map_key_of
from table_format.model.snapshot import Snapshot
from table_format.options.check_file_index import indexed_type
from table_format.pruning.file_bounds import FileBounds
from table_format.table.facts import TableFacts
from table_format.table.read.index_reads import of_each_index

_FIRST_READS: Final = FirstReads(container=64 * KIB)
"""The first read of an index file: its head and the first bytes of its indexes, which state their settings."""


@dataclass(frozen=True)
class DeclaredIndexes:
    """The indexes that the options of a table declare for its files."""

    facts: TableFacts

    def of_file(self, file: DataFileMeta) -> tuple[ColumnIndex, ...]:
        """The indexes that a data file should have."""
        declared = self._of_schema(file.schema_id)
        if file.write_cols is not None:
            declared = tuple(index for index in declared if index.column in file.write_cols)
        return tuple(index for index in declared if not self._is_impossible(index, file))

    def differ(self, bucket_id: BucketId, file: DataFileMeta, *, checks_content: bool = False) -> bool:
        """Whether a file has other indexes than it should, indexes of other settings, or damaged ones.

        Of an index file, only the heads are read; with ``checks_content``, all of it if its name states its content.
        """
        return not self.has(bucket_id, file, self.of_file(file), checks_content=checks_content)

    def has(
        self, bucket_id: BucketId, file: DataFileMeta, wanted: Iterable[ColumnIndex], *, checks_content: bool = False
    ) -> bool:
        """Whether a file has just these indexes, where they belong, and none is damaged."""
        text, store = self.facts.partitions.text(bucket_id.partition), self.facts.store
        by_name = {(index.name, index.index_type): index for index in wanted}
        try:
            with opened_indexes(
                store, text, bucket_id.bucket, file, checks_content=checks_content, first_reads=_FIRST_READS
            ) as container:
                if container is None:
                    return not by_name
                if indexes_in(container) != by_name.keys():
                    return False
                return not by_name or (self._is_in_place(container, file) and _have_settings(container, by_name))
        except CorruptionError:
            return False

    def may_differ(self, bucket_id: BucketId, file: DataFileMeta) -> bool:
        """Like ``differ``, but from manifests alone, which do not describe separate index files."""
        beside = file.embedded_file_index is None and any(name.endswith(INDEX_SUFFIX) for name in file.extra_files)
        return beside or self.differ(bucket_id, file)

    def _is_in_place(self, container: Container, file: DataFileMeta) -> bool:
        """Whether the indexes are in the manifest or in a separate file, as their size requires."""
        belongs_in_manifest = container.size <= self.facts.options.file_index.in_manifest_threshold
        return (file.embedded_file_index is not None) == belongs_in_manifest

    def _of_schema(self, schema_id: int) -> tuple[ColumnIndex, ...]:
        found = self._by_schema.get(schema_id)
        if found is None:
            indexes = self.facts.options.file_index.columns.items()
            each = (self._index(schema_id, kind, column) for kind, columns in indexes for column in columns)
            found = self._by_schema[schema_id] = tuple(index for index in each if index is not None)
        return found

    @cached_property
    def _by_schema(self) -> dict[int, tuple[ColumnIndex, ...]]:
        return {}

    def _is_impossible(self, index: ColumnIndex, file: DataFileMeta) -> bool:
        """Whether the statistics of a file show a value that the index cannot hold, so that it need not be built."""
        if index.index_type != BSI or map_key_of(index.name) is not None:
            return False
        bounds = self._bounds_of(file.schema_id, index.column).of_values(file).get(index.column)
        extremes = () if bounds is None else (bounds.minimum, bounds.maximum)
        return any(value is not None and not bit_slices_hold(value, index.data_type) for value in extremes)

    def _bounds_of(self, schema_id: int, column: str) -> FileBounds:
        key = schema_id, column
        if key not in self._bounds:
            self._bounds[key] = FileBounds(self.facts.schemas[schema_id], self.facts.schemas, [column])
        return self._bounds[key]

    @cached_property
    def _bounds(self) -> dict[tuple[int, str], FileBounds]:
        return {}

    def _index(self, schema_id: int, kind: str, column: str) -> ColumnIndex | None:
        schema, stored = self.facts.schema, self.facts.schemas[schema_id]
        index_type = INDEX_TYPES[kind]
        key = index_type.declaration.columns_key
        field_id = schema.field(column_of(column)).id
        field = next((field for field in stored.fields if field.id == field_id), None)
        if field is None:
            return None
        nested = map_key_of(column)
        name = field.name if nested is None else f"{field.name}[{nested[1]}]"
        try:
            data_type, wanted = indexed_type(stored, name, key), indexed_type(schema, column, key)
        except InvalidOption:
            return None  # the column was not a map with text keys
        if not index_type.declaration.supports(data_type) or not index_type.agrees(data_type, wanted):
            return None
        return ColumnIndex(name, kind, data_type, self.facts.options.file_index.stated_of(kind, column))


def _have_settings(container: Container, indexes: Mapping[tuple[str, str], ColumnIndex]) -> bool:
    """Whether each index has the form that its settings require. An index of nulls only has no form."""
    places = [(index, container.places[name][kind]) for (name, kind), index in indexes.items()]
    return all(
        INDEX_TYPES[index.index_type].has_settings(container.payload(place), index.data_type, index.settings)
        for index, place in places
        if not place.is_empty
    )


@dataclass(frozen=True, slots=True)
class IndexCoverage:
    """The number of data files, and by partition the number of those with other indexes than they should have."""

    files: int
    differing: Mapping[str, int]

    @property
    def is_complete(self) -> bool:
        """Whether each file has the indexes it should have, and no others."""
        return not self.differing


def index_coverage(facts: TableFacts) -> IndexCoverage:
    """Measure the latest snapshot. Of separate index files, the heads are read."""
    return on_latest(facts.snapshots, partial(_coverage_of, facts))


def _coverage_of(facts: TableFacts, snapshot: Snapshot | None) -> IndexCoverage:
    if snapshot is None:
        return IndexCoverage(0, {})
    plan = facts.live_files(snapshot)
    entries = [entry for entry in plan.entries if entry.bucket >= 0]
    declared = DeclaredIndexes(facts)
    # The indexes of each schema are determined before threads need them.
    for entry in entries:
        declared.of_file(entry.file)
    differ = of_each_index(facts.store.io, lambda entry: declared.differ(entry.bucket_id, entry.file), entries)
    lacking = (entry.partition for entry, lacks in zip(entries, differ, strict=True) if lacks)
    return IndexCoverage(len(entries), dict(Counter(facts.partitions.text(each).strip("/") for each in lacking)))
