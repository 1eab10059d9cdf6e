"""The resources of a lakehouse as one component: the catalog, Spark, and the IO manager on both."""
# No postponed annotations here: Dagster reads those of a component when the class is created.

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import dagster as dg
from pydantic import Field

from dagster_paimon.components.settings import resolved_to, settings_model
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource

CatalogSettings: TypeAlias = Annotated[
    LakehouseCatalog, resolved_to(LakehouseCatalog, settings_model(LakehouseCatalog))
]
"""The catalog of a component, whose YAML has the settings of ``LakehouseCatalog``."""


def catalog_field() -> Any:  # noqa: ANN401 - as pydantic.Field, which it calls
    """Return the field of a component that holds ``CatalogSettings``."""
    return Field(
        default_factory=lambda: LakehouseCatalog(warehouse="warehouse"),
        description="The catalog; by default its warehouse is `warehouse` in the project.",
    )


class PaimonLakehouseComponent(dg.Component, dg.Model, dg.Resolvable):
    """The resources ``lakehouse``, ``spark`` and ``paimon_io``. A relative warehouse is relative to the project root.

    Example::

        type: dagster_paimon.PaimonLakehouseComponent
        attributes:
          lakehouse:
            warehouse: {env: LAKEHOUSE_WAREHOUSE}
          spark:
            driver_memory: 4g
    """

    lakehouse: CatalogSettings = catalog_field()
    spark: Annotated[SparkResource, resolved_to(SparkResource, settings_model(SparkResource))] = Field(
        default_factory=SparkResource, description="The Spark session; it starts when it is first needed."
    )
    paimon_io: Annotated[
        dict[str, Any],
        resolved_to(dict[str, Any], settings_model(PaimonIOManager, without=frozenset({"lakehouse", "spark"}))),
    ] = Field(default_factory=dict, description="Settings of the IO manager.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the three resources, under the keys that jobs, sensors and checks use."""
        lakehouse = in_project(self.lakehouse, context.project_root)
        io_manager = PaimonIOManager(lakehouse=lakehouse, spark=self.spark, **self.paimon_io)
        return dg.Definitions(resources={"lakehouse": lakehouse, "spark": self.spark, "paimon_io": io_manager})


def in_project(lakehouse: LakehouseCatalog, root: Path) -> LakehouseCatalog:
    """Return the catalog. A relative warehouse is in the project root unless the catalog has a base directory."""
    return lakehouse if lakehouse.base_directory else lakehouse.model_copy(update={"base_directory": str(root)})
