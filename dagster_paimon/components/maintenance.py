"""Maintenance of tables as a component: jobs and schedules."""
# No postponed annotations here: Dagster reads those of a component when the class is created.

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.jobs import maintenance_jobs
from dagster_paimon.maintenance.schedules import maintenance_schedules


class PaimonMaintenanceComponent(dg.Component, dg.Model, dg.Resolvable):
    """The maintenance jobs and schedules of a code location. Schedules are stopped by default.

    Example::

        type: dagster_paimon.PaimonMaintenanceComponent
        attributes:
          tables: ["shop.*", "ods.orders"]
          tag_retained_days: 7
    """

    tables: str | list[str] = Field(
        default="*", description="Names and patterns of tables; `*` means all tables of the catalog."
    )
    schedules: bool = Field(default=True, description="Also create schedules.")
    tag_retained_days: int = Field(default=30, description="How long the tags of the schedule `daily_tag` are kept.")
    on_spark: bool = Field(default=True, description="Run scheduled heavy work in Spark tasks.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """Return the jobs of ``maintenance_jobs`` and the schedules of ``maintenance_schedules``."""
        jobs = maintenance_jobs(self.tables)
        if not self.schedules:
            return dg.Definitions(jobs=jobs)
        schedules = maintenance_schedules(self.tables, tag_retained_days=self.tag_retained_days, on_spark=self.on_spark)
        return dg.Definitions(jobs=jobs, schedules=schedules)
