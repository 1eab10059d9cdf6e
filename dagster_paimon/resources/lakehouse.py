"""The catalog resource, and the mapping between the names of assets and tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
from pydantic import Field

from dagster_paimon.resources.secrets import Guarded, known_secrets, redacted_errors, secrets_from, value_of
from table_format import Catalog, FormatTable, SystemTable, Table, load_catalog
from table_format.engine.support import warehouse_is_directory
from table_format.errors import InvalidIdentifier, TableFormatError
from table_format.secrets import Secret, redact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from table_format.spark import Lake

_DEFAULT_DATABASE: Final = "default"

TABLE_ERRORS: Final = (TableFormatError, OSError)
"""The errors of work on one table, after which work on other tables continues."""


class LakehouseCatalog(Guarded):
    """The catalog of a warehouse. The UI shows its options, so secrets in them are refused."""

    warehouse: str = Field(
        description="Root directory of all databases; a relative path is relative to `base_directory`. With the "
        "metastore 'rest', the name of a warehouse on the server."
    )
    base_directory: str = Field(
        default="", description="Base of a relative warehouse; by default the working directory of the process."
    )
    metastore: str = Field(default="filesystem", description="The kind of catalog.")
    options: dict[str, str] = Field(default_factory=dict, description="More catalog options, with Paimon's names.")
    secret_options: dict[str, str] = Field(
        default_factory=dict,
        description="Catalog options whose value is read from an environment variable: option -> NAME of the variable.",
    )
    table_defaults: dict[str, str] = Field(
        default_factory=dict, description="Default options of new tables that do not set them."
    )

    def catalog_options(self, environment: Mapping[str, str]) -> dict[str, str | Secret]:
        """Return all options of the catalog for ``load_catalog``. Those of ``secret_options`` are of type ``Secret``.

        Raises:
            KeyError: an environment variable named by ``secret_options`` is not set.
        """
        warehouse = value_of(self.warehouse)
        if warehouse_is_directory(self.metastore):
            warehouse = absolute_location(warehouse, self.base_directory)
        return {
            "warehouse": warehouse,
            "metastore": self.metastore,
            **{f"table-default.{key}": value for key, value in self.table_defaults.items()},
            **self.options,
            **secrets_from(self.secret_options, environment),
        }

    def known_secrets(self) -> tuple[Secret, ...]:
        """Return the secrets of this catalog, which are masked everywhere."""
        return known_secrets(self.secret_options, os.environ)

    def catalog(self) -> Catalog:
        """Open the catalog; no JVM is needed."""
        with redacted_errors(self.known_secrets()):
            return load_catalog(self.catalog_options(os.environ))

    def lake(self, session: SparkSession) -> Lake:
        """Return the same catalog on a Spark session."""
        from table_format.spark import paimon

        with redacted_errors(self.known_secrets()):
            return paimon(session, self.catalog_options(os.environ))

    def table(self, name: str) -> Table:
        """Open a table.

        Raises:
            TableNotFound: the table does not exist.
            InvalidIdentifier: the name is that of a system table or a format table.
        """
        table = self.catalog().load_any(name)
        if isinstance(table, FormatTable):
            message = f"'{name}' is a format table, which has no snapshots; read and write it with its own methods"
            raise InvalidIdentifier(message)
        if isinstance(table, SystemTable):
            message = f"'{name}' is a system table; name the table itself"
            raise InvalidIdentifier(message)
        return table


def absolute_location(location: str, base_directory: str) -> str:
    """Make a relative location absolute, based on a directory, by default the working directory.

    >>> absolute_location("warehouse", "/srv/shop"), absolute_location("s3://shop/warehouse", "/srv")
    ('/srv/shop/warehouse', 's3://shop/warehouse')
    """
    return location if "://" in location else str(Path(base_directory or Path.cwd()) / location)


def table_name(key: dg.AssetKey, metadata: Mapping[str, Any]) -> str:
    """Return the table of an asset: ``paimon/table`` in its metadata, or the last two parts of its key.

    ``schema`` in the metadata, as in other integrations, overrides the database of the key.

    >>> table_name(dg.AssetKey(["prod", "ods", "orders"]), {}), table_name(dg.AssetKey("orders"), {})
    ('ods.orders', 'default.orders')
    """
    named = metadata.get("paimon/table")
    if named is not None:
        return str(named)
    parts: Sequence[str] = key.path
    schema = metadata.get("schema")
    if schema is not None:
        return f"{getattr(schema, 'value', schema)}.{parts[-1]}"
    return ".".join(parts[-2:]) if len(parts) > 1 else f"{_DEFAULT_DATABASE}.{parts[0]}"


def asset_key(name: str) -> dg.AssetKey:
    """Return the asset key of a table named ``database.table``."""
    return dg.AssetKey(name.split("."))


def without_credentials(uri: str) -> str:
    """Return a location for display, with user, password and query masked or removed.

    >>> without_credentials("s3://key:secret@bucket/warehouse?token=1"), without_credentials("/data/warehouse")
    ('s3://******@bucket/warehouse', '/data/warehouse')
    """
    return redact(uri.partition("?")[0]) if "://" in uri else uri
