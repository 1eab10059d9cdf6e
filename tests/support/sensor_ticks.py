"""Sensors of a code location, evaluated tick by tick as the daemon does, with a lakehouse and an instance of a test."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pyarrow as pa

from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format import Schema, Table

ROWS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("day", pa.string()), ("amount", pa.int32())])


@dataclass
class Ticks:
    """One sensor and its cursor. ``tick`` does with a result what the daemon does, except for launching runs."""

    sensor: dg.SensorDefinition
    instance: dg.DagsterInstance
    lakehouse: LakehouseCatalog
    assets: Sequence[Any] = ()
    jobs: Sequence[Any] = ()
    cursor: str | None = None
    resources: Mapping[str, Any] = field(default_factory=dict)
    """More resources, which assets need."""
    last_tick: float | None = None

    def tick(self, *, is_killed: bool = False) -> Any:
        """The data of one evaluation. The daemon may be killed before it has stored the cursor."""
        began = time.time()
        defs = dg.Definitions(
            assets=self.assets,
            jobs=self.jobs,
            sensors=[self.sensor],
            resources={"lakehouse": self.lakehouse, "paimon_io": dg.mem_io_manager, **self.resources},
        )
        context = dg.build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            definitions=defs,
            sensor_name=self.sensor.name,
            resources={"lakehouse": self.lakehouse},
        )
        context._last_tick_completion_time = self.last_tick
        with context:
            data = defs.get_repository_def().get_sensor_def(self.sensor.name).evaluate_tick(context)
        if not is_killed:
            self.cursor, self.last_tick = data.cursor, began
        for event in data.asset_events:
            self.instance.report_runless_asset_event(event)
        for request in data.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        return data


def rows(*values: tuple[int, str | None, int | None]) -> pa.Table:
    """Rows of the table that ``a_table`` makes."""
    columns: list[list[Any]] = [list(column) for column in zip(*values, strict=True)] if values else [[], [], []]
    return pa.table(dict(zip(ROWS.names, columns, strict=True)), schema=ROWS)


def a_table(lakehouse: LakehouseCatalog, name: str, *, keys: Sequence[str] = (), **arguments: Any) -> Table:
    """A new table of the columns ``id``, ``day`` and ``amount``; ``partitions`` and ``options`` as arguments."""
    catalog = lakehouse.catalog()
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    options = {"bucket": "1", **arguments.get("options", {})} if keys else arguments.get("options", {})
    return catalog.create_table(name, Schema.from_arrow(ROWS, keys, arguments.get("partitions", ()), options))
