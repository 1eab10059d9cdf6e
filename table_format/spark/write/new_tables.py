"""New tables with rows: complete, or not there."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from table_format.catalog.protocol import Catalog
from table_format.errors import TableNotFound
from table_format.model.schema import Schema


def create_filled(catalog: Catalog, name: str, schema: Schema, fill: Callable[[str], object]) -> None:
    """Create a table and give it rows; if that fails, there is no table. ``fill`` gets its name.

    Raises:
        AlreadyExistsError: there is a table of that name.
    """
    catalog.create_table(name, schema)
    try:
        fill(name)
    except BaseException:
        catalog.drop_table(name, ignore_if_not_exists=True)
        raise


def replace_table(catalog: Catalog, name: str, schema: Schema, fill: Callable[[str], object]) -> None:
    """Make the new table beside the old one, which its query may read; it takes the name when it is complete.

    Raises:
        TableNotFound: there is no table of that name.
    """
    if not catalog.table_exists(name):
        message = f"table '{name}' does not exist; create it"
        raise TableNotFound(message)
    staged = f"{name}__replacing_{uuid4().hex[:12]}"
    create_filled(catalog, staged, schema, fill)
    catalog.drop_table(name)
    catalog.rename_table(staged, name)
