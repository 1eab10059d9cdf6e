"""The former location of the catalog resource, which is now in ``dagster_paimon``. This alias stays for one release."""

from __future__ import annotations

import warnings

from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key, table_name, without_credentials

warnings.warn("resources.lakehouse has moved to dagster_paimon", DeprecationWarning, stacklevel=2)

__all__ = ["LakehouseCatalog", "asset_key", "table_name", "without_credentials"]
