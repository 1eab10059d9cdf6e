"""Checks of tables as a component."""
# No postponed annotations here: Dagster reads those of a component when the class is created.

from typing import Any

import dagster as dg
from pydantic import Field

from dagster_paimon.checks import TableCheck, table_checks
from dagster_paimon.checks.tables import METADATA_CHECKS


class PaimonChecksComponent(dg.Component, dg.Model, dg.Resolvable):
    """The checks of ``table_checks`` on the assets of some tables.

    Example::

        type: dagster_paimon.PaimonChecksComponent
        attributes:
          tables: ["shop.orders", "shop.users"]
          checks: [table_health, pk_unique, row_count_bounds]
          settings:
            row_count_bounds: {at_least: 1}
          assets:
            shop.users: crm/people
    """

    tables: list[str] = Field(description="Names of tables, each `database.table`.")
    checks: list[TableCheck] = Field(
        default=list(METADATA_CHECKS), description="The checks; by default those that read no rows."
    )
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict, description="Arguments by the name of the check.")
    assets: dict[str, str] = Field(
        default_factory=dict, description="Asset keys of tables whose asset key is not `database/table`."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """Return the checks of each table."""
        assets = [
            dg.AssetSpec(dg.AssetKey.from_user_string(key), metadata={"paimon/table": table})
            for table, key in self.assets.items()
        ]
        checks = table_checks(self.tables, self.checks, assets=assets, settings=self.settings)
        return dg.Definitions(asset_checks=checks)
