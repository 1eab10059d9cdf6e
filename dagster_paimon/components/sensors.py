"""Sensors on tables as a component."""
# Annotations are not postponed here: Dagster reads those of a component when the class is made.

import dagster as dg
from pydantic import Field

from dagster_paimon.sensors import (
    compaction_pressure_sensor,
    freshness_sensor,
    missing_indexes_sensor,
    run_failure_cleanup,
    snapshot_sensor,
)


class PaimonSensorsComponent(dg.Component, dg.Model, dg.Resolvable):
    """Sensors on tables: each field names the tables that one follows, and is left out or null for none.

    Sensors that request maintenance need the jobs of ``PaimonMaintenanceComponent``. Sensors of one asset or one
    consumer, such as ``changed_partitions_sensor``, take Python and have no component.

    Example::

        type: dagster_paimon.PaimonSensorsComponent
        attributes:
          snapshots: "ext.*"
          compaction_pressure: "*"
    """

    snapshots: str | list[str] | None = Field(
        default=None, description="Tables that others write: each new snapshot is reported on the table's asset."
    )
    compaction_pressure: str | list[str] | None = Field(
        default=None, description="Tables to compact when it is due between the scheduled runs."
    )
    missing_indexes: str | list[str] | None = Field(
        default=None, description="Tables whose files get the indexes that are declared later."
    )
    freshness: str | list[str] | None = Field(
        default=None, description="Tables whose check `freshness` is evaluated without a run."
    )
    run_failure_cleanup: str | list[str] | None = Field(
        default=None, description="Tables in which is looked for what failed and terminated runs prepared."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """One sensor for each field that names tables."""
        wanted = (
            (snapshot_sensor, self.snapshots),
            (compaction_pressure_sensor, self.compaction_pressure),
            (missing_indexes_sensor, self.missing_indexes),
            (freshness_sensor, self.freshness),
            (run_failure_cleanup, self.run_failure_cleanup),
        )
        return dg.Definitions(sensors=[make(tables) for make, tables in wanted if tables is not None])
