"""Checks which table is at a path: the loaded one, another that replaced it, or none.

A table is made by its first schema file, which never changes and holds the time it was made at. A digest of it
distinguishes a table from one that was dropped and created again, on every branch. The ``TableStore`` of an open table
carries the digest. Commits, maintenance and readers compare it with the file that is there now.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace

from table_format.errors import TableNotFound, TableReplaced
from table_format.io.sound_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.schema import FIRST_SCHEMA_ID


def read_identity(store: TableStore) -> str | None:
    """The identity of the table at this path; ``None`` when there is no table."""
    main = replace(store, paths=store.paths.for_branch(MAIN_BRANCH))
    with suppress(FileNotFoundError):
        return _digest(main, FIRST_SCHEMA_ID)
    # Tables of others may have lost their first schemas.
    first = min(SchemaStore(main).ids(), default=None)
    if first is None:
        return None
    with suppress(FileNotFoundError):
        return _digest(main, first)
    return None


def require_same_table(store: TableStore) -> None:
    """Refuse to continue with a table that is no longer the loaded one; costs one small read.

    Nothing happens where the store carries no identity.

    Raises:
        TableNotFound: the table was dropped or renamed, or its branch was deleted.
        TableReplaced: another table was made in its place.
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
        message = f"branch '{branch}' of the table at {root} was deleted or renamed after it was opened"
        raise TableNotFound(message)


def is_same_table(store: TableStore) -> bool:
    """Whether the table is still the one that was opened; raises ``OSError`` alone."""
    try:
        require_same_table(store)
    except (TableNotFound, TableReplaced):
        return False
    return True


def _digest(store: TableStore, schema_id: int) -> str:
    return hashlib.sha256(read_file(store.io, store.paths.schema(schema_id))).hexdigest()
