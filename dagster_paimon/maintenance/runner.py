"""Runs every maintenance job: resolves its tables, checks the configuration, works table by table, and reports on
assets.

An invalid configuration fails immediately, with the reason first, and is not retried. A failure on one table does not
stop the others. Work that failed for another reason is retried, without the tables that an attempt has reported.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import dagster as dg

from dagster_paimon.maintenance.config import ConfigT, TablesConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.maintenance.links import job_links, location_of
from dagster_paimon.maintenance.locks import locks_of
from dagster_paimon.maintenance.reported_tables import REPORTED, reported_before
from dagster_paimon.maintenance.shown_rows import shown_rows
from dagster_paimon.maintenance.targets import resolve
from dagster_paimon.reporting.metadata import before_and_after, compaction_plots, data_version
from dagster_paimon.resources.failures import about, failure
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog
from dagster_paimon.resources.retries import RetryUnlessTerminated
from dagster_paimon.resources.spark import SparkResource
from dagster_paimon.tables.measure import measure
from dagster_paimon.tables.table_assets import assets_of_tables
from table_format import Table
from table_format.counted import counted
from table_format.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidOption,
    NotFoundError,
    PackageMissing,
    TableNotFound,
    UnsupportedFeature,
)

Event: TypeAlias = dg.AssetObservation | dg.AssetMaterialization

RETRIES: Final = RetryUnlessTerminated(max_retries=2, delay=2, jitter=dg.Jitter.PLUS_MINUS)
_FINAL: Final = (InvalidInputError, NotFoundError, AlreadyExistsError, PackageMissing)
"""Errors that a retry would raise again."""


def maintenance_job(kind: Maintenance[Any], config: type[TablesConfig]) -> dg.JobDefinition:
    """Return the job of one kind of maintenance. ``config`` is the configuration of the kind or a subclass of it."""
    # A generator without outputs: its events are reported immediately, even if a later table fails.
    op = dg.op(name=kind.op, description=kind.description, retry_policy=RETRIES, tags={"kind": "maintenance"}, out={})(
        _with_spark(kind, config) if kind.uses_spark else _without_spark(kind, config)
    )

    @dg.job(name=kind.job, description=kind.description)
    def job() -> None:
        op()

    return job


def _with_spark(kind: Maintenance[Any], config_class: type[TablesConfig]) -> Callable[..., Iterator[Event]]:
    def work(
        context: dg.OpExecutionContext,
        config: Any,  # noqa: ANN401
        lakehouse: LakehouseCatalog,
        spark: SparkResource,
    ) -> Iterator[Event]:
        yield from run_maintenance(context, kind, config, lakehouse, spark)

    work.__annotations__["config"] = config_class
    return work


def _without_spark(kind: Maintenance[Any], config_class: type[TablesConfig]) -> Callable[..., Iterator[Event]]:
    def work(context: dg.OpExecutionContext, config: Any, lakehouse: LakehouseCatalog) -> Iterator[Event]:  # noqa: ANN401
        yield from run_maintenance(context, kind, config, lakehouse, None)

    work.__annotations__["config"] = config_class
    return work


def run_maintenance(
    context: dg.OpExecutionContext,
    kind: Maintenance[ConfigT],
    config: ConfigT,
    lakehouse: LakehouseCatalog,
    spark: SparkResource | None,
) -> Iterator[Event]:
    """Do the work of one kind on all tables of a configuration. Yield a report for each table.

    Raises:
        Failure: the configuration is invalid, or a retry of the work on a table would fail again.
        TableFormatError: the work on a table failed and may be retried.
    """
    with refusing():
        selected = resolve(lakehouse.catalog(), config.named_tables, skip_missing=config.skip_missing)
        checked = _checked(context, kind, config, lakehouse, selected)
    failed = dict(checked.failed)
    asset_of, locks = assets_of_tables(context), locks_of(context)
    problems: list[str] = []
    for name, reason in checked.skipped.items():
        context.log.info("%s is skipped: %s", name, reason)
        yield dg.AssetObservation(asset_of(name).key, description=f"skipped: {reason}", metadata={REPORTED: name})
    for name in checked.names:
        visit = Visit(name, asset_of(name).key, context.instance, lakehouse, context.log, spark)
        try:
            idle = kind.idle(visit, config)
            needs_lock = idle is None and kind.changes(config)
            alone: AbstractContextManager[None] = locks.alone(name) if needs_lock else nullcontext()
            with alone:
                done, metadata = _one_table(context, kind, config, visit, idle)
                shown = tuple(shown_rows(asset_of(name), visit, done.snapshots))
        except TABLE_ERRORS as error:
            if len(selected) == 1:
                raise _failure(context, name, error) from error
            context.log.exception("%s: %s failed, continuing with the other tables", name, kind.op)
            failed[name] = error
            continue
        yield from _materializations(done, visit.key)
        yield from shown
        if done.is_reported:
            # Last, because a retry leaves out the tables that have it.
            yield dg.AssetObservation(visit.key, description=done.summary, metadata=metadata)
        problems += [done.problem] if done.problem else []
    if failed:
        _fail(context, failed, problems, of=len(selected) - len(checked.skipped))
    if problems:
        raise dg.Failure(description="\n".join(problems), allow_retries=False)


@dataclass(frozen=True, slots=True)
class _Checked:
    """The tables on which an attempt works, those that are skipped, with the reason, and those that cannot be checked.

    It holds no open tables: each of hundreds would keep the manifests that its check has read.
    """

    names: tuple[str, ...]
    skipped: Mapping[str, str]
    failed: Mapping[str, Exception]


def _checked(
    context: dg.OpExecutionContext,
    kind: Maintenance[ConfigT],
    config: ConfigT,
    lakehouse: LakehouseCatalog,
    selected: Sequence[str],
) -> _Checked:
    """Check the configuration for each table, before the work on the first.

    Raises:
        Failure: it is invalid for a table, or the only table cannot be read.
        InvalidInputError: all tables would be skipped.
    """
    done = reported_before(context)
    names: list[str] = []
    skipped: dict[str, str] = {}
    failed: dict[str, Exception] = {}
    for name in selected:
        if name in done:
            context.log.info("%s is left out: an earlier attempt has reported it", name)
            continue
        table = None
        try:
            table = lakehouse.table(name)
            reason = kind.skips(table, config)
            if reason is None:
                kind.check(table, config)
        except TABLE_ERRORS as error:
            if config.skip_missing and isinstance(error, TableNotFound):
                context.log.info("%s is skipped: it was dropped meanwhile", name)
                continue
            if len(selected) == 1 or _is_refusal(error, table):
                raise _failure(context, name, error) from error
            context.log.exception("%s cannot be read, continuing with the other tables", name)
            failed[name] = error
            continue
        if reason is None:
            names.append(name)
        else:
            skipped[name] = reason
    if skipped and len(skipped) == len(selected):
        raise InvalidInputError("; ".join(f"{name}: {reason}" for name, reason in skipped.items()))
    return _Checked(tuple(names), skipped, failed)


def _is_refusal(error: Exception, table: Table | None) -> bool:
    """Return whether an error means that the configuration of the run is invalid, rather than one of several tables."""
    if not isinstance(error, _FINAL) or isinstance(error, UnsupportedFeature):
        return False
    of_table = isinstance(error, InvalidOption) and table is not None and error.key in table.schema.options
    return not of_table


def _one_table(
    context: dg.OpExecutionContext, kind: Maintenance[ConfigT], config: ConfigT, visit: Visit, idle: Outcome | None
) -> tuple[Outcome, dict[str, Any]]:
    """Do the work on one table, if there is any. Return the outcome and its report."""
    is_measured = kind.measured and idle is None
    before, began = measure(visit.table().facts) if is_measured else None, time.monotonic()
    outcome = kind.work(visit, config) if idle is None else idle
    metadata = {
        "maintenance": outcome.title,
        **({} if outcome.problem else {REPORTED: visit.name}),
        **outcome.metadata,
        "seconds": round(time.monotonic() - began, 2),
    }
    if before is not None:
        after = measure(visit.table().facts)
        metadata |= before_and_after(before, after)
        metadata |= compaction_plots(before, after) if outcome.plots else {}
    if (location := location_of(context.run)) is not None:
        metadata["jobs"] = job_links(visit.name, location)
    context.log.info("%s: %s", visit.name, outcome.summary)
    return outcome, metadata


def _materializations(outcome: Outcome, key: dg.AssetKey) -> Iterator[dg.AssetMaterialization]:
    state = outcome.new_state
    if state is not None:
        yield dg.AssetMaterialization(
            asset_key=key,
            description=outcome.summary,
            metadata={"paimon/snapshot_id": state.id, **outcome.state_metadata},
            tags={"dagster/data_version": data_version(state).value},
        )


@contextmanager
def refusing(subject: str = "") -> Iterator[None]:
    """Let errors that a retry would raise again end the op without retries, with the message first."""
    try:
        yield
    except _FINAL as error:
        raise dg.Failure(description=about(subject, error), allow_retries=False) from error


def _failure(context: dg.OpExecutionContext, subject: str, error: Exception) -> dg.Failure:
    return failure(subject, error, context.get_step_execution_context(), is_final=isinstance(error, _FINAL))


def _fail(context: dg.OpExecutionContext, failed: Mapping[str, Exception], problems: Sequence[str], *, of: int) -> None:
    lines = (*(f"{table}: {error}" for table, error in failed.items()), *problems)
    title = f"{len(failed) + len(problems)} of {counted(of, 'table')} failed:"
    first = next((error for error in failed.values() if not isinstance(error, _FINAL)), next(iter(failed.values())))
    found = _failure(context, title, first)
    raise dg.Failure(description="\n".join([title, *lines]), allow_retries=found.allow_retries) from first
