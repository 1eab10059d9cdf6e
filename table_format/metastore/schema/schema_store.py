"""The schemas of a table (format chapter 02, section 1; Java ``SchemaManager``).

Schema files are numbered without gaps. They only change if a fast-forward replaces them by those of a branch. A schema
that was read is therefore cached, and the latest is found by reading the last known one again and checking whether the
next one exists. Each schema is made from the one before and holds its creation time, so if the last known schema is
unchanged, so are all before it: one read of a small file makes sure of the whole cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from table_format.codecs.publishable import schema_bytes
from table_format.codecs.schema_json import decode_schema
from table_format.errors import (
    AlreadyExistsError,
    CommitRetriesExhausted,
    MissingFile,
    TableNotFound,
    TableReplaced,
)
from table_format.io.paths import parent, schema_id_of
from table_format.io.table_store import TableStore
from table_format.metastore.numbered_files import NumberedFiles
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.model.schema import TableSchema
from table_format.model.schema_change import SchemaChange

_GIVE_UP_AFTER_MS: Final = 60_000
_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class _Known:
    """A schema that was read, and the bytes of its file."""

    data: bytes
    schema: TableSchema


class SchemaStore:
    """Finds, loads and creates schemas of one branch."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._files = NumberedFiles(
            store,
            "schema",
            store.paths.schema_directory,
            store.paths.schema,
            schema_id_of,
            lambda data, path: decode_schema(data, path=path),
        )
        self._known: dict[int, _Known] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return (SchemaStore, (self._store,))

    def latest_id(self) -> int | None:
        """Return the id of the latest schema; ``None`` if there is no table."""
        known = self._last_unchanged()
        if known is None:
            known = max(self.ids(), default=None)
        while known is not None and self._files.exists(known + 1):
            known += 1
        return known

    def latest(self) -> TableSchema:
        """Return the latest schema.

        Raises:
            TableNotFound: there is no schema.
        """
        latest_id = self.latest_id()
        if latest_id is None:
            raise self._no_table()
        try:
            return self.load(latest_id)
        except MissingFile:
            ids = self.ids()
            if latest_id in ids:
                raise
            if not ids:
                raise self._no_table() from None  # it was dropped after the look
            return self.load(ids[-1])  # it was dropped, and created again

    def _no_table(self) -> TableNotFound:
        paths = self._store.paths
        return TableNotFound(f"no table at {paths.root}: it has no schema on branch '{paths.branch}'")

    def load(self, schema_id: int) -> TableSchema:
        """Return the schema with this id.

        Raises:
            CorruptionError: the schema does not exist, or its file is damaged.
        """
        known = self._known.get(schema_id)
        if known is None:
            data = self._files.data(schema_id)
            if data is None:
                raise MissingFile(self._store.paths.schema(schema_id))
            known = self._known[schema_id] = _Known(data, self._files.decoded(schema_id, data))
        return known.schema

    def first_replaced(self, schemas: Iterable[TableSchema]) -> TableSchema | None:
        """Return the first of the schemas that the table no longer has under its id; ``None`` if it has all of them.
        After that, no outdated schema is cached.

        Raises:
            CorruptionError: the file of a schema is damaged.
        """
        self._last_unchanged()
        return next((schema for schema in schemas if not self._has(schema)), None)

    def _has(self, schema: TableSchema) -> bool:
        try:
            return self.load(schema.id).identity == schema.identity
        except MissingFile:
            return False

    def _last_unchanged(self) -> int | None:
        """Return the last known id, after a look at its file; ``None`` if none is known or others replaced it."""
        last = max(self._known, default=None)
        if last is not None and self._files.data(last) != self._known[last].data:
            self._known.clear()
            return None
        return last

    def ids(self) -> Sequence[int]:
        """Return all ids, ascending."""
        return self._files.ids()

    def all(self) -> Mapping[int, TableSchema]:
        """Return all schemas by id."""
        return {schema_id: self.load(schema_id) for schema_id in self.ids()}

    def create(self, schema: TableSchema) -> None:
        """Create the schema's file, which must not exist.

        Raises:
            AlreadyExistsError: the id is taken.
            OutcomeUnknownError: the store did not answer.
        """
        data = schema_bytes(schema, path=self._store.paths.schema(schema.id))
        self._files.create(schema.id, data, give_up_after_ms=_GIVE_UP_AFTER_MS)
        self._known[schema.id] = _Known(data, schema)

    def change(
        self,
        changes: Sequence[SchemaChange],
        *,
        check: Callable[[TableSchema, TableSchema], None] | None = None,
    ) -> TableSchema:
        """Apply changes to the latest schema, and store and return the result; ``check`` may refuse it by raising.

        If another writer takes the id, the changes are applied again to its schema. If nothing changes, the latest
        schema is returned.

        Raises:
            InvalidSchemaChange: a change is not possible for the schema.
            CommitRetriesExhausted: other writers won every attempt.
            TableNotFound, TableReplaced: the table was dropped, renamed or created again in the meantime; nothing was
            changed.
            OutcomeUnknownError: the store did not answer.
        """
        for _ in range(_TRIES):
            current = self.latest()
            changed = apply_changes(current, changes, time_millis=self._store.runtime.clock.now_ms())
            if changed is current:
                return current
            if check is not None:
                check(current, changed)
            try:
                self.create(changed)
            except AlreadyExistsError:
                continue
            self._require_table_of(current, changed)
            return changed
        message = f"the schema was changed by others {_TRIES} times in a row; try again"
        raise CommitRetriesExhausted(message)

    def _require_table_of(self, before: TableSchema, created: TableSchema) -> None:
        """Take a new schema back if the schema that it changes is gone: alone, it would be a table without rows."""
        found = self._files.find(before.id)
        path = self._store.paths.schema(before.id)
        if found is not None and schema_bytes(found, path=path) == schema_bytes(before, path=path):
            return
        self._files.delete(created.id)
        self._known.clear()
        root, branch = self._store.paths.root, self._store.paths.branch
        if found is None:
            directory = self._store.paths.schema_directory
            for empty in (directory, parent(directory)):  # that of a branch would be one without a schema
                self._store.io.delete_empty_directory(empty)
            message = (
                f"the table at {root} (branch '{branch}') was dropped or renamed while its schema was changed; load it "
                "again by its current name and repeat"
            )
            raise TableNotFound(message)
        message = (
            f"the table at {root} (branch '{branch}') was replaced while its schema was changed; nothing was changed "
            "there. Load the table again and repeat"
        )
        raise TableReplaced(message)
