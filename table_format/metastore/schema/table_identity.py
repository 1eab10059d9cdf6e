"""Checks which table is at a path: the loaded one, another that replaced it, or none.

The first schema file of a table never changes and contains its creation time. A digest of this file distinguishes a
table from one that was dropped and created again, on every branch. The ``TableStore`` of an open table contains the
digest. Commits, maintenance and readers compare it with the current file.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace

from table_format.errors import TableNotFound, TableReplaced
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.schema import FIRST_SCHEMA_ID


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


def _digest(store: TableStore, schema_id: int) -> str:
    return hashlib.sha256(read_file(store.io, store.paths.schema(schema_id))).hexdigest()
