"""The warehouse: which catalog, and how assets and tables are named after each other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
from pydantic import Field

from dagster_paimon.resources.secrets import Guarded, known_secrets, redacted_errors, secrets_from, value_of
from table_format.catalog.load import load_catalog
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidIdentifier
from table_format.secrets import Secret, redact
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from table_format.spark import Lake

_DEFAULT_DATABASE: Final = "default"


class LakehouseCatalog(Guarded):
    """The catalog of a warehouse. Its options are shown in the UI: a secret among them is refused."""

    warehouse: str = Field(description="Root of all databases; a relative path begins at `base_directory`.")
    base_directory: str = Field(
        default="", description="Where a relative warehouse begins; the working directory of the process when empty."
    )
    metastore: str = Field(default="filesystem", description="What keeps the list of tables.")
    options: dict[str, str] = Field(default_factory=dict, description="More catalog options, by Paimon's names.")
    secret_options: dict[str, str] = Field(
        default_factory=dict,
        description="Catalog options whose value is read from an environment variable: option -> NAME of the variable.",
    )
    table_defaults: dict[str, str] = Field(
        default_factory=dict, description="Options of every table made here that does not set them itself."
    )

    def catalog_options(self, environment: Mapping[str, str]) -> dict[str, str | Secret]:
        """All options of the catalog, for ``load_catalog``; those of ``secret_options`` are of type ``Secret``.

        Raises:
            KeyError: an environment variable named by ``secret_options`` is not set.
        """
        return {
            "warehouse": absolute_location(value_of(self.warehouse), self.base_directory),
            "metastore": self.metastore,
            **{f"table-default.{key}": value for key, value in self.table_defaults.items()},
            **self.options,
            **secrets_from(self.secret_options, environment),
        }

    def known_secrets(self) -> tuple[Secret, ...]:
        """The secrets of this catalog, to be masked wherever they might be shown."""
        return known_secrets(self.secret_options, os.environ)

    def catalog(self) -> Catalog:
        """Open the catalog; no JVM is needed."""
        with redacted_errors(self.known_secrets()):
            return load_catalog(self.catalog_options(os.environ))

    def lake(self, session: SparkSession) -> Lake:
        """The same catalog on a Spark session."""
        from table_format.spark import paimon

        with redacted_errors(self.known_secrets()):
            return paimon(session, self.catalog_options(os.environ))

    def table(self, name: str) -> Table:
        """Open a table.

        Raises:
            TableNotFound: there is none of that name.
            InvalidIdentifier: the name is that of a system table.
        """
        table = self.catalog().load_table(name)
        if isinstance(table, SystemTable):
            message = f"'{name}' is a system table; name the table itself"
            raise InvalidIdentifier(message)
        return table


def absolute_location(location: str, base_directory: str) -> str:
    """A location with a relative path made absolute from a base directory, the working directory when that is empty.

    >>> absolute_location("warehouse", "/srv/shop"), absolute_location("s3://shop/warehouse", "/srv")
    ('/srv/shop/warehouse', 's3://shop/warehouse')
    """
    return location if "://" in location else str(Path(base_directory or Path.cwd()) / location)


def table_name(key: dg.AssetKey, metadata: Mapping[str, Any]) -> str:
    """The table of an asset: ``paimon/table`` of its metadata, or the last two parts of its key.

    ``schema`` of the metadata, which other integrations know, names another database than the key does.

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
    """The asset of a table named ``database.table``."""
    return dg.AssetKey(name.split("."))


def without_credentials(uri: str) -> str:
    """A location with user, password and query masked or left out, fit to be shown.

    >>> without_credentials("s3://key:secret@bucket/warehouse?token=1"), without_credentials("/data/warehouse")
    ('s3://******@bucket/warehouse', '/data/warehouse')
    """
    return redact(uri.partition("?")[0]) if "://" in uri else uri
