"""Checks which table is at a path: the loaded one, another that replaced it, or none.

The first schema file of a table never changes and contains its creation time. A digest of this file distinguishes a
table from one that was dropped and created again, on every branch. The ``TableStore`` of an open table contains the
digest. Commits, maintenance and readers compare it with the current file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from table_format.errors import (
    InvalidInputError,
    OutcomeUnknownError,
    SchemaChanged,
    TableFormatError,
    TableNotFound,
    TableReplaced,
)
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.schema import FIRST_SCHEMA_ID, TableSchema, columns_text, identified
from table_format.model.snapshot import shown_time


def read_identity(store: TableStore) -> str | None:
    """Return the identity of the table at this path; ``None`` if there is no table."""
    main = replace(store, paths=store.paths.for_branch(MAIN_BRANCH))
    with suppress(FileNotFoundError):
        return _digest(main, FIRST_SCHEMA_ID)
    # Tables of other programs may lack their first schemas.
    first = min(SchemaStore(main).ids(), default=None)
    if first is None:
        return None
    with suppress(FileNotFoundError):
        return _digest(main, first)
    return None


def require_same_table(store: TableStore) -> None:
    """Refuse to continue if the table is no longer the loaded one. This reads one small file.

    Nothing is checked if the store has no identity.

    Raises:
        TableNotFound: the table was dropped or renamed, or its branch was deleted.
        TableReplaced: another table was created in its place.
        OSError: the store failed.
    """
    if store.identity is None:
        return
    found = read_identity(store)
    root, branch = store.paths.root, store.paths.branch
    if found is None:
        message = f"the table at {root} was dropped or renamed after it was opened; load it again by its current name"
        raise TableNotFound(message)
    if found != store.identity:
        message = (
            f"the table at {root} was dropped after it was opened, and created again; nothing was changed there. "
            "Load the table again and repeat"
        )
        raise TableReplaced(message)
    if branch != MAIN_BRANCH and SchemaStore(store).latest_id() is None:
        message = (
            f"branch '{branch}' of the table at {root} was deleted or renamed after it was opened; open another branch"
        )
        raise TableNotFound(message)


def require_same_schema(store: TableStore, schemas: SchemaStore, *known: TableSchema) -> None:
    """Refuse to continue if the table is no longer the loaded one, or has another schema under the id of a known one.

    ``schemas`` are the cached schemas of the table. This reads one small file, as ``require_same_table`` does: the file
    of the last known schema. If that is unchanged, so are all before it, and the first identifies the table.

    Raises:
        SchemaChanged: a fast-forward has replaced the schemas of the table.
        TableNotFound, TableReplaced, OSError: as for ``require_same_table``.
    """
    changed = None if store.identity is None else schemas.first_replaced(known)
    if changed is None:
        return
    require_same_table(store)
    message = f"{replaced_schema(store, schemas, changed.identity)}. Load the table again and repeat"
    raise SchemaChanged(message)


def replaced_schema(store: TableStore, schemas: SchemaStore, identity: str) -> str:
    """Return the description of a schema that the table no longer has, by its identity."""
    schema_id, created_ms = identified(identity)
    root, branch, latest = store.paths.root, store.paths.branch, schemas.latest()
    if schema_id > latest.id:
        now = f"which does not exist any more: the latest is schema {latest.id}"
    else:
        found = schemas.load(schema_id)
        created, columns = shown_time(found.time_millis), columns_text(found.fields)
        now = f"and has another schema {schema_id} now, of {created} ({columns})"
    recreated = "" if branch == MAIN_BRANCH else ", or it was deleted and created again"
    return (
        f"the table at {root} (branch '{branch}') had schema {schema_id} of {shown_time(created_ms)}, {now}. A "
        f"fast-forward has replaced the history of the branch by that of another one{recreated}"
    )


@contextmanager
def explaining_drop(check: Callable[[], None]) -> Iterator[None]:
    """Guard work below the table: if it fails because the table was dropped, say so.

    Files, snapshots, tags and branches are then missing, and what is there may belong to another table. ``check``
    requires the same table. An invalid argument remains one, and an unknown outcome remains unknown.

    Raises:
        TableNotFound, TableReplaced: the table is no longer the loaded one.
    """
    try:
        yield
    except (TableNotFound, TableReplaced, InvalidInputError, OutcomeUnknownError):
        raise
    except (FileNotFoundError, TableFormatError) as error:
        dropped = _error_of(check)
        if dropped is None:
            raise
        raise dropped from error


def _error_of(check: Callable[[], None]) -> TableFormatError | None:
    """Return the error by which a check says that the table is no longer the loaded one."""
    try:
        with suppress(OSError):  # nobody knows; the first error says more
            check()
    except (TableNotFound, TableReplaced) as error:
        return error
    return None


def _digest(store: TableStore, schema_id: int) -> str:
    return hashlib.sha256(read_file(store.io, store.paths.schema(schema_id))).hexdigest()
