"""Marks partitions as complete, for jobs that wait for them (Java ``SuccessFileMarkDoneAction``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from table_format.codecs.binary_row import serialize_row
from table_format.codecs.success_json import decode_created, encode_success
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.io.regular_files import read_file
from table_format.metastore.history.history_files import HistoryFiles
from table_format.metastore.references.expired_reads import on_latest
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.arguments import flag, mappings
from table_format.options.partitions import MARK_DONE_ACTION
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.rows.partition_values import partition_spec


@reporting_drops
def mark_partitions_done(
    table: HasFacts, partitions: Sequence[Mapping[str, object]], *, allow_empty: bool = False
) -> tuple[str, ...]:
    """See ``Table.mark_partitions_done``."""
    flag(allow_empty, "allow_empty")
    facts = table.current_facts
    _require_success_file(facts)
    wanted = [_key(facts, partition) for partition in mappings(partitions, "partitions")]
    if not wanted:
        message = f"{facts.name}: partitions is empty; name the partitions to mark as done"
        raise InvalidInputError(message)
    if not allow_empty:
        _require_rows(facts, wanted)
    files = HistoryFiles(facts.store)
    marked = tuple(_mark(facts, files, facts.partitions.text(key)) for key in wanted)
    files.require_same_table()
    return marked


def _require_success_file(facts: TableFacts) -> None:
    actions = facts.options.partitions.mark_done_action
    if not MARK_DONE_ACTION.is_honoured(actions):
        feature = f"'{MARK_DONE_ACTION.key}' = '{','.join(actions)}'"
        message = f"{facts.name}: {feature} is not supported by this version, which supports 'success-file'"
        raise UnsupportedFeature(feature, message)


def _key(facts: TableFacts, partition: Mapping[str, object]) -> bytes:
    spec = partition_spec(facts.schema, partition)
    keys = facts.schema.partition_keys
    if not keys or len(spec) < len(keys):
        message = f"{facts.name}: expected a value for each of the partition columns ({', '.join(keys)}), found {spec}"
        raise InvalidInputError(message)
    return serialize_row(facts.partitions.types, [spec[name] for name in keys])


def _require_rows(facts: TableFacts, wanted: Sequence[bytes]) -> None:
    plan = on_latest(facts.snapshots, facts.live_files)
    present = {entry.partition for entry in plan.entries}
    for key in wanted:
        if key not in present:
            require_same_table(facts.store)
            shown = facts.partitions.shown(key)
            message = f"{shown} of {facts.name} has no rows; correct it, or set allow_empty"
            raise InvalidInputError(message)


def _mark(facts: TableFacts, files: HistoryFiles, text: str) -> str:
    path = facts.store.paths.success_file(text)
    now_ms = facts.store.runtime.clock.now_ms()
    try:
        created_ms = decode_created(read_file(facts.store.io, path), path=path)
    except FileNotFoundError:
        created_ms = now_ms
    files.write(path, encode_success(created_ms, now_ms), is_new=False)
    return path
