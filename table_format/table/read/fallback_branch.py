"""Reads partitions that a table lacks from its fallback branch (Java ``FallbackReadFileStoreTable``).

If the branch being read has a file of a partition, the whole partition comes from that branch. Other partitions come
from the fallback branch, with its own snapshot, schemas, options and formats. Writes never use the fallback branch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from table_format.errors import BranchNotFound, InvalidOption, SnapshotNotFound, TagNotFound
from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.references.expired_reads import explaining_expiry, explaining_expiry_of_rows
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.arrow_types import arrow_schema
from table_format.model.schema import TableSchema
from table_format.model.snapshot import FIRST_SNAPSHOT_ID
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.options.bucket import BUCKET
from table_format.options.declare import Operation
from table_format.options.scan import FALLBACK_BRANCH, SNAPSHOT_ID, STARTING_POINTS, STATE_KEYS
from table_format.options.table_options import TableOptions
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_split


def with_fallback(facts: TableFacts, plan_of: Callable[[TableFacts], Plan]) -> Plan:
    """The plan of a scan with the partitions that only the fallback branch has, if the options name one.

    ``plan_of`` plans the scan of a table as its facts show it.

    Raises:
        BranchNotFound: the branch does not exist.
        InvalidOption: the columns or partitions of the branches differ.
    """
    plan = plan_of(facts)
    branch = facts.options.scan.fallback_branch
    if branch is None or branch == facts.store.paths.branch:
        return plan
    other = _other_facts(facts, branch)
    other.require(Operation.READ)
    if other.snapshots.latest_id() is None:
        return plan
    with _naming_branch(facts, branch):
        found = plan_of(other)
    _check_same_schema(facts, plan.schema, found.schema, branch)
    own = _partitions(facts, plan) if found.splits else frozenset()
    splits = tuple(replace(split, branch=branch) for split in found.splits if split.partition not in own)
    fallback = replace(found, splits=splits)
    return replace(plan, splits=(*plan.splits, *splits), fallback=fallback)


@contextmanager
def _naming_branch(facts: TableFacts, branch: str) -> Iterator[None]:
    """Say of a state that the fallback branch lacks that it is this branch, because the table itself has it."""
    try:
        yield
    except (SnapshotNotFound, TagNotFound) as error:
        message = f"branch '{branch}', which '{FALLBACK_BRANCH.key}' of {facts.name} names, lacks this state: {error}"
        raise type(error)(message) from error


def fallback_facts(facts: TableFacts) -> TableFacts | None:
    """Return the facts of the fallback branch; ``None`` if there is none.

    Raises:
        BranchNotFound: the branch does not exist.
    """
    branch = facts.options.scan.fallback_branch
    return None if branch is None or branch == facts.store.paths.branch else _other_facts(facts, branch)


def read_planned(facts: TableFacts, plan: Plan, split: DataSplit) -> Generator[pa.RecordBatch]:
    """Return the rows of a split of a plan, with exactly the columns of the plan. ``facts`` are those of the scan."""
    part = plan.part_of(split)
    options = facts.options if part.facts is None else part.facts.options
    read = read_split(facts.store, part.schemas, part.schema, options, split, part.fields, part.pruning)
    rows = explaining_expiry_of_rows(facts.store, split, read)
    if part is plan:
        yield from rows
        return
    schema = arrow_schema(plan.fields)
    for batch in rows:
        # The branches may differ in which columns are nullable.
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _other_facts(facts: TableFacts, branch: str) -> TableFacts:
    store = replace(facts.store, paths=facts.store.paths.for_branch(branch))
    schemas = SchemaStore(store)
    if schemas.latest_id() is None:
        message = f"{facts.name} has no branch '{branch}', which '{FALLBACK_BRANCH.key}' names"
        raise BranchNotFound(message)
    other = TableFacts(f"{facts.name}$branch_{branch}", store, schemas.latest(), facts.options)
    return replace(other, options=TableOptions(_options(facts, other)))


def _options(facts: TableFacts, other: TableFacts) -> dict[str, str]:
    """Return the options of the other branch, overridden by those of this scan."""
    given = {key: value for key, value in facts.options.raw.items() if facts.schema.options.get(key) != value}
    # Each branch has its own number of buckets.
    given = _without(given, (*BUCKET.keys, *FALLBACK_BRANCH.keys))
    stored = _without(other.schema.options, FALLBACK_BRANCH.keys)
    starting_points = [key for option in STARTING_POINTS for key in option.keys]
    if any(key in given for key in starting_points):
        stored = _without(stored, STATE_KEYS)
    snapshot_id = facts.options.scan.snapshot_id
    if snapshot_id is not None:
        # Snapshot ids differ between branches, so use the snapshot at the same time.
        try:
            found = other.snapshots.at_or_before(facts.snapshots.load(snapshot_id).time_millis).id
        except SnapshotNotFound:
            found = FIRST_SNAPSHOT_ID
        given[SNAPSHOT_ID.key] = str(found)
    return {**stored, **given}


def _without(options: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if key not in keys}


def _partitions(facts: TableFacts, plan: Plan) -> frozenset[bytes]:
    """Return the partitions of the branch that the filter may select."""
    if plan.snapshot is None:
        return frozenset()
    schema = plan.schema
    min_level = int(schema.is_primary_key_table and facts.options.skips_level_0)
    wanted = FileFilter(partition_predicate=plan.pruning.partition_condition, min_level=min_level)
    with explaining_expiry(facts.store, plan.snapshot):
        found = live_files(facts.manifests, plan.snapshot, schema=schema, schemas=facts.schemas, filter=wanted)
    return frozenset(entry.partition for entry in found.entries if entry.bucket != POSTPONE_BUCKET)


def _check_same_schema(facts: TableFacts, main_schema: TableSchema, fallback_schema: TableSchema, branch: str) -> None:
    def shape(fields: Sequence[DataField]) -> list[tuple[str, str]]:
        return [(f.name, str(f.type.with_nullable(True))) for f in fields]

    if (
        shape(main_schema.fields) != shape(fallback_schema.fields)
        or main_schema.partition_keys != fallback_schema.partition_keys
    ):
        message = (
            f"branch '{branch}' of {facts.name} must have the same columns and partitions: expected "
            f"{_shown(main_schema)}, found {_shown(fallback_schema)}"
        )
        raise InvalidOption(FALLBACK_BRANCH.key, message)


def _shown(schema: TableSchema) -> str:
    columns = ", ".join(f"{f.name} {f.type.with_nullable(True)}" for f in schema.fields)
    return f"({columns}) by ({', '.join(schema.partition_keys)})"
