"""Materialized tables as a component: their assets, and the sensor that refreshes them."""
# No postponed annotations here: Dagster reads those of a component when the class is created.

import dagster as dg
from pydantic import Field

from dagster_paimon.components.lakehouse import CatalogSettings, catalog_field, in_project
from dagster_paimon.io.materialized_assets import materialized_table_assets
from dagster_paimon.sensors import stale_tables_sensor


class PaimonMaterializedTablesComponent(dg.Component, dg.Model, dg.Resolvable):
    """The assets of ``materialized_table_assets``, and the sensor of ``stale_tables_sensor`` for them.

    The catalog is read when the code location is loaded, with the settings in ``lakehouse``: those of
    ``PaimonLakehouseComponent``, whose resources the runs use. Without a materialized table, there is no sensor.

    Example::

        type: dagster_paimon.PaimonMaterializedTablesComponent
        attributes:
          lakehouse:
            warehouse: {env: LAKEHOUSE_WAREHOUSE}
          tables: ["shop.*"]
          assets:
            shop.visits: raw/clicks
    """

    lakehouse: CatalogSettings = catalog_field()
    tables: str | list[str] = Field(default="*", description="Names and patterns of materialized tables.")
    assets: dict[str, str] = Field(
        default_factory=dict, description="Asset keys of sources whose asset key is not `database/table`."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return an asset for each materialized table, and one sensor for all of them."""
        sources = [
            dg.AssetSpec(dg.AssetKey.from_user_string(key), metadata={"paimon/table": table})
            for table, key in self.assets.items()
        ]
        lakehouse = in_project(self.lakehouse, context.project_root)
        assets = materialized_table_assets(lakehouse, self.tables, assets=sources)
        return dg.Definitions(assets=assets, sensors=[stale_tables_sensor(assets)] if assets else [])
