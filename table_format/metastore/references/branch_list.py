"""The branches of a table, from the listing of their directories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from table_format.errors import BadEncoding
from table_format.io.paths import branch_name_of
from table_format.io.table_store import TableStore
from table_format.model.identifier import MAIN_BRANCH


def all_branches(store: TableStore) -> Iterator[TableStore]:
    """Yield the file access of each branch, the main branch first; raises as ``branch_names``."""
    for name in (MAIN_BRANCH, *branch_names(store)):
        yield replace(store, paths=store.paths.for_branch(name))


def branch_names(store: TableStore) -> tuple[str, ...]:
    """Return the names of all branches that have a directory, sorted, without the main branch.

    Raises:
        BadEncoding: a branch is a broken symbolic link, so its needs are unknown.
    """
    directory = store.paths.branch_directory
    children = store.io.list(directory)
    for child in children:
        if child.is_broken_link and branch_name_of(child.name) is not None:
            path = f"{directory}/{child.name}"
            message = "the branch is a symbolic link that leads nowhere; repair it, or remove it to give up the branch"
            raise BadEncoding(path, message)
    names = (branch_name_of(child.name) for child in children if child.is_directory)
    return tuple(sorted(name for name in names if name is not None))
