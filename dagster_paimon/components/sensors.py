"""Sensors on tables as a component."""
# No postponed annotations here: Dagster reads those of a component when the class is created.

from functools import partial

import dagster as dg
from pydantic import Field

from dagster_paimon.sensors import (
    PartitionColumn,
    changed_partitions_sensor,
    changelog_ready_sensor,
    compaction_pressure_sensor,
    freshness_sensor,
    missing_indexes_sensor,
    new_partitions_sensor,
    run_failure_cleanup,
    snapshot_sensor,
)


class SourceColumn(dg.Model, dg.Resolvable):
    """A column of an upstream table whose values are partitions of an asset."""

    table: str = Field(description="The upstream table, `database.table`.")
    column: str = Field(description="Column whose values are partition keys of the asset, as text or by time window.")
    watched: list[str] | None = Field(
        default=None, description="A rewritten row counts as changed only if one of these columns differs."
    )

    def partition_column(self) -> PartitionColumn:
        """Return the argument of the factory."""
        return PartitionColumn(self.table, self.column, None if self.watched is None else tuple(self.watched))


class ChangedPartitions(dg.Model, dg.Resolvable):
    """An asset whose partitions are requested when commits to its upstream tables change them."""

    asset: str = Field(description="The key of the asset, such as `mart/daily_revenue`.")
    sources: list[SourceColumn] = Field(description="The upstream tables and the columns that name the partitions.")
    name: str | None = Field(default=None, description="The name of the sensor; by default derived from the asset.")

    def sensor(self) -> dg.SensorDefinition:
        """Return the sensor of ``changed_partitions_sensor``."""
        sources = [source.partition_column() for source in self.sources]
        return changed_partitions_sensor(self.asset, sources, name=self.name)


class ChangelogReady(dg.Model, dg.Resolvable):
    """A consumer, and the job or assets to request when it lags behind the changes of a table."""

    table: str = Field(description="The table whose changes are consumed, `database.table`.")
    consumer: str = Field(description="The id of the consumer.")
    job: str | None = Field(default=None, description="The name of the job to run; either this or `assets`.")
    assets: list[str] | None = Field(
        default=None, description="Keys of the assets to materialize, such as `mart/user_ltv`."
    )
    min_snapshots: int = Field(default=1, description="Minimum lag in snapshots with changes.")
    min_rows: int | None = Field(default=None, description="Minimum lag in changed rows.")
    name: str | None = Field(default=None, description="The name of the sensor; by default derived from the consumer.")

    def sensor(self) -> dg.SensorDefinition:
        """Return the sensor of ``changelog_ready_sensor``."""
        return changelog_ready_sensor(
            self.table,
            self.consumer,
            job=self.job,
            assets=self.assets,
            min_snapshots=self.min_snapshots,
            min_rows=self.min_rows,
            name=self.name,
        )


class NewPartitions(dg.Model, dg.Resolvable):
    """A column whose values become dynamic partitions."""

    table: str = Field(description="The table, `database.table`.")
    column: str = Field(description="Column whose values, as text, are added.")
    partitions: str = Field(description="The name of the dynamic partitions.")
    name: str | None = Field(
        default=None, description="The name of the sensor; by default derived from the partitions."
    )

    def sensor(self) -> dg.SensorDefinition:
        """Return the sensor of ``new_partitions_sensor``."""
        partitions = dg.DynamicPartitionsDefinition(name=self.partitions)
        return new_partitions_sensor(self.table, self.column, partitions, name=self.name)


class PaimonSensorsComponent(dg.Component, dg.Model, dg.Resolvable):
    """Sensors on tables. Each field selects the tables of one sensor, or lists several sensors; omit it for none.

    Sensors that request maintenance require the jobs of ``PaimonMaintenanceComponent``.

    Example::

        type: dagster_paimon.PaimonSensorsComponent
        attributes:
          snapshots: "ext.*"
          compaction_pressure: "*"
          changed_partitions:
            - asset: mart/daily_revenue
              sources: [{table: dwd.orders, column: order_date}]
          changelog_ready:
            - {table: dwd.orders, consumer: user_ltv, assets: [mart/user_ltv], min_rows: 1000}
          new_partitions:
            - {table: ods.orders, column: region, partitions: regions}
    """

    snapshots: str | list[str] | None = Field(
        default=None, description="Tables that others write: each new snapshot is reported on the table's asset."
    )
    compaction_pressure: str | list[str] | None = Field(
        default=None, description="Tables to compact when it is due between the scheduled runs."
    )
    missing_indexes: str | list[str] | None = Field(
        default=None, description="Tables whose files get indexes that are declared after they were written."
    )
    freshness: str | list[str] | None = Field(
        default=None, description="Tables whose check `freshness` is evaluated without a run."
    )
    run_failure_cleanup: str | list[str] | None = Field(
        default=None, description="Tables in which to look for uncommitted files of failed and terminated runs."
    )
    only_dagster_writes: bool = Field(
        default=False,
        description="Only runs of this instance write to the tables of run_failure_cleanup, so it may delete files.",
    )

    changed_partitions: list[ChangedPartitions] = Field(
        default_factory=list, description="Assets whose partitions are requested when upstream commits change them."
    )
    changelog_ready: list[ChangelogReady] = Field(
        default_factory=list, description="Consumers for which a run is requested when they lag behind."
    )
    new_partitions: list[NewPartitions] = Field(
        default_factory=list, description="Columns whose values are added to dynamic partitions."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002
        """Return one sensor for each field that names tables, and one for each entry of a list."""
        wanted = (
            (snapshot_sensor, self.snapshots),
            (compaction_pressure_sensor, self.compaction_pressure),
            (missing_indexes_sensor, self.missing_indexes),
            (freshness_sensor, self.freshness),
            (partial(run_failure_cleanup, only_dagster_writes=self.only_dagster_writes), self.run_failure_cleanup),
        )
        of_tables = [make(tables) for make, tables in wanted if tables is not None]
        listed: list[ChangedPartitions | ChangelogReady | NewPartitions] = [
            *self.changed_partitions,
            *self.changelog_ready,
            *self.new_partitions,
        ]
        return dg.Definitions(sensors=[*of_tables, *(entry.sensor() for entry in listed)])
