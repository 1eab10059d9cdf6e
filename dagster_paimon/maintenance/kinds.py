"""The declaration of one kind of maintenance: its job, its configuration, its work on one table, and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

    ``title`` names the work, ``summary`` is one line for a reader of the asset page, ``metadata`` the details.
    ``plots`` asks for levels and file sizes before and after. ``new_state`` is the snapshot that a rollback or the
    publication of a branch made the latest: other rows are the asset now, so what follows from it is out of date.
    ``state_metadata`` is reported with it. With a ``problem`` the run fails after the report, and is not tried again.
    """

    title: str
    summary: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    plots: bool = False
    new_state: Snapshot | None = None
    state_metadata: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """One table in a maintenance run."""

    name: str
    lakehouse: LakehouseCatalog
    log: dg.DagsterLogManager
    spark: SparkResource | None = None

    def table(self) -> Table:
        """The current table."""
        return self.lakehouse.table(self.name)

    def session(self, what: str) -> AbstractContextManager[SparkSession]:
        """The Spark session; what its tasks do is logged inside the block."""
        assert self.spark is not None  # noqa: S101 - the job of a kind that uses Spark has the resource
        return self.spark.following(self.log.info, f"{what} {self.name}")


def accept(table: Table, config: object) -> None:
    """Nothing to check before the work."""


def include(table: Table, config: object) -> None:
    """Every table that a configuration selects is worked on."""


def always(config: object) -> bool:  # noqa: ARG001
    """Whatever the configuration."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance(Generic[ConfigT]):
    """One kind of maintenance: a job of one op, which does ``work`` to each table in turn.

    ``check`` judges the configuration of all tables before the work on the first. ``skips`` says why a selected table
    has nothing to do with the configuration; it is left as it is, unless that is so of all of them. ``changes`` says
    whether a run with that configuration changes tables, and so has to be alone. ``measured`` reports the numbers of
    the table before and after the work.
    """

    job: str
    op: str
    description: str
    config: type[ConfigT]
    work: Callable[[Visit, ConfigT], Outcome]
    check: Callable[[Table, ConfigT], None] = accept
    skips: Callable[[Table, ConfigT], str | None] = include
    changes: Callable[[ConfigT], bool] = always
    measured: bool = True
    uses_spark: bool = False
