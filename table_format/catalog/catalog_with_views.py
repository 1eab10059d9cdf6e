"""A catalog with views, and the protocol of the store that keeps them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from table_format.catalog.named_catalog import NamedCatalog
from table_format.catalog.table_names import TableName
from table_format.errors import AlreadyExistsError, ViewNotFound
from table_format.model.arguments import flag
from table_format.model.identifier import Identifier
from table_format.model.view import View, ViewChange, changed_view, view_name
from table_format.nearest_names import did_you_mean


class KeptViews(Protocol):
    """Where a catalog keeps its views. The caller has checked that names are legal and databases exist."""

    def of_database(self, database: str) -> Sequence[str]:
        """Return the names of the views of a database."""
        ...

    def has(self, identifier: Identifier) -> bool:
        """Return whether there is a view of this name. It may be one that this version cannot read."""
        ...

    def find(self, identifier: Identifier) -> View | None:
        """Return a view; ``None`` if there is none of this name."""
        ...

    def create(self, view: View, *, ignore_if_exists: bool, replace: bool) -> None:
        """Store a view, in one step.

        Raises:
            AlreadyExistsError: a view or a table has the name.
        """
        ...

    def change(self, identifier: Identifier, change: Callable[[View], View]) -> View:
        """Replace a view by what ``change`` makes of it, and return it.

        Raises:
            ViewNotFound: there is no such view.
        """
        ...

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Rename a view.

        Raises:
            ViewNotFound: there is no such view. AlreadyExistsError: a view or a table has the new name.
        """
        ...

    def drop(self, identifier: Identifier, *, ignore_if_not_exists: bool) -> None:
        """Drop a view.

        Raises:
            ViewNotFound: there is no such view.
        """
        ...

    def not_found(self, identifier: Identifier) -> ViewNotFound:
        """Return the error for a view that does not exist."""
        ...


def no_view(name: TableName, *, is_table: bool, views: Iterable[str]) -> ViewNotFound:
    """Return the error for a view that does not exist. ``views`` are those of its database."""
    if is_table:
        return ViewNotFound(f"view '{name}' does not exist: '{name}' is a table")
    known = (f"{name.database}.{view}" for view in views)
    return ViewNotFound(f"view '{name}' does not exist{did_you_mean(str(name), known)}")


class NamedCatalogWithViews(NamedCatalog):
    """A ``NamedCatalog`` that implements ``ViewCatalog``."""

    __slots__ = ()

    @property
    @abstractmethod
    def views(self) -> KeptViews:
        """Where the views are kept."""

    def list_views(self, database: str) -> tuple[str, ...]:
        """Return the names of the views of a database, sorted; see ``ViewCatalog``."""
        self._require_database(database)
        return tuple(sorted(self.views.of_database(database)))

    def view_exists(self, name: str) -> bool:
        """Return whether a view exists; see ``ViewCatalog``."""
        return self.views.has(view_name(name))

    def load_view(self, name: str) -> View:
        """Load a view; see ``ViewCatalog``."""
        identifier = view_name(name)
        found = self.views.find(identifier)
        if found is None:
            raise self.views.not_found(identifier)
        return found

    def create_view(self, view: View, *, ignore_if_exists: bool = False, replace: bool = False) -> None:
        """Store a view; see ``ViewCatalog``."""
        flag(ignore_if_exists, "ignore_if_exists")
        flag(replace, "replace")
        identifier = view_name(str(view.identifier))
        self._require_database(identifier.database)
        try:
            self.views.create(view, ignore_if_exists=ignore_if_exists, replace=replace)
        except AlreadyExistsError:
            # Another process may have created the view in the meantime.
            if not (ignore_if_exists or replace) or not self._has_view(identifier):
                raise
            self.views.create(view, ignore_if_exists=ignore_if_exists, replace=replace)

    def alter_view(self, name: str, changes: Sequence[ViewChange] | ViewChange) -> View:
        """Change a view; see ``ViewCatalog``."""
        listed = changes if isinstance(changes, Sequence) else [changes]
        return self.views.change(view_name(name), lambda view: changed_view(view, listed))

    def rename_view(self, source: str, target: str) -> None:
        """Rename a view; see ``ViewCatalog``."""
        old, new = view_name(source), view_name(target)
        self._require_database(new.database)
        self.views.rename(old, new)

    def drop_view(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Drop a view; see ``ViewCatalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        self.views.drop(view_name(name), ignore_if_not_exists=ignore_if_not_exists)

    def _has_view(self, identifier: Identifier) -> bool:
        return self.views.has(identifier)
