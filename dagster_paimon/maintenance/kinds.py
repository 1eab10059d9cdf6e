"""The declaration of one kind of maintenance: its job, its configuration, its work on one table, and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

import dagster as dg

from dagster_paimon.maintenance.config import ConfigT
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from table_format import Snapshot, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of the work on one table.

    ``title`` names the work, ``summary`` is one line for a reader of the asset page, ``metadata`` the details. With
    ``plots``, levels and file sizes before and after are reported. ``new_state`` is the snapshot that a rollback or the
    publication of a branch made the latest: the rows of the asset have changed, so downstream assets are out of date.
    ``state_metadata`` is reported with it. ``snapshots`` are those of work that may have made rows visible that were
    hidden from readers. With a ``problem``, the run fails after the report, and is not retried. If it is not
    ``is_reported``, only the log of the run has it.
    """

    title: str
    summary: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    plots: bool = False
    new_state: Snapshot | None = None
    state_metadata: Mapping[str, Any] = field(default_factory=dict)
    snapshots: Sequence[Snapshot] = ()
    problem: str | None = None
    is_reported: bool = True


@dataclass(frozen=True, slots=True)
class Visit:
    """One table in a maintenance run, and its asset."""

    name: str
    key: dg.AssetKey
    instance: dg.DagsterInstance
    lakehouse: LakehouseCatalog
    log: dg.DagsterLogManager
    spark: SparkResource | None = None

    def table(self) -> Table:
        """The current table."""
        return self.lakehouse.table(self.name)

    def session(self, what: str) -> AbstractContextManager[SparkSession]:
        """Return the Spark session, and log the progress of its tasks inside the block."""
        assert self.spark is not None  # noqa: S101 - jobs that use Spark have the resource
        return self.spark.following(self.log.info, f"{what} {self.name}")


def accept(table: Table, config: object) -> None:
    """Accept every configuration."""


def include(table: Table, config: object) -> None:
    """Include every selected table."""


def busy(visit: Visit, config: object) -> Outcome | None:  # noqa: ARG001
    """Expect work on every table."""
    return None


def always(config: object) -> bool:  # noqa: ARG001
    """Return true for every configuration."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance(Generic[ConfigT]):
    """One kind of maintenance: a job with one op, which calls ``work`` for each table in turn.

    ``check`` validates the configuration for all tables before the work on the first. ``skips`` returns why the
    configuration does not apply to a selected table; such tables are skipped, but it is an error if all are.
    ``idle`` returns the outcome for a table on which there is nothing to do; the run then does not claim it.
    ``changes`` returns whether a run changes tables and so must be the only one. With ``measured``, the numbers of the
    table before and after the work are reported.
    """

    job: str
    op: str
    description: str
    config: type[ConfigT]
    work: Callable[[Visit, ConfigT], Outcome]
    check: Callable[[Table, ConfigT], None] = accept
    skips: Callable[[Table, ConfigT], str | None] = include
    idle: Callable[[Visit, ConfigT], Outcome | None] = busy
    changes: Callable[[ConfigT], bool] = always
    measured: bool = True
    uses_spark: bool = False
