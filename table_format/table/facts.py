"""The input of every operation on a table: its schema, its options and the places of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from table_format.errors import ColumnNotFound, InvalidInputError, SchemaChanged, SnapshotExpired
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import deletion_files
from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import delete_uncommitted
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.metastore.commit.message_files import delete_message_files
from table_format.metastore.commit.table_commit import TableCommit
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.scan.file_filter import ALL_FILES, FileFilter
from table_format.metastore.scan.file_plan import FilePlan, live_files
from table_format.metastore.schema.option_columns import column_options, columns_bound_by_options
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import explaining_drop, require_same_schema, require_same_table
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DELETION_VECTORS, IndexFileMeta, ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DeletionFile
from table_format.options.bucket_mode import BucketMode, bucket_mode
from table_format.options.check import require
from table_format.options.declare import Operation
from table_format.options.kind import refuse_direct_changes, without_kind
from table_format.options.table_options import TableOptions

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class StoredSchemas(Mapping[int, TableSchema]):
    """All schemas of a table by id. Each is read on first use."""

    def __init__(self, store: SchemaStore) -> None:
        self._store = store

    def __getitem__(self, schema_id: int) -> TableSchema:
        return self._store.load(schema_id)

    def __contains__(self, schema_id: object) -> bool:
        return schema_id in self._store.ids()

    def __iter__(self) -> Iterator[int]:
        return iter(self._store.ids())

    def __len__(self) -> int:
        return len(self._store.ids())


@dataclass(frozen=True)
class TableFacts:
    """A loaded table; can be pickled. Messages call it ``name``.

    ``opened`` is the schema with which the caller loaded the table, if its columns differ from ``schema``.
    """

    name: str
    store: TableStore
    schema: TableSchema
    options: TableOptions
    opened: TableSchema | None = None

    def __reduce__(self) -> tuple[object, ...]:
        # The cache of what was read is not pickled.
        return (TableFacts, (self.name, self.store, self.schema, self.options, self.opened))

    def in_schema(self, schema: TableSchema) -> TableFacts:
        """Return the table as it is read in another schema of it.

        Options that name columns, such as those of the merge engine, name the columns of the schema that contains them.
        If one of these columns was renamed, dropped or added since, the options of the earlier schema are used. A later
        schema has its own options, overridden by those of the scan.
        """
        if schema == self.schema:
            return self
        if schema.id > self.schema.id:
            stored, raw = self.schema.options, self.options.raw
            given = {key: value for key, value in raw.items() if stored.get(key) != value}
            later = {key: value for key, value in schema.options.items() if key in raw or key not in stored}
            return replace(self, schema=schema, options=TableOptions({**later, **given}))
        own, earlier = column_options(self.schema.options), column_options(schema.options)
        bound = columns_bound_by_options({**own, **earlier})
        ids, earlier_ids = ({f.name: f.id for f in fields} for fields in (self.schema.fields, schema.fields))
        if all(ids.get(name) == earlier_ids.get(name) for name in bound):
            return self
        others = {key: value for key, value in self.options.raw.items() if own.get(key) != value}
        return replace(self, schema=schema, options=TableOptions({**earlier, **others}))

    @cached_property
    def snapshots(self) -> SnapshotStore:
        """The snapshots of the table."""
        return SnapshotStore(self.store)

    @cached_property
    def schema_store(self) -> SchemaStore:
        """The schemas of the table, for reading and writing."""
        return SchemaStore(self.store)

    @cached_property
    def schemas(self) -> Mapping[int, TableSchema]:
        """The schemas of the table by id. Each is read on first use."""
        return StoredSchemas(self.schema_store)

    @cached_property
    def manifests(self) -> ManifestStore:
        """The manifests of the table."""
        return ManifestStore(self.store, self.options, self.store.runtime.decoded)

    @property
    def as_files_say(self) -> TableFacts:
        """The same table with empty caches, so that everything is read from its files.

        This detects manifests that were deleted or damaged since this process read them.
        """
        return replace(self, store=replace(self.store, runtime=replace(self.store.runtime, decoded=None)))

    @cached_property
    def partitions(self) -> Partitions:
        """The names and encoding of partitions."""
        return Partitions(self.schema, self.options)

    @property
    def bucket_mode(self) -> BucketMode:
        """The bucket mode of the table.

        Raises:
            InvalidOption: the option ``bucket`` is 0.
        """
        return bucket_mode(self.schema, self.options.bucket)

    def committer(self, commit_user: str) -> TableCommit:
        """Return a committer for one user. It shares the caches of this table."""
        return TableCommit(
            self.store,
            self.schema_store,
            self.options,
            commit_user,
            snapshots=self.snapshots,
            manifests=self.manifests,
        )

    def live_files(self, snapshot: Snapshot | None, filter: FileFilter = ALL_FILES) -> FilePlan:
        """Return the data files of a snapshot that a filter selects; none without a snapshot.

        Raises:
            CorruptionError: a manifest is missing or damaged.
        """
        return live_files(self.manifests, snapshot, schema=self.schema, schemas=self.schemas, filter=filter)

    def changed_files(self, snapshot: Snapshot) -> Sequence[ManifestEntry] | None:
        """Return the files that a commit added and removed; ``None`` if its snapshot has expired.

        Raises:
            CorruptionError: a manifest of a retained snapshot is missing or damaged.
        """
        with suppress(SnapshotExpired), explaining_expiry(self.store, snapshot.id, as_changes=True):
            return self.manifests.delta_entries(snapshot)
        return None

    def deletion_files(self, snapshot: Snapshot) -> Mapping[BucketId, Mapping[str, DeletionFile]]:
        """Return the deletion files of a snapshot, by partition and bucket, then by data file.

        Raises:
            CorruptionError: the index manifest is missing or broken.
        """
        return deletion_files(self.manifests.index_entries(snapshot), self.index_path)

    def new_deletions(self, before: Snapshot, after: Snapshot) -> Iterator[tuple[BucketId, str, int]]:
        """Yield the files of an append table whose deletion vector the commit ``after`` changed: bucket, name, and how
        many rows were deleted. ``before`` is the state before the commit.

        The manifests of a commit do not name these files. Of a primary key table, they name every changed key.

        Raises:
            SnapshotExpired: one of the snapshots has expired in the meantime.
            CorruptionError: an index manifest is missing or damaged.
        """
        if self.schema.is_primary_key_table or before.index_manifest == after.index_manifest:
            return
        with explaining_expiry(self.store, before, after):
            were, are = self.deletion_files(before), self.deletion_files(after)
        for bucket_id, files in are.items():
            for name, file in files.items():
                old = were.get(bucket_id, {}).get(name)
                if old != file:
                    yield bucket_id, name, _marked_rows(file) - _marked_rows(old)

    def bucket_deletions(self, snapshot: Snapshot | None) -> Mapping[BucketId, BucketDeletions]:
        """Return the deletion vectors of a snapshot in the form that bucket writers need.

        Raises:
            CorruptionError: the index manifest is missing or broken.
        """
        if snapshot is None:
            return {}
        index_files: dict[BucketId, list[IndexFileMeta]] = {}
        for entry in self.manifests.index_entries(snapshot):
            if entry.index_file.index_type == DELETION_VECTORS:
                index_files.setdefault(entry.bucket_id, []).append(entry.index_file)
        if not index_files:
            return {}
        files = self.deletion_files(snapshot)
        return {key: BucketDeletions(files.get(key, {}), tuple(found)) for key, found in index_files.items()}

    def bucket_files(
        self, partition: bytes, bucket: int, total_buckets: int, *, with_changelog: bool = True
    ) -> BucketFiles:
        """Return the file access for one bucket."""
        return BucketFiles(
            store=self.store,
            schema=self.schema,
            schemas=self.schemas,
            options=self.options,
            partition=partition,
            partition_text=self.partitions.text(partition),
            bucket=bucket,
            total_buckets=total_buckets,
            with_changelog=with_changelog,
        )

    def delete_file(self, partition: bytes, bucket: int, file: DataFileMeta) -> None:
        """Delete a data file that no snapshot names."""
        delete_uncommitted(self.store.io, self.store.paths.files_of(self.partitions.text(partition), bucket, file))

    def index_path(self, partition: bytes, bucket: int, name: str) -> str:
        """Return the path of an index file of a bucket."""
        return self.partitions.index_path(self.store.paths, partition, bucket, name)

    def delete_index_file(self, partition: bytes, bucket: int, file: IndexFileMeta) -> None:
        """Delete an index file that no snapshot names."""
        delete_uncommitted(self.store.io, (self.index_path(partition, bucket, file.file_name),))

    def delete_message_files(self, messages: Iterable[CommitMessage]) -> None:
        """Delete all files of messages that were never handed to a commit."""
        delete_message_files(self.store, self.partitions, messages)

    @contextmanager
    def blaming_old_columns(self) -> Iterator[None]:
        """Raise ``SchemaChanged`` instead of an error about the rows if the columns of the table have changed.

        Raises:
            SchemaChanged: instead of an error about columns, types or values.
        """
        try:
            yield
        except (InvalidInputError, ColumnNotFound) as error:
            if self.opened is None:
                raise
            message = (
                f"{self.name} was loaded with schema {self.opened.id} and now has schema {self.schema.id} with "
                f"other columns: {error}. Nothing was written; load the table again and repeat"
            )
            raise SchemaChanged(message) from error

    def explaining_drop(self) -> AbstractContextManager[None]:
        """Guard work on the table: if it fails because the table was dropped or created again, say so.

        Raises:
            TableNotFound, TableReplaced: instead of an error about what the table lacks.
        """
        return explaining_drop(partial(require_same_table, self.store))

    def require(self, operation: Operation) -> None:
        """Refuse an operation whose result would be wrong.

        Raises:
            UnsupportedFeature: names the option and its value.
        """
        require(self.schema, self.options, operation)

    def require_same_schema(self, *others: TableSchema) -> None:
        """Refuse to continue if the table was replaced, or its schema or one of the others was, by that of another
        branch.

        This reads one small file.

        Raises:
            SchemaChanged, TableNotFound, TableReplaced: load the table again.
            OSError: the store failed.
        """
        require_same_schema(self.store, self.schema_store, self.schema, *others)

    def require_changeable(self) -> None:
        """Refuse to change rows that only a refresh of the table may change.

        Raises:
            UnsupportedFeature: it is an object table or a materialized table, and this is not its refresh.
        """
        refuse_direct_changes(self.name, self.options.raw)

    @property
    def as_refresh(self) -> TableFacts:
        """The same table for its refresh, which may replace its rows."""
        return replace(self, options=TableOptions.parse(without_kind(self.options.raw)))


class HasFacts(Protocol):
    """A loaded table, for functions that become methods of ``Table``."""

    @property
    def facts(self) -> TableFacts:
        """The table with the schema with which it was loaded; used by reads."""
        ...

    @property
    def current_facts(self) -> TableFacts:
        """The table with its current schema; used by writes and deletes."""
        ...


_Table = TypeVar("_Table", bound=HasFacts)


def reporting_drops(
    operation: Callable[Concatenate[_Table, _Arguments], _Result],
) -> Callable[Concatenate[_Table, _Arguments], _Result]:
    """Make an operation on a table say so if it fails because the table was dropped or created again; see
    ``TableFacts.explaining_drop``.
    """

    @wraps(operation)
    def reporting(table: _Table, /, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        with table.facts.explaining_drop():
            return operation(table, *arguments, **named)

    return reporting


def _marked_rows(vector: DeletionFile | None) -> int:
    return 0 if vector is None else vector.range.cardinality or 0
