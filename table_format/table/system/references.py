"""``$tags``, ``$branches`` and ``$consumers``: what keeps snapshots (Java ``TagsTable``, ``BranchesTable``,
``ConsumersTable``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.metastore.history.branches import BranchStore
from table_format.metastore.references.consumers import next_snapshots
from table_format.metastore.references.tag_store import TagStore
from table_format.model.tag import Tag
from table_format.table.facts import TableFacts
from table_format.table.rows.texts import duration_text
from table_format.table.system.metadata import LONG, NANOS_PER_MILLI, TEXT, TIME, Row, columns, local_nanos

TAG_COLUMNS: Final = columns(
    tag_name=TEXT.not_null(),
    snapshot_id=LONG.not_null(),
    schema_id=LONG.not_null(),
    commit_time=TIME.not_null(),
    record_count=LONG,
    create_time=TIME,
    time_retained=TEXT,
)
BRANCH_COLUMNS: Final = columns(branch_name=TEXT.not_null(), create_time=TIME.not_null())
CONSUMER_COLUMNS: Final = columns(consumer_id=TEXT.not_null(), next_snapshot_id=LONG.not_null())


def tag_rows(facts: TableFacts) -> Sequence[Row]:
    """The tags by name."""
    return [_tag_row(name, tag) for name, tag in sorted(TagStore(facts.store).all().items())]


def branch_rows(facts: TableFacts) -> Sequence[Row]:
    """All branches but main, by name; a branch is as old as its first schema."""
    found = BranchStore(facts.store).all()
    return [{"branch_name": name, "create_time": local_nanos(found[name].created_ms)} for name in sorted(found)]


def consumer_rows(facts: TableFacts) -> Sequence[Row]:
    """The consumers by name, and the snapshot each reads next."""
    found = sorted(next_snapshots(facts.store).items())
    return [{"consumer_id": name, "next_snapshot_id": snapshot_id} for name, snapshot_id in found]


def _tag_row(name: str, tag: Tag) -> Row:
    return {
        "tag_name": name,
        "snapshot_id": tag.snapshot.id,
        "schema_id": tag.snapshot.schema_id,
        "commit_time": local_nanos(tag.snapshot.time_millis),
        "record_count": tag.snapshot.total_record_count,
        "create_time": None if tag.create_time_ms is None else tag.create_time_ms * NANOS_PER_MILLI,
        "time_retained": None if tag.time_retained_ms is None else duration_text(tag.time_retained_ms),
    }
