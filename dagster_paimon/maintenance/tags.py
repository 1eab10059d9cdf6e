"""Tags, created by hand, by a schedule, or by the table options."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.config import DeletingConfig, TablesConfig
from dagster_paimon.maintenance.expiry import HOUR_MS, deletes, tried, would
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.maintenance.names import names_before_and_after, require_name
from table_format import Table
from table_format.errors import AlreadyExistsError, InvalidInputError, SnapshotNotFound, TagNotFound


class CreateTagConfig(TablesConfig):
    """The tables, the tag and its snapshot."""

    name: str = Field(description="The name of the tag.")
    snapshot_id: int | None = Field(default=None, description="The snapshot; by default the latest.")
    retained_hours: float | None = Field(
        default=None, description="How long to keep the tag; by default tag.default-time-retained of the table."
    )
    skip_empty: bool = Field(default=False, description="Skip tables without a snapshot instead of failing.")
    keep_existing: bool = Field(
        default=False, description="Leave a tag of this name as it is, even if it keeps another snapshot."
    )


def create_tag_of_one(visit: Visit, config: CreateTagConfig) -> Outcome:
    """Create a tag on one table."""
    table = visit.table()
    before = table.tags()
    if _is_to_be_skipped(table, config):
        return Outcome("tag", f"no tag '{config.name}': there is no snapshot yet")
    hours = config.retained_hours
    try:
        tag = before.get(config.name) or table.create_tag(
            config.name, config.snapshot_id, time_retained_ms=None if hours is None else int(hours * HOUR_MS)
        )
    except AlreadyExistsError:  # another program has just created it
        if not config.keep_existing:
            raise
        before = table.tags()
        tag = before[config.name]
    verb = "keeps" if config.name not in before else "already keeps"
    return Outcome(
        title="tag",
        summary=f"tag '{config.name}' {verb} snapshot {tag.snapshot.id}",
        metadata={"paimon/snapshot_id": tag.snapshot.id, **names_before_and_after("tags", before, table.tags())},
    )


def _check_create(table: Table, config: CreateTagConfig) -> None:
    if not config.name:
        message = "the name of the tag is empty"
        raise InvalidInputError(message)
    if config.retained_hours is not None and config.retained_hours <= 0:
        message = f"retained_hours {config.retained_hours}: expected more than 0"
        raise InvalidInputError(message)
    latest, existing = table.latest_snapshot(), table.tags().get(config.name)
    if latest is None and not config.skip_empty:
        message = f"{table.identifier} has no snapshot to tag"
        raise SnapshotNotFound(message)
    wanted = config.snapshot_id or (latest.id if latest else None)
    # An earlier attempt of this op may have created it.
    if existing is not None and existing.snapshot.id != wanted and not config.keep_existing:
        message = (
            f"tag '{config.name}' of {table.identifier} already exists and keeps snapshot {existing.snapshot.id}; "
            "delete it or choose another name"
        )
        raise AlreadyExistsError(message)


def _is_to_be_skipped(table: Table, config: CreateTagConfig) -> bool:
    return config.skip_empty and table.latest_snapshot() is None


CREATE_TAG: Final = Maintenance(
    job="create_tag",
    op="tag",
    description="Create a tag, which keeps a snapshot from expiring.",
    config=CreateTagConfig,
    work=create_tag_of_one,
    check=_check_create,
    measured=False,
)


class DeleteTagConfig(DeletingConfig):
    """The tables and the tag."""

    name: str = Field(description="The name of the tag.")


def delete_tag_of_one(visit: Visit, config: DeleteTagConfig) -> Outcome:
    """Delete a tag of one table and the files that only it needs."""
    table = visit.table()
    before = table.tags()
    kept = before[config.name].snapshot.id
    if not config.dry_run:
        table.delete_tag(config.name)
    verb = would(config.dry_run, "be deleted", "was deleted")
    return Outcome(
        title=tried("tag deletion", config.dry_run),
        summary=f"tag '{config.name}' of snapshot {kept} {verb}",
        metadata={"paimon/snapshot_id": kept, **names_before_and_after("tags", before, table.tags())},
    )


def _check_delete(table: Table, config: DeleteTagConfig) -> None:
    require_name(table, "tag", "tags", config.name, table.tags(), TagNotFound)


DELETE_TAG: Final = Maintenance(
    job="delete_tag",
    op="delete_tag_of_table",
    description="Delete a tag and the files that only it needs. A dry run unless dry_run is false.",
    config=DeleteTagConfig,
    work=delete_tag_of_one,
    check=_check_delete,
    changes=deletes,
    measured=False,
)


class AutomaticTagsConfig(TablesConfig):
    """The tables."""


def create_automatic_tags_of_one(visit: Visit, config: AutomaticTagsConfig) -> Outcome:  # noqa: ARG001
    """Create the tags of one table that are due by its options."""
    table = visit.table()
    before = table.tags()
    names = table.create_automatic_tags()
    return Outcome(
        title="automatic tags",
        summary=f"tags created: {', '.join(names)}" if names else "no tag was due by tag.automatic-creation",
        metadata=names_before_and_after("tags", before, table.tags()),
    )


AUTOMATIC_TAGS: Final = Maintenance(
    job="create_automatic_tags",
    op="tag_automatically",
    description="Create the tags that are due by tag.automatic-creation.",
    config=AutomaticTagsConfig,
    work=create_automatic_tags_of_one,
    measured=False,
)
