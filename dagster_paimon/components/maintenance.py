"""Maintenance of tables as a component: the jobs, and when they run."""
# Annotations are not postponed here: Dagster reads those of a component when the class is made.

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.jobs import maintenance_jobs
from dagster_paimon.maintenance.schedules import maintenance_schedules


class PaimonMaintenanceComponent(dg.Component, dg.Model, dg.Resolvable):
    """The maintenance jobs of a code location and their schedules. Schedules are stopped until switched on.

    Example::

        type: dagster_paimon.PaimonMaintenanceComponent
        attributes:
          tables: ["shop.*", "ods.orders"]
    """

    tables: str | list[str] = Field(default="*", description="Names and patterns of tables; `*` is all of the catalog.")
    schedules: bool = Field(default=True, description="Make schedules as well.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """The jobs and schedules that ``maintenance_jobs`` and ``maintenance_schedules`` make."""
        schedules = maintenance_schedules(self.tables) if self.schedules else ()
        return dg.Definitions(jobs=maintenance_jobs(), schedules=schedules)
