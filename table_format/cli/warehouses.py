"""Whether the warehouse of a command exists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import click

if TYPE_CHECKING:
    from table_format import Catalog


class _Files(Protocol):
    def status(self, path: str) -> Any:  # noqa: ANN401 - ``None`` if nothing is there
        """Return what a path is."""
        ...

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; do nothing if it exists."""
        ...


@runtime_checkable
class InFiles(Protocol):
    """A catalog whose warehouse is a directory."""

    @property
    def io(self) -> _Files:
        """The store of the warehouse."""
        ...

    @property
    def warehouse(self) -> str:
        """The path of the warehouse in its store."""
        ...


def check_no_file(warehouse: Path) -> None:
    """Refuse a warehouse that is a file.

    Raises:
        click.ClickException: it is one.
    """
    if warehouse.exists() and not warehouse.is_dir():
        message = f"warehouse '{warehouse}' is a file; a warehouse is a directory"
        raise click.ClickException(message)


def check_directory(catalog: Catalog, warehouse: str) -> None:
    """Refuse a warehouse that does not exist in its store; ``warehouse`` is its URI.

    Raises:
        click.ClickException: it does not exist, or its bucket does not.
    """
    if not isinstance(catalog, InFiles) or catalog.io.status(catalog.warehouse) is not None:
        return
    bucket = catalog.warehouse.split("/", 2)[1]
    if getattr(catalog.io, "is_object_store", False) and catalog.io.status(f"/{bucket}") is None:
        message = f"warehouse '{warehouse}': the bucket '{bucket}' does not exist"
        raise click.ClickException(message)
    raise missing_warehouse(warehouse)


def missing_warehouse(warehouse: str) -> click.ClickException:
    """Return the error that a warehouse does not exist."""
    message = f"warehouse '{warehouse}' does not exist; create it with: lakehouse -w {warehouse} init"
    return click.ClickException(message)
