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
          tag_retained_days: 7
    """

    tables: str | list[str] = Field(default="*", description="Names and patterns of tables; `*` is all of the catalog.")
    schedules: bool = Field(default=True, description="Make schedules as well.")
    tag_retained_days: int = Field(default=30, description="How long the tags of the schedule `daily_tag` are kept.")
    on_spark: bool = Field(default=True, description="Scheduled heavy work runs in Spark's tasks.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """The jobs and schedules that ``maintenance_jobs`` and ``maintenance_schedules`` make."""
        jobs = maintenance_jobs(self.tables)
        if not self.schedules:
            return dg.Definitions(jobs=jobs)
        schedules = maintenance_schedules(self.tables, tag_retained_days=self.tag_retained_days, on_spark=self.on_spark)
        return dg.Definitions(jobs=jobs, schedules=schedules)
