"""Does all maintenance that is due, table by table, in one run and one JVM. A table with no due work costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.compaction import CompactConfig, compact_one
from dagster_paimon.maintenance.config import TablesConfig
from dagster_paimon.maintenance.expiry import HOUR_MS, ExpireConfig, expire_one
from dagster_paimon.maintenance.index_rewrite import RewriteIndexConfig, rewrite_one
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.maintenance.partitions import ExpirePartitionsConfig, expire_partitions_of_one
from dagster_paimon.maintenance.tags import AutomaticTagsConfig, create_automatic_tags_of_one
from dagster_paimon.reporting.metadata import listed, markdown_lines
from dagster_paimon.tables.partition_directories import specs_of_directories
from table_format import DueWork, Snapshot, Table, Upkeep
from table_format.counted import counted
from table_format.errors import InvalidInputError

_NOTHING: Final = Outcome("maintenance", "nothing is due")


class MaintainConfig(TablesConfig):
    """The tables. Their options decide what is due."""

    max_level0_age_hours: float | None = Field(
        default=None, description="A full compaction is also due if a file has been on level 0 for longer."
    )
    on_spark: bool = Field(default=True, description="Run compactions and index rewrites in Spark tasks.")


def maintain_one(visit: Visit, config: MaintainConfig) -> Outcome:
    """Do what is due on one table in the best order: first what creates snapshots, then expiry."""
    due = _due(visit, config)
    if not due:  # another run has done it while this one waited
        return _NOTHING
    lines: list[str] = []
    snapshots: list[Snapshot] = []
    for work in due:
        visit.log.info("%s: %s", visit.name, work)
        outcome = _DO[work.kind](visit, config, work)
        snapshots += outcome.snapshots
        lines.append(f"| {outcome.title} | {work.reason} | {outcome.summary} |")
    kinds = ", ".join(work.kind.replace("_", " ") for work in due)
    return Outcome(
        title="maintenance",
        summary=f"{counted(len(due), 'task was', 'tasks were')} due: {kinds}",
        metadata={"work": markdown_lines(("| work | why | result |", "|:--|:--|:--|"), lines)},
        plots=any(work.kind is Upkeep.COMPACT for work in due),
        snapshots=snapshots,
    )


def _idle(visit: Visit, config: MaintainConfig) -> Outcome | None:
    return None if _due(visit, config) else _NOTHING


def _due(visit: Visit, config: MaintainConfig) -> Sequence[DueWork]:
    hours = config.max_level0_age_hours
    return visit.table().due_upkeep(max_level0_age_ms=None if hours is None else int(hours * HOUR_MS))


def _compact(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:
    # A full compaction covers the partitions that need it; otherwise, it is decided for each bucket.
    partitions = specs_of_directories(visit.table(), work.partitions) if work.full else []
    how = CompactConfig(table=visit.name, full=work.full, partitions=partitions, on_spark=config.on_spark)
    return compact_one(visit, how)


def _rewrite(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:  # noqa: ARG001
    return rewrite_one(visit, RewriteIndexConfig(table=visit.name, on_spark=config.on_spark))


def _expire_partitions(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:  # noqa: ARG001
    return expire_partitions_of_one(visit, ExpirePartitionsConfig(table=visit.name, dry_run=False))


def _create_tags(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:  # noqa: ARG001
    return create_automatic_tags_of_one(visit, AutomaticTagsConfig(table=visit.name))


def _expire_tags(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:  # noqa: ARG001
    names = visit.table().expire_tags()
    return Outcome("tag expiry", f"{counted(len(names), 'tag was', 'tags were')} deleted", {"tags": listed(names)})


def _expire(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:  # noqa: ARG001
    return expire_one(visit, ExpireConfig(table=visit.name, dry_run=False))


def _expire_changelogs(visit: Visit, config: MaintainConfig, work: DueWork) -> Outcome:  # noqa: ARG001
    gone = visit.table().expire_changelogs().changelog_ids
    summary = f"{counted(len(gone), 'changelog was', 'changelogs were')} deleted"
    return Outcome("changelog expiry", summary, {"changelogs": listed(map(str, gone))})


_DO: Final[Mapping[Upkeep, Callable[[Visit, MaintainConfig, DueWork], Outcome]]] = {
    Upkeep.COMPACT: _compact,
    Upkeep.REWRITE_FILE_INDEX: _rewrite,
    Upkeep.EXPIRE_PARTITIONS: _expire_partitions,
    Upkeep.CREATE_TAGS: _create_tags,
    Upkeep.EXPIRE_TAGS: _expire_tags,
    Upkeep.EXPIRE_SNAPSHOTS: _expire,
    Upkeep.EXPIRE_CHANGELOGS: _expire_changelogs,
}


def _check(table: Table, config: MaintainConfig) -> None:
    if config.max_level0_age_hours is not None and config.max_level0_age_hours <= 0:
        message = f"{table.identifier}: max_level0_age_hours {config.max_level0_age_hours}: expected more than 0"
        raise InvalidInputError(message)


MAINTAIN: Final = Maintenance(
    job="maintain_table",
    op="maintain",
    description="Do what is due on each table: compact, rewrite indexes, tag, expire.",
    config=MaintainConfig,
    work=maintain_one,
    check=_check,
    idle=_idle,
    uses_spark=True,
)
