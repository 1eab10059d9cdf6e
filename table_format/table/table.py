"""The class ``Table``: reads, writes and maintenance of one table.

A ``Table`` is a value: a path with the schema and options with which it was loaded. It holds no state of running
work. Every scan and every commit reads the current state of the table. Scans show rows in the schema with which the
table was loaded. Operations that write, rewrite or delete first read the current schema and use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import pyarrow as pa

from table_format.errors import InvalidInputError, SchemaChanged
from table_format.io.stores import uri_in_store
from table_format.io.table_store import TableStore
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.arguments import mappings, options_by_key
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.identifier import Identifier
from table_format.model.schema import TableSchema, columns_text
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataField, DataType
from table_format.options.check import check_dynamic
from table_format.options.declare import Operation
from table_format.options.scan import STARTING_POINTS, STATE_KEYS
from table_format.options.table_options import TableOptions
from table_format.options.unread import Reader, refuse_unread
from table_format.secrets import shown_options
from table_format.table.changes.change_methods import ChangeMethods
from table_format.table.facts import TableFacts, reporting_drops
from table_format.table.read.order_by import row_limit
from table_format.table.read.scan import Scan, columns_argument
from table_format.table.read.stream import StreamScan
from table_format.table.rows.input import Rows
from table_format.table.rows.partition_values import partition_spec, rows_of_partition, written_partition
from table_format.table.upkeep.history_methods import HistoryMethods
from table_format.table.upkeep.upkeep_methods import UpkeepMethods
from table_format.table.verify.verify_methods import VerifyMethods
from table_format.table.write.batch_commit import BatchCommit, CommitArguments, expire_after_commit, fresh_user
from table_format.table.write.commit_retries import Messages, is_repeatable, write_and_commit
from table_format.table.write.table_write import TableWrite
from table_format.table.write.turns import WriterTurns

_STARTING_POINTS = tuple(key for option in STARTING_POINTS for key in option.keys)


@dataclass(frozen=True, repr=False)
class Table(ChangeMethods, UpkeepMethods, VerifyMethods, HistoryMethods):
    """A loaded table; can be pickled. Get one from ``Catalog.load_table`` or ``Catalog.create_table``.

    ``dynamic_options`` override the options of the schema.

    The examples of the methods use this table. Each example starts with a new one.

    >>> import pyarrow as pa
    >>> from table_format import Schema, col, load_catalog
    >>> from table_format.io.memory import MemoryFileIO
    >>> catalog = load_catalog({"warehouse": "/warehouse"}, file_io=MemoryFileIO())
    >>> catalog.create_database("shop")
    >>> key = [pa.field("id", pa.int64(), nullable=False), pa.field("day", pa.string(), nullable=False)]
    >>> columns = pa.schema([*key, ("state", pa.string()), ("amount", pa.int64())])
    >>> schema = Schema.from_arrow(columns, ["id", "day"], partition_keys=["day"], options={"bucket": "1"})
    >>> table = catalog.create_table("shop.orders", schema)
    >>> for rows in (
    ...     [(1, "2026-01-01", "new", 10), (2, "2026-01-01", "paid", 20)],
    ...     [(3, "2026-01-02", "new", 30)],
    ... ):
    ...     snapshots = table.append(pa.Table.from_pylist([dict(zip(columns.names, row)) for row in rows], columns))
    >>> table.scan().count()
    3
    """

    identifier: Identifier
    store: TableStore
    schema: TableSchema
    dynamic_options: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The name and the schema.

        >>> table.copy({"scan.snapshot-id": "1"})
        Table(shop.orders, schema 0: id BIGINT NOT NULL, day STRING NOT NULL, state STRING, amount BIGINT; \
primary key: id, day; partitioned by: day; dynamic options: scan.snapshot-id=1)
        """
        parts = [f"{self.identifier}, schema {self.schema.id}: {columns_text(self.schema.fields)}"]
        if self.schema.primary_keys:
            parts.append(f"primary key: {', '.join(self.schema.primary_keys)}")
        if self.schema.partition_keys:
            parts.append(f"partitioned by: {', '.join(self.schema.partition_keys)}")
        if self.dynamic_options:
            given = shown_options(self.dynamic_options)
            parts.append(f"dynamic options: {', '.join(f'{key}={value}' for key, value in given.items())}")
        return f"{type(self).__name__}({'; '.join(parts)})"

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.identifier, self.store, self.schema, dict(self.dynamic_options)))

    @property
    def location(self) -> str:
        """The directory of the table: a path, or a URI if it is in an object store.

        >>> table.location
        '/warehouse/shop.db/orders'
        """
        return uri_in_store(self.store.io, self.store.paths.root)

    @cached_property
    def options(self) -> TableOptions:
        """The options of the table, overridden by the dynamic options."""
        stored = dict(self.schema.options)
        if any(key in self.dynamic_options for key in _STARTING_POINTS):
            # A new starting point replaces the old one.
            stored = {key: value for key, value in stored.items() if key not in STATE_KEYS}
        return TableOptions.parse({**stored, **self.dynamic_options})

    @cached_property
    def facts(self) -> TableFacts:
        """The schema, options and file access that operations on the table use."""
        return TableFacts(str(self.identifier), self.store, self.schema, self.options)

    def current(self) -> Self:
        """Return the table with its current schema and the same dynamic options; ``self`` if nothing has changed.

        >>> from table_format import SetOption
        >>> catalog.alter_table("shop.orders", SetOption("snapshot.num-retained.max", "10")).schema.id
        1
        >>> table.schema.id, table.current().schema.id
        (0, 1)

        Raises:
            TableNotFound: the table was dropped or renamed.
            TableReplaced: the table was dropped and created again.
            SchemaChanged: a dynamic option contradicts the current options of the table.
        """
        require_same_table(self.store)
        latest = self.facts.schema_store.latest()
        if latest.identity == self.schema.identity:  # after a fast-forward, another schema may have the id
            return self
        try:
            check_dynamic(latest, self.dynamic_options)
        except InvalidInputError as error:
            message = f"{self.identifier} now has schema {latest.id}: {error}. Load the table again and repeat"
            raise SchemaChanged(message) from error
        return replace(self, schema=latest)

    @property
    def current_facts(self) -> TableFacts:
        """The facts for operations that write or delete; raises the errors of ``current``."""
        now = self.current()
        if now is self or _columns(now.schema.fields) == _columns(self.schema.fields):
            return now.facts
        return replace(now.facts, opened=self.schema)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema, as ``append`` takes and ``scan`` returns them."""
        return arrow_schema(self.schema.fields)

    def copy(self, options: Mapping[str, str]) -> Self:
        """Return the same table with more dynamic options.

        >>> table.copy({"scan.snapshot-id": "1"}).scan().count()
        2

        Raises:
            InvalidOption: a key is unknown, a value is malformed, or the option is immutable.
            UnsupportedFeature: an option has an effect that this version does not support.
        """
        options = options_by_key(options, "options")
        check_dynamic(self.schema, options)
        kept = dict(self.dynamic_options)
        if any(key in options for key in _STARTING_POINTS):
            kept = {key: value for key, value in kept.items() if key not in STATE_KEYS}
        return replace(self, dynamic_options={**kept, **options})

    def for_reader(self, reader: Reader, options: Mapping[str, str]) -> Self:
        """Return the table with dynamic options for one call, and refuse options that the call ignores; ``self``
        without any.

        >>> from table_format.engine import Reader
        >>> table.for_reader(Reader.BATCH, {"scan.snapshot-id": "1"}).scan().count()
        2

        Raises:
            InvalidOption, UnsupportedFeature: as for ``copy``, or the reader ignores an option.
        """
        if not options:
            return self
        table = self.copy(options)
        refuse_unread(options_by_key(options, "options"), reader)
        return table

    # --- reading ----------------------------------------------------------------------------------------------------

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Scan some columns (by default all) and the rows that a filter selects (SQL text, a condition or a predicate).

        ``limit`` is the largest number of rows: the first rows by ``order_by`` (the text after ORDER BY in SQL), or
        any rows without it. As in Spark, nulls come first in ascending and last in descending order, unless NULLS
        FIRST or NULLS LAST is given. NaN is larger than all numbers. Files that cannot hold one of these rows are
        pruned.

        >>> table.scan(["id", "amount"], "day >= '2026-01-01'", order_by="amount DESC", limit=1).to_arrow().to_pylist()
        [{'id': 3, 'amount': 30}]
        >>> table.scan(filter=(col("state") == "new") & (col("amount") > 10)).count()
        1

        Raises:
            InvalidOption, UnsupportedFeature: an option is invalid; see ``copy``.
            InvalidInputError: the limit is negative, or the order cannot be parsed or has no limit.
        """
        facts = self.for_reader(Reader.BATCH, options or {}).facts
        return Scan(facts, columns_argument(columns), filter, limit=row_limit(order_by, limit))

    def stream(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> StreamScan:
        """Stream the table as it grows. Each plan of the stream reads rows with their row kinds.

        The stream starts as ``scan.mode`` says, by default with the latest state. With a ``consumer-id`` it resumes
        at the position of the consumer.

        >>> stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "2"})
        >>> plan = stream.next_plan()
        >>> stream.to_arrow(plan).select(["rowkind", "id"]).to_pylist()
        [{'rowkind': '+I', 'id': 3}]

        Raises:
            InvalidOption, UnsupportedFeature: an option is invalid, or a stream cannot start that way.
        """
        facts = self.for_reader(Reader.STREAM, options or {}).facts
        return StreamScan(facts, columns_argument(columns), filter)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the retained snapshots, oldest first.

        >>> [(snapshot.id, snapshot.total_record_count) for snapshot in table.snapshots()]
        [(1, 2), (2, 3)]

        Raises:
            TableNotFound, TableReplaced: the table has been dropped since it was loaded.
        """
        ids = self.facts.snapshots.ids()
        found = tuple(s for s in map(self.facts.snapshots.find, ids) if s is not None)
        if not found or len(found) < len(ids):
            require_same_table(self.store)
        return found

    def latest_snapshot(self) -> Snapshot | None:
        """Return the latest snapshot; ``None`` if there is none.

        >>> table.latest_snapshot().id
        2

        Raises:
            TableNotFound, TableReplaced: the table has been dropped since it was loaded.
        """
        found = self.facts.snapshots.latest()
        if found is None:
            require_same_table(self.store)
        return found

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(
        self,
        data: Rows,
        *,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> tuple[Snapshot, ...]:
        """Write rows in one commit. On a primary key table, they replace older rows with the same keys.

        An ``identifier`` of a ``commit_user`` is committed only once: a repeated call writes nothing and returns
        nothing. The identifiers of a user must increase. ``watermark`` is the event time in milliseconds up to which
        the table now holds all rows. A snapshot keeps the highest watermark so far.

        >>> rows = pa.table({"id": [4], "day": ["2026-01-02"], "state": ["new"], "amount": [40]})
        >>> [snapshot.id for snapshot in table.append(rows)]
        [3]

        Raises:
            InvalidData: a column or a value does not fit.
            SchemaChanged: a column does not fit, and the columns of the table have changed since it was loaded.
            ConflictError: another commit made this one impossible; nothing was committed, and no files are left.
            CommitOutcomeUnknown: the commit may have succeeded; repeat it with the same user and identifier.
        """
        CommitArguments.of(identifier, watermark, properties)
        facts = self.current_facts
        commit = BatchCommit(facts, commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        just_read = [facts]

        def write() -> Messages:
            # The first attempt begins with the schema that was just read. The commit checks it again in any case.
            now = just_read.pop() if just_read else self.current_facts
            return TableWrite(now, shared=False, commit_user=commit.commit_user).write(data)

        return write_and_commit(
            self.store,
            commit,
            write=write,
            publish=lambda messages: commit.commit(
                messages, identifier=identifier, watermark=watermark, properties=properties
            ),
            is_repeatable=is_repeatable(data),
            turns=WriterTurns.of(self.facts),
        )

    def overwrite(
        self,
        data: Rows,
        *,
        partition: Mapping[str, object] | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> tuple[Snapshot, ...]:
        """Replace rows in one commit: those of ``partition``, given by values of partition columns. The new rows may
        lack these columns. Without ``partition``, replace the partitions of the new rows, or all rows if the table
        has no partitions or ``dynamic-partition-overwrite`` is false. The other arguments are as for ``append``.

        >>> rows = pa.table({"id": [7], "state": ["new"], "amount": [70]})
        >>> [snapshot.commit_kind.value for snapshot in table.overwrite(rows, partition={"day": "2026-01-01"})]
        ['OVERWRITE']
        >>> sorted(table.scan().to_arrow()["id"].to_pylist())
        [3, 7]

        Raises:
            InvalidInputError: a row, or a value of ``partition``, does not fit.
            ConflictError, CommitOutcomeUnknown: as for ``append``.
        """
        CommitArguments.of(identifier, watermark, properties)
        facts = self.current_facts
        commit = BatchCommit(facts, commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        with facts.blaming_old_columns():
            spec = None if partition is None else written_partition(facts.schema, partition)

        def write() -> Messages:
            with facts.blaming_old_columns():
                rows = data if partition is None else rows_of_partition(data, facts.schema, partition)
            return TableWrite(facts, replacing=True, commit_user=commit.commit_user).write(rows)

        return write_and_commit(
            self.store,
            commit,
            write=write,
            publish=lambda messages: commit.overwrite(
                messages, partition=spec, identifier=identifier, watermark=watermark, properties=properties
            ),
            is_repeatable=is_repeatable(data),
            turns=WriterTurns.of(self.facts),
        )

    @reporting_drops
    def truncate(self) -> tuple[Snapshot, ...]:
        """Delete all rows, in one commit.

        >>> snapshots = table.truncate()
        >>> table.scan().count()
        0
        """
        facts = self.current_facts
        facts.require(Operation.WRITE)
        facts.require_changeable()
        snapshots = facts.committer(fresh_user(facts)).truncate()
        expire_after_commit(facts)
        return snapshots

    @reporting_drops
    def drop_partitions(self, partitions: Sequence[Mapping[str, object]]) -> tuple[Snapshot, ...]:
        """Delete all rows of some partitions in one commit. Give each by values of some or all partition columns.

        >>> snapshots = table.drop_partitions([{"day": "2026-01-01"}])
        >>> table.scan().to_arrow()["id"].to_pylist()
        [3]

        Raises:
            InvalidInputError: no partition is given, or one names other columns.
        """
        facts = self.current_facts
        facts.require(Operation.WRITE)
        facts.require_changeable()
        specs = [partition_spec(facts.schema, partition) for partition in mappings(partitions, "partitions")]
        snapshots = facts.committer(fresh_user(facts)).drop_partitions(specs)
        expire_after_commit(facts)
        return snapshots

    def new_write(self, commit_user: str | None = None, *, compactor: Executor | None = None) -> TableWrite:
        """Start the first phase of a write: it turns rows into files, and into messages for ``new_commit`` of the
        same user.

        With a ``compactor``, such as a thread pool, buckets are compacted in the background during a stream of
        writes. The results are in the messages of later writes or of ``finish``.

        >>> rows = pa.table({"id": [4], "day": ["2026-01-02"], "state": ["new"], "amount": [40]})
        >>> messages = table.new_write("job-7").write(rows)
        >>> [snapshot.id for snapshot in table.new_commit("job-7").commit(messages, identifier=1)]
        [3]
        """
        return TableWrite(self.current_facts, compactor=compactor, shared=False, commit_user=commit_user)

    def new_commit(self, commit_user: str | None = None) -> BatchCommit:
        """Start the second phase of a write, which makes messages visible. Without a user, it creates a new one.

        >>> commit = table.new_commit("job-7")
        >>> commit.is_committed(1)
        False
        """
        facts = self.current_facts
        facts.require_changeable()
        return BatchCommit(facts, commit_user)


def _columns(fields: Sequence[DataField]) -> list[tuple[int, str, DataType]]:
    return [(field.id, field.name, field.type) for field in fields]
