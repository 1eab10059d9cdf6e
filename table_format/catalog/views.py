"""Catalogs that keep views beside their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.model.view import View, ViewChange


@runtime_checkable
class ViewCatalog(Protocol):
    """A catalog that keeps views. Tables and views of a database share one namespace."""

    def list_views(self, database: str) -> tuple[str, ...]:
        """Return the names of the views of a database, sorted.

        >>> catalog.list_views("shop")  # doctest: +SKIP
        ('open_orders',)

        Raises:
            DatabaseNotFound: there is no such database.
        """
        ...

    def view_exists(self, name: str) -> bool:
        """Return whether a view exists.

        >>> catalog.view_exists("shop.open_orders")  # doctest: +SKIP
        True
        """
        ...

    def load_view(self, name: str) -> View:
        """Load a view.

        >>> catalog.load_view("shop.open_orders").query  # doctest: +SKIP
        "SELECT id FROM shop.orders WHERE state = 'open'"

        Raises:
            ViewNotFound: the view does not exist.
        """
        ...

    def create_view(self, view: View, *, ignore_if_exists: bool = False, replace: bool = False) -> None:
        """Store a view; with ``replace``, in the place of a view of the same name. Its text is not checked.

        >>> view = View.of("shop.ids", fields, "SELECT id FROM shop.orders")  # doctest: +SKIP
        >>> catalog.create_view(view)  # doctest: +SKIP

        Raises:
            DatabaseNotFound: there is no such database.
            AlreadyExistsError: a view or a table has the name.
        """
        ...

    def alter_view(self, name: str, changes: Sequence[ViewChange] | ViewChange) -> View:
        """Change the comment, the options or the dialects of a view.

        >>> catalog.alter_view("shop.ids", SetViewComment("numbers of orders")).comment  # doctest: +SKIP
        'numbers of orders'

        Raises:
            ViewNotFound: the view does not exist. AlreadyExistsError, NotFoundError: see ``ViewChange``.
        """
        ...

    def rename_view(self, source: str, target: str) -> None:
        """Rename a view, within its database or into another.

        >>> catalog.rename_view("shop.ids", "shop.order_ids")  # doctest: +SKIP

        Raises:
            ViewNotFound: ``source`` does not exist.
            AlreadyExistsError: a view or a table has the name ``target``.
        """
        ...

    def drop_view(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Drop a view. Its tables stay.

        >>> catalog.drop_view("shop.order_ids")  # doctest: +SKIP

        Raises:
            ViewNotFound: the view does not exist.
        """
        ...


def require_views(catalog: Catalog) -> ViewCatalog:
    """Return the catalog as one that keeps views.

    Raises:
        UnsupportedFeature: it keeps none.
    """
    if isinstance(catalog, ViewCatalog):
        return catalog
    feature = "CREATE VIEW"
    message = (
        "views need a catalog that keeps them: open one with metastore=jdbc, hive or rest, or use CREATE TEMPORARY VIEW"
    )
    raise UnsupportedFeature(feature, message)


def find_view(catalog: Catalog, name: str) -> View | None:
    """Return the view with this name; ``None`` if there is none, or the catalog keeps no views."""
    if not isinstance(catalog, ViewCatalog) or "$" in name:
        return None
    try:
        if not catalog.view_exists(name):
            return None
    except InvalidInputError:  # the name cannot be that of a view
        return None
    return catalog.load_view(name)


def views_in(catalog: Catalog, database: str) -> tuple[str, ...]:
    """Return the views of a database; none if the catalog keeps no views."""
    return catalog.list_views(database) if isinstance(catalog, ViewCatalog) else ()


def text_for(view: View, dialect: str) -> str:
    """Return the text of a view for an engine.

    Raises:
        UnsupportedFeature: the view has no text in the dialect.
    """
    text = view.text_in(dialect)
    if text is not None:
        return text
    feature = f"view of the dialect {', '.join(sorted(view.dialects))}"
    message = (
        f"view '{view.identifier}' has no text in the dialect '{dialect}'; its dialects are "
        f"{', '.join(sorted(view.dialects))}. Add one with CALL sys.alter_view_dialect"
    )
    raise UnsupportedFeature(feature, message)
