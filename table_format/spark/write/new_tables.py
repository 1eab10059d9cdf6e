"""Creates tables with rows: the complete table, or none."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from table_format.catalog.protocol import Catalog
from table_format.errors import TableNotFound
from table_format.model.schema import Schema


def create_filled(catalog: Catalog, name: str, schema: Schema, fill: Callable[[str], object]) -> None:
    """Create a table and fill it. If this fails, the table does not exist. ``fill`` gets its name.

    Raises:
        AlreadyExistsError: the table exists.
    """
    catalog.create_table(name, schema)
    try:
        fill(name)
    except BaseException:
        catalog.drop_table(name, ignore_if_not_exists=True)
        raise


def replace_table(catalog: Catalog, name: str, schema: Schema, fill: Callable[[str], object]) -> None:
    """Create a table next to the old one, which its query may read. It gets the name when it is complete.

    Raises:
        TableNotFound: the table does not exist.
    """
    if not catalog.table_exists(name):
        message = f"table '{name}' does not exist; create it"
        raise TableNotFound(message)
    staged = f"{name}__replacing_{uuid4().hex[:12]}"
    create_filled(catalog, staged, schema, fill)
    catalog.drop_table(name)
    catalog.rename_table(staged, name)
