"""Refreshes a materialized table: its query reads one snapshot of each source, and one commit replaces the rows.

If the commits to the sources tell which partitions they can have affected, only these are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from table_format.counted import counted
from table_format.errors import ConflictError, InvalidInputError, NotFoundError, SnapshotExpired, UnsupportedFeature
from table_format.io.partition_path import shown_partition
from table_format.materialized.refreshes import Refresh, digest_of
from table_format.materialized.report import RefreshReport
from table_format.materialized.sources import SourceState, explained, source_states
from table_format.materialized.table import MaterializedTable, current_refreshes, materialized_table
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.type_changes import can_widen
from table_format.options.commit import DYNAMIC_PARTITION_OVERWRITE
from table_format.spark.names import column
from table_format.spark.read.conditions import literal
from table_format.spark.sql.affected_partitions import NotByPartitions, affected_partitions
from table_format.spark.sql.queries import frame_of_query
from table_format.spark.sql.session import SqlSession, SqlState
from table_format.spark.sql.stored_types import stored
from table_format.spark.sql.tables import spelled_partition
from table_format.spark.types import fields_of_spark, spark_type
from table_format.spark.write.frames import write_frame
from table_format.table.facts import TableFacts
from table_format.table.rows.partition_values import partition_spec, written_partition
from table_format.table.write.batch_commit import BatchCommit, CommitArguments
from table_format.table.write.commit_retries import Messages, write_and_commit
from table_format.table.write.turns import WriterTurns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame

_ATTEMPTS: Final = 5

UNCHANGED: Final = "no source has changed since the last refresh"


def refresh(
    session: SqlSession,
    name: str,
    *,
    partition: Mapping[str, object] | None = None,
    if_stale: bool = False,
    force: bool = False,
    properties: Mapping[str, str] | None = None,
) -> RefreshReport:
    """Refresh a materialized table ``database.table``, or a partition of it; see ``Lake.refresh``."""
    given = CommitArguments.of(None, properties=properties).properties
    table = session.data_table(name)
    found = materialized_table(session.catalog, name)
    if found.problem is not None:
        feature = f"refreshing '{name}'"
        message = f"materialized table '{name}' cannot be refreshed here: {found.problem}"
        raise UnsupportedFeature(feature, message)
    now_ms = table.store.runtime.clock.now_ms()
    skipped = _why_skipped(found, now_ms, if_stale=if_stale, force=force)
    if skipped is not None:
        return RefreshReport(name, skipped=skipped)
    return _Run(session, found, table.current_facts, now_ms, partition, given, is_whole=force).run()


def _why_skipped(found: MaterializedTable, now_ms: int, *, if_stale: bool, force: bool) -> str | None:
    if force:
        return None
    if if_stale and found.is_suspended:
        return "it is suspended"
    if found.is_current:
        return UNCHANGED
    if if_stale and not found.is_stale(now_ms):
        return f"its rows are not older than {found.freshness}"
    return None


@dataclass(frozen=True)
class _Attempt:
    """What an attempt has read, and which partitions it replaces, with their internal values in ``specs``.

    ``None`` stands for all rows, and ``reason`` says why.
    """

    states: Mapping[str, SourceState] = field(default_factory=dict)
    specs: Sequence[PartitionSpec] | None = None
    partitions: Sequence[Mapping[str, object]] | None = None
    reason: str | None = None


@dataclass(frozen=True)
class _Run:
    """One refresh. ``facts`` are those of the table, ``now_ms`` is when it began. ``is_whole`` asks for all rows."""

    session: SqlSession
    found: MaterializedTable
    facts: TableFacts
    now_ms: int
    partition: Mapping[str, object] | None
    properties: Mapping[str, str]
    is_whole: bool

    def run(self) -> RefreshReport:
        """Run the query and commit its rows. If this fails, the table has its rows from before.

        Raises:
            NotFoundError, InvalidInputError: a source is gone, or the query no longer fits its sources or the table.
            ConflictError: another refresh of the whole table was committed in the meantime.
        """
        facts = self.facts.as_refresh
        facts = replace(facts, options=facts.options.with_options({DYNAMIC_PARTITION_OVERWRITE.key: "false"}))
        commit = BatchCommit(facts)
        given = None if self.partition is None else [_spec(facts.schema, self.partition)]
        attempt = _Attempt()

        def write() -> Messages:
            nonlocal attempt
            # An attempt that is repeated, because a snapshot has expired, reads later states.
            with self._explaining():
                states, rows = self._pinned()
                rows = _fitting(rows, facts.schema, self.found.sources)
                attempt = self._attempt(states, given)
            if attempt.specs is not None:
                rows = rows.where(_in_partitions(facts.schema, attempt.specs))
            return write_frame(rows, facts, replacing=True, commit_user=commit.commit_user)

        def publish(messages: Messages) -> tuple[Snapshot, ...]:
            self._require_last(is_base=attempt.partitions is not None)
            properties = {**self.properties, **self._record(attempt).properties}
            return commit.overwrite(messages, partition=attempt.specs, properties=properties)

        snapshots = write_and_commit(
            facts.store, commit, write=write, publish=publish, is_repeatable=True, turns=WriterTurns.of(facts)
        )
        return RefreshReport(
            self.found.name,
            snapshots,
            self._record(attempt).consumed,
            partitions=None if attempt.partitions is None else tuple(attempt.partitions),
            whole_because=attempt.reason,
        )

    def _attempt(self, states: Mapping[str, SourceState], given: Sequence[PartitionSpec] | None) -> _Attempt:
        """Decide which rows to replace. ``given`` is the partition that the user names."""
        if self.partition is not None:
            return _Attempt(states, given, [self.partition])
        if self.is_whole:
            return _Attempt(states, reason="all rows were asked for")
        try:
            partitions = affected_partitions(self.session, self.found, self.facts, states)
        except NotByPartitions as reason:
            return _Attempt(states, reason=str(reason))
        return _Attempt(states, [written_partition(self.facts.schema, each) for each in partitions], partitions)

    def _record(self, attempt: _Attempt) -> Refresh:
        is_partial = self.partition is None and attempt.partitions is not None
        return Refresh(
            self.now_ms,
            digest_of(self.found.query),
            {source: state.consumed for source, state in attempt.states.items()},
            {source: state.schema_id for source, state in attempt.states.items()},
            None if self.partition is None else shown_partition(self.partition),
            base=self.found.refresh.snapshot_id if is_partial and self.found.refresh is not None else None,
        )

    def _pinned(self) -> tuple[Mapping[str, SourceState], DataFrame]:
        """Return the states of the sources, and the rows of the query at these states.

        A source whose columns have changed since its last commit is read at its latest snapshot, which must still be
        the same when the query is bound.
        """
        catalog, sources = self.session.catalog, self.found.sources
        for _ in range(_ATTEMPTS):
            states = source_states(catalog, sources)
            rows = query_rows(self.session, self.found.name, self.found.query, states)
            altered = {source: state for source, state in states.items() if state.is_altered}
            if source_states(catalog, altered) == altered:
                return states, rows
        message = (
            f"materialized table '{self.found.name}' cannot be refreshed: the columns of its sources keep changing; "
            "refresh it again"
        )
        raise ConflictError(message)

    def _require_last(self, *, is_base: bool) -> None:
        """Refuse to replace the rows of a refresh that began later, or read later states.

        ``is_base`` tells that some rows of the refresh before stay.
        """
        last = current_refreshes(self.facts).whole
        before = None if self.found.refresh is None else self.found.refresh.snapshot_id
        if last is None and is_base and self.partition is None:
            message = (
                f"materialized table '{self.found.name}' was changed by another program in the meantime; nothing was "
                "written. Refresh it again"
            )
            raise ConflictError(message)
        if last is not None and last.snapshot_id != before:
            message = (
                f"materialized table '{self.found.name}' was refreshed by another process in the meantime, in snapshot "
                f"{last.snapshot_id}; nothing was written. Refresh it again if its sources have changed since"
            )
            raise ConflictError(message)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        name, sources = self.found.name, ", ".join(self.found.sources) or "no table"
        try:
            yield
        except SnapshotExpired:
            raise  # the attempt is repeated
        except (NotFoundError, InvalidInputError) as error:
            raise explained(name, error) from error
        except AnalysisException as error:
            reason = str(error).partition("\n")[0]
            message = (
                f"materialized table '{name}' cannot be refreshed: its query no longer fits {sources}, which it reads: "
                f"{reason}"
            )
            raise InvalidInputError(message) from error


def query_rows(session: SqlSession, name: str, query: str, states: Mapping[str, SourceState]) -> DataFrame:
    """Return the rows of a query of the materialized table ``name`` at these states of its sources.

    Names without a database, which only views have, are those of the database of the table. Neither temporary views
    nor parameters of the session are visible.
    """
    state = SqlState(database=name.partition(".")[0])
    return frame_of_query(replace(session, state=state, parameters={}, pinned=states), query)


def _fitting(rows: DataFrame, schema: TableSchema, sources: Sequence[str]) -> DataFrame:
    """Return the rows with the columns of the table. A type may be narrower than that of the table.

    Raises:
        InvalidInputError: the query no longer returns the columns of the table.
    """
    found = fields_of_spark(rows.schema)
    reads = ", ".join(sources)
    advice = "change the query with ALTER MATERIALIZED TABLE ... AS, or create the table again"
    if tuple(rows.columns) != schema.field_names:
        message = (
            f"its query on {reads} now returns {counted(len(found), 'column')} ({', '.join(rows.columns)}), but the "
            f"table has {counted(len(schema.fields), 'column')} ({', '.join(schema.field_names)}); {advice}"
        )
        raise InvalidInputError(message)
    for returned, declared in zip(found, schema.fields, strict=True):
        is_same = spark_type(returned.type).simpleString() == spark_type(declared.type).simpleString()
        if not (is_same or can_widen(returned.type, declared.type)):
            message = (
                f"its query on {reads} now returns column '{returned.name}' as {returned.type}, but the table has "
                f"{declared.type}; {advice}"
            )
            raise InvalidInputError(message)
    return stored(rows, schema.fields)


def _in_partitions(schema: TableSchema, specs: Sequence[PartitionSpec]) -> Column:
    """Return the condition that a row is in one of the partitions. IN reaches the files of the sources."""
    names = list(specs[0])
    if len(names) > 1 or len(specs) == 1:
        equal = [[column(k).eqNullSafe(literal(v, schema.field(k).type)) for k, v in spec.items()] for spec in specs]
        return reduce(or_, (reduce(and_, each) for each in equal))
    (only,) = names
    values = [spec[only] for spec in specs if spec[only] is not None]
    among = column(only).isin(*(literal(value, schema.field(only).type) for value in values))
    return among if len(values) == len(specs) else among | column(only).isNull()


def _spec(schema: TableSchema, partition: Mapping[str, object]) -> PartitionSpec:
    """Return the internal values of a partition.

    Raises:
        InvalidInputError: it names no column, or one that is not a partition column.
    """
    if not partition:
        message = "the partition to refresh names no column; name at least one, or refresh the whole table"
        raise InvalidInputError(message)
    return partition_spec(schema, spelled_partition(schema, partition))
