"""The changes of a table since an asset last read it, for incremental downstream tables.

The read position of an asset is stored in the snapshot of its rows, so rows and position are one commit: a step that
fails before the commit reads the same changes again, and a step that fails after it finds its commit. A source that
was rolled back, created again or overwritten, or whose snapshots have expired, is read completely.

``dagster_paimon.io.read_position`` carries the position from the asset to the I/O manager.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from dagster_paimon.io.branches import BRANCH_TAG, branch_of, on_existing_branch
from dagster_paimon.io.read_position import ReadPosition
from dagster_paimon.io.writing import WriteMode
from dagster_paimon.resources.lakehouse import LakehouseCatalog, table_name
from table_format import CommitKind, Snapshot, StreamScan, Table
from table_format.counted import counted
from table_format.engine.support import ChangelogProducer, Consumed, consumed_by, snapshot_fingerprint
from table_format.errors import InvalidInputError, SnapshotNotFound, TableNotFound

_ROW_KIND: Final = "rowkind"
_ADDED: Final = ("+I", "+U")
_NOTHING: Final = 0
"""The position in a source that was created again and has no snapshot yet."""

Context: TypeAlias = dg.AssetExecutionContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of a table after the snapshot ``since`` and up to ``until``.

    ``rows`` has the column ``rowkind`` (``+I``, ``-U``, ``+U`` or ``-D``), then the selected columns. If
    ``is_complete``, the rows begin with the whole state of the table and replace all earlier results.
    """

    source: str
    rows: pa.Table
    is_complete: bool
    since: int | None
    until: int | None

    @property
    def signs(self) -> pa.Array:
        """1 for each added row and -1 for each removed row, as int64. Multiply by it in a sum over changes."""
        added = pc.is_in(self.rows[_ROW_KIND], value_set=pa.array(_ADDED))
        signs: pa.Array = pc.if_else(added, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64())).combine_chunks()
        return signs


def changes_since_last_run(
    context: Context,
    lakehouse: LakehouseCatalog,
    source: str,
    *,
    columns: Sequence[str] | None = None,
    consumer: str | None = None,
) -> Changes:
    """Return the changes of ``source`` since the last run of the asset, whose table has the write mode ``upsert``, or
    ``append`` if it collects the changes themselves.

    Rows whose changes a later compaction will record are part of a later run.

    The position, and for complete rows the write mode ``overwrite_table``, become metadata of the output. Only one
    run of the asset may be active at a time: give it a pool. An asset follows one source. A run with the tag
    ``paimon/branch`` reads and continues that branch of both tables, if it exists.

    ``consumer`` is the id of a consumer of the source, which keeps the snapshots that the next run needs. Without
    one, a run after their expiry reads all rows.

    Raises:
        TableNotFound: the source does not exist.
        InvalidInputError: the asset has several outputs, or already reads the changes of a source, or the source is a
            primary-key table without a changelog.

    Example::

        @dg.asset(deps=["shop/orders"], io_manager_key="paimon_io", pool="write_totals", metadata={
            "paimon/write_mode": "upsert",
            "paimon/primary_key": ["user_id"],
            "paimon/options": {"merge-engine": "aggregation", "fields.amount.aggregate-function": "sum"},
        })
        def totals(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
            changes = changes_since_last_run(context, lakehouse, "shop.orders", columns=["user_id", "amount"])
            amounts = pc.multiply(changes.rows["amount"], changes.signs)
            return pa.table({"user_id": changes.rows["user_id"], "amount": amounts})
    """
    table = lakehouse.table(on_existing_branch(lakehouse.catalog(), source, context.run.tags.get(BRANCH_TAG)))
    _check_changelog(table, source)
    key = _only_key(context)
    output = _output_of(context, key)
    _check_only_source(context, output, source)
    own = _own_table(context, lakehouse, key)
    position = None if own is None else _position(own, source)
    changes = _read(table, source, position, columns)
    _record(context, output, table, changes, position)
    if consumer is not None and changes.until is not None:
        # This run may fail, so the next run may still need the snapshot at which it began.
        table.reset_consumer(consumer, changes.until if changes.since is None else changes.since)
    since = "the first snapshot" if changes.since is None else f"snapshot {changes.since}"
    what = "all rows" if changes.is_complete else f"changes after {since}"
    rows = counted(changes.rows.num_rows, "row", thousands=True)
    context.log.info("%s: %s up to snapshot %s, %s", source, what, changes.until, rows)
    return changes


def _check_changelog(table: Table, source: str) -> None:
    if table.schema.is_primary_key_table and table.options.stream.changelog_producer is ChangelogProducer.NONE:
        message = (
            f"{source} records no changes: its changelog-producer is none, so the old rows of changes are unknown; "
            "set changelog-producer to lookup, full-compaction or input"
        )
        raise InvalidInputError(message)


def _only_key(context: Context) -> dg.AssetKey:
    keys = context.selected_asset_keys
    if len(keys) != 1:
        message = f"changes can be read for an asset with one table; this step has {len(keys)}"
        raise InvalidInputError(message)
    key: dg.AssetKey = next(iter(keys))
    return key


def _output_of(context: Context, key: dg.AssetKey) -> str:
    """Return the output with the rows. The checks of an asset are outputs too."""
    outputs = context.op_execution_context.op_def.output_defs
    if len(outputs) == 1:  # also an op of a graph, whose outputs have other names than those of the asset
        return str(outputs[0].name)
    named: str = next(name for name, found in context.assets_def.keys_by_output_name.items() if found == key)
    return named


def _check_only_source(context: Context, output: str, source: str) -> None:
    earlier = ReadPosition.in_metadata(context.get_output_metadata(output) or {})
    if earlier is not None:
        message = (
            f"{source}: this step already reads the changes of {earlier.source}; an asset follows one source, once "
            "in a run, because the complete rows of a source replace all rows of the asset. Make an asset for each "
            "source, and a third one that combines their tables"
        )
        raise InvalidInputError(message)


def _own_table(context: Context, lakehouse: LakehouseCatalog, key: dg.AssetKey) -> Table | None:
    """Return the table, or its branch, that the run continues; ``None`` if it does not exist."""
    metadata = context.assets_def.metadata_by_key.get(key, {})
    branch = branch_of(metadata, context.run.tags)
    try:
        return lakehouse.table(on_existing_branch(lakehouse.catalog(), table_name(key, metadata), branch))
    except TableNotFound:
        return None


def _position(own: Table, source: str) -> Consumed | None:
    """Return the position of the newest commit of the asset's table; ``None`` if no retained snapshot has one."""
    for snapshot in _newest_first(own):
        read = consumed_by(snapshot).get(source)
        if read is not None:
            return read
    return None


def _newest_first(table: Table) -> Iterator[Snapshot]:
    for snapshot_id in reversed(table.facts.snapshots.ids()):
        snapshot = table.facts.snapshots.find(snapshot_id)
        if snapshot is not None:
            yield snapshot


def _read(table: Table, source: str, position: Consumed | None, columns: Sequence[str] | None) -> Changes:
    following = None if position is None else _read_following(table, source, position, columns)
    return _read_all(table, source, columns) if following is None else following


def _read_following(table: Table, source: str, position: Consumed, columns: Sequence[str] | None) -> Changes | None:
    """Return the changes after the position; ``None`` if they do not lead to the state of the source."""
    if not _can_follow(table, position):
        return None
    stream = table.stream(columns)
    stream.restore(position.id + 1)
    try:
        parts = [stream.to_arrow(plan) for plan in iter(stream.next_plan, None)]
    except SnapshotNotFound:
        return None
    # The source may have been rolled back or overwritten since the first check; the stream skips an overwrite.
    return _changes(source, stream, parts, since=position.id) if _can_follow(table, position) else None


def _read_all(table: Table, source: str, columns: Sequence[str] | None) -> Changes:
    stream = table.stream(columns)
    # Only the state: the stream would skip an overwrite after an empty state.
    plan = stream.begin()
    return _changes(source, stream, [] if plan is None else [stream.to_arrow(plan)], since=None)


def _changes(source: str, stream: StreamScan, parts: Sequence[pa.Table], *, since: int | None) -> Changes:
    following = stream.checkpoint()
    rows = pa.concat_tables([stream.schema.empty_table(), *parts])
    until = None if following is None else following - 1
    return Changes(source=source, rows=rows, is_complete=since is None, since=since, until=until)


def _can_follow(table: Table, position: Consumed) -> bool:
    """Return whether the table still has this exact snapshot, and all later ones record their changes. An overwrite
    does not.
    """
    read = table.facts.snapshots.find(position.id)
    if read is None or snapshot_fingerprint(read) != position.fingerprint:  # ids are reused after a rollback
        return False
    later = (snapshot for snapshot in _newest_first(table) if snapshot.id > position.id)
    return all(snapshot.commit_kind is not CommitKind.OVERWRITE for snapshot in later)


def _record(context: Context, output: str, table: Table, changes: Changes, position: Consumed | None) -> None:
    read: Consumed | None = None
    if changes.until is not None or (position is not None and position.id != _NOTHING):
        until = _NOTHING if changes.until is None else changes.until
        found = table.facts.snapshots.find(until)
        read = Consumed(until, "") if found is None else Consumed.of(found)
    replaces = read is not None and changes.is_complete
    context.add_output_metadata(
        {
            **ReadPosition(changes.source, read).metadata(),
            **({"paimon/write_mode": WriteMode.overwrite_table.value} if replaces else {}),
        },
        output,
    )
