"""The local key index of cross-partition tables: the partition and bucket of each key.

Java stores it in RocksDB (``crosspartition.GlobalIndexAssigner``), key by key. Here it is a table of an embedded DuckDB
with the key columns themselves, and a join looks up a batch of rows. The index describes one snapshot of the table,
whose name it stores. Keys of uncommitted rows are in a separate temporary table. One transaction changes the keys and
the name of the snapshot.
"""

# ruff: noqa: S608 - statements contain only names and numbers of this module; keys are passed as Arrow columns

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from table_format.indexes.local_store import LocalStore, LocalStoreError, open_local_store
from table_format.kernels.key_moves import NOWHERE, Numbers
from table_format.model.bucket_id import BucketId

_VERSION: Final = 1
_BUCKET_BITS: Final = 16
_ROWS_AT_ONCE: Final = 200_000
_INTERRUPTED: Final = "Query interrupted"  # a RuntimeError of DuckDB for Ctrl-C, which Python does not raise any more


@dataclass(frozen=True, slots=True, eq=False)
class IndexedRows:
    """Keys in the files of one bucket, as columns of ``stored_key``.

    ``written_ms`` is the time of writing, in local time. ``snapshot`` and ``sequence`` order the rows of one key.
    ``is_retract`` marks the rows that remove the key; without it, no row does.
    """

    keys: Sequence[pa.Array]
    partition: bytes
    bucket: int
    written_ms: int
    snapshot: int = 0
    sequence: pa.Array | None = None
    is_retract: pa.Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KeyPlaces:
    """For each row of a batch: the first row with the same key, and the place of the key (``NOWHERE`` if it is new)."""

    key: Numbers
    partition: Numbers
    bucket: Numbers


class GlobalKeyIndex:
    """The places of all keys of a table at one snapshot, and of the keys that are being written after it."""

    def __init__(self, store: LocalStore, key_types: Sequence[pa.DataType], fitting: str) -> None:
        self._store = store
        self._con = store.connection
        self._types = tuple(key_types)
        self._fitting = f"{_VERSION}|{'|'.join(map(str, key_types))}|{fitting}"
        self._names = [f"k{i}" for i in range(len(key_types))]
        self._keys = ", ".join(self._names)
        self._partitions: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self.position: str | None = None
        with self._translated():
            self._load()
        self._finalizer = weakref.finalize(self, store.close)

    @classmethod
    def open(cls, directory: Path, name: str, key_types: Sequence[pa.DataType], fitting: str) -> GlobalKeyIndex:
        """Open the index with this name in a directory. An existing index is used only if it was built with
        ``fitting``.

        Raises:
            LocalStoreError: the directory cannot be used.
        """
        store = open_local_store(directory, name)
        try:
            return cls(store, key_types, fitting)
        except LocalStoreError:
            # The index is damaged, so it is rebuilt.
            store.discard()
        return cls(open_local_store(directory, name), key_types, fitting)

    def close(self) -> None:
        """Close the file, and forget the noted keys."""
        self._finalizer()

    def discard(self) -> None:
        """Close the file and delete it."""
        self._finalizer.detach()
        self._store.discard()

    # --- following the table ----------------------------------------------------------------------------------------

    def rebuild(self, rows: Iterable[IndexedRows], position: str) -> int:
        """Replace the index by all keys of the table. Return how many keys were in several places; the newest place
        counts.

        Raises:
            LocalStoreError: the local database failed, and its content is invalid.
        """
        self.position = None
        with self._transaction():
            self._run("DROP TABLE keys")
            self._create_keys()
            for batch in self._gathered(rows):
                self._insert("keys", batch, f"SELECT {self._keys}, place, written FROM incoming")
            doubled = self._drop_older()
            self._note_position(position)
        return doubled

    def advance(
        self,
        rows: Iterable[IndexedRows],
        cleared: Iterable[BucketId],
        position: str,
        *,
        drops_retracts: bool,
        with_age: bool,
    ) -> None:
        """Apply the changes of snapshots: first the ``cleared`` places lose all their keys, then rows are added.

        With ``drops_retracts``, a retract row removes its key. With ``with_age``, the time of the last write of a key
        is updated.

        Raises:
            LocalStoreError: the local database failed, and its content is invalid.
        """
        with self._transaction():
            self._run(
                f"CREATE OR REPLACE TEMP TABLE delta ({self._declared}, place BIGINT, written BIGINT, "
                "snapshot BIGINT, sequence BIGINT, retract BOOLEAN)"
            )
            for batch in self._gathered(rows):
                self._insert("delta", batch, "SELECT * FROM incoming")
            places = [self._place(partition, bucket) for partition, bucket in cleared]
            if places:
                self._run(f"DELETE FROM keys WHERE place IN ({', '.join(map(str, places))})")
            self._apply_delta(drops_retracts=drops_retracts, with_age=with_age)
            self._note_position(position)
            self._run("DROP TABLE delta")

    def forget_older(self, than_ms: int) -> None:
        """Forget keys that were last written before a time.

        Raises:
            LocalStoreError: the local database failed.
        """
        with self._translated():
            self._run(f"DELETE FROM keys WHERE written < {int(than_ms)}")

    # --- looking up -------------------------------------------------------------------------------------------------

    def counts(self) -> dict[int, dict[int, int]]:
        """Return the number of keys in each bucket of each partition.

        Raises:
            LocalStoreError: the local database failed.
        """
        with self._translated():
            found = self._con.execute("SELECT place, count(*) FROM keys GROUP BY place").fetchall()
        counts: dict[int, dict[int, int]] = {}
        for place, count in sorted(found):
            counts.setdefault(place >> _BUCKET_BITS, {})[place & ((1 << _BUCKET_BITS) - 1)] = count
        return counts

    def find(self, keys: Sequence[pa.Array]) -> KeyPlaces:
        """Return the places of the keys of rows. Noted places take precedence.

        Raises:
            LocalStoreError: the local database failed.
        """
        rows = pa.array(np.arange(len(keys[0])))
        batch = pa.table([*keys, rows], names=[*self._names, "number"])
        query = (
            f"SELECT b.number, min(b.number) OVER (PARTITION BY {self._of('b')}) AS first, "
            f"coalesce(n.place, k.place, {NOWHERE}) AS place FROM batch b "
            f"LEFT JOIN noted n ON {self._same('b', 'n')} LEFT JOIN keys k ON {self._same('b', 'k')} ORDER BY b.number"
        )
        with self._translated(), self._registered("batch", batch):
            found = self._con.sql(query).to_arrow_table()
        place = found.column("place").to_numpy()
        is_new = place == NOWHERE
        return KeyPlaces(
            key=found.column("first").to_numpy(),
            partition=np.where(is_new, NOWHERE, place >> _BUCKET_BITS),
            bucket=np.where(is_new, NOWHERE, place & ((1 << _BUCKET_BITS) - 1)),
        )

    def note(self, keys: Sequence[pa.Array], partitions: Numbers, buckets: Numbers) -> None:
        """Note the places of keys that are being written, until ``forget_noted``. Each key occurs once.

        Raises:
            LocalStoreError: the local database failed.
        """
        if not len(partitions):
            return
        places = pa.array((partitions << _BUCKET_BITS) | buckets)
        batch = pa.table([*keys, places], names=[*self._names, "place"])
        with self._translated(), self._registered("batch", batch):
            self._run(f"DELETE FROM noted n USING batch b WHERE {self._same('n', 'b')}")
            self._run("INSERT INTO noted SELECT * FROM batch")

    def forget_noted(self) -> None:
        """Forget the noted keys, so that only those of the snapshot are found."""
        with self._translated():
            self._run(f"CREATE OR REPLACE TEMP TABLE noted ({self._declared}, place BIGINT)")

    def number_of(self, partition: bytes) -> int:
        """Return the number of a partition in this index."""
        number = self._numbers.setdefault(partition, len(self._partitions))
        if number == len(self._partitions):
            self._partitions.append(partition)
        return number

    def partition(self, number: int) -> bytes:
        """Return the partition with this number."""
        return self._partitions[number]

    def content(self) -> dict[tuple[object, ...], BucketId]:
        """Return the partition and bucket of every key; for tests of small tables."""
        with self._translated():
            rows = self._con.execute(f"SELECT {self._keys}, place FROM keys").fetchall()
        mask = (1 << _BUCKET_BITS) - 1
        return {tuple(key): BucketId(self._partitions[place >> _BUCKET_BITS], place & mask) for *key, place in rows}

    # --- tables -----------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        self._run("CREATE TABLE IF NOT EXISTS state (name VARCHAR, value VARCHAR)")
        self._run("CREATE TABLE IF NOT EXISTS partitions (number BIGINT, value BLOB)")
        state = dict(self._con.execute("SELECT name, value FROM state").fetchall())
        if state.get("fitting") == self._fitting:
            self.position = state["position"]
            self._partitions = [
                row[0] for row in self._con.execute("SELECT value FROM partitions ORDER BY number").fetchall()
            ]
            self._numbers = {partition: number for number, partition in enumerate(self._partitions)}
        else:
            # This comes first: an index that is being emptied must not be taken for a complete one if it is opened
            # again.
            self._run("DELETE FROM state")
            self._create_keys()
        self.forget_noted()

    @property
    def _declared(self) -> str:
        return ", ".join(f"{n} {_sql_type(t)} NOT NULL" for n, t in zip(self._names, self._types, strict=True))

    def _create_keys(self) -> None:
        self._run(f"CREATE OR REPLACE TABLE keys ({self._declared}, place BIGINT NOT NULL, written BIGINT NOT NULL)")

    def _drop_older(self) -> int:
        """Keep the newest place of each key. Return how many keys had several."""
        doubled = self._con.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM keys GROUP BY {self._keys} HAVING count(*) > 1)"
        ).fetchall()[0][0]
        if doubled:
            self._run(
                "DELETE FROM keys WHERE rowid IN (SELECT id FROM (SELECT rowid AS id, row_number() OVER "
                f"(PARTITION BY {self._keys} ORDER BY written DESC, place DESC) AS age FROM keys) WHERE age > 1)"
            )
        return int(doubled)

    def _apply_delta(self, *, drops_retracts: bool, with_age: bool) -> None:
        # The last row of a key in a place decides.
        retract = "arg_max(retract, (snapshot, sequence))" if drops_retracts else "false"
        self._run(
            f"CREATE OR REPLACE TEMP TABLE said AS SELECT {self._keys}, place, {retract} AS retract, "
            f"max(snapshot) AS snapshot, max(written) AS written FROM delta GROUP BY {self._keys}, place"
        )
        self._run(
            f"CREATE OR REPLACE TEMP TABLE placed AS SELECT {self._keys}, arg_max(place, (snapshot, place)) AS place, "
            f"max(written) AS written FROM said WHERE NOT retract GROUP BY {self._keys}"
        )
        same = self._same("k", "s")
        self._run(f"DELETE FROM keys k USING said s WHERE s.retract AND {same} AND k.place = s.place")
        which = self._same("keys", "s") + ("" if with_age else " AND keys.place <> s.place")
        self._run(f"UPDATE keys SET place = s.place, written = s.written FROM placed s WHERE {which}")
        self._run(
            f"INSERT INTO keys SELECT {self._of('s')}, s.place, s.written FROM placed s "
            f"ANTI JOIN keys k ON {self._same('s', 'k')}"
        )
        self._run("DROP TABLE said")
        self._run("DROP TABLE placed")

    def _note_position(self, position: str) -> None:
        self._run("DELETE FROM state")
        self._con.execute(
            "INSERT INTO state VALUES ('fitting', $fitting), ('position', $position)",
            {"fitting": self._fitting, "position": position},
        )
        self._run("DELETE FROM partitions")
        table = pa.table(
            [pa.array(range(len(self._partitions)), pa.int64()), pa.array(self._partitions, pa.binary())],
            names=["number", "value"],
        )
        self._insert("partitions", table, "SELECT * FROM incoming")
        self.position = position

    def _gathered(self, rows: Iterable[IndexedRows]) -> Iterator[pa.Table]:
        waiting: list[pa.Table] = []
        count = 0
        for piece in rows:
            waiting.append(self._table(piece))
            count += waiting[-1].num_rows
            if count >= _ROWS_AT_ONCE:
                yield pa.concat_tables(waiting)
                waiting, count = [], 0
        if count:
            yield pa.concat_tables(waiting)

    def _table(self, rows: IndexedRows) -> pa.Table:
        count = len(rows.keys[0])
        columns = {
            **dict(zip(self._names, rows.keys, strict=True)),
            "place": _constant(self._place(rows.partition, rows.bucket), count),
            "written": _constant(rows.written_ms, count),
            "snapshot": _constant(rows.snapshot, count),
            "sequence": _constant(0, count) if rows.sequence is None else rows.sequence.cast(pa.int64()),
            "retract": pa.array(np.zeros(count, np.bool_)) if rows.is_retract is None else rows.is_retract,
        }
        return pa.table(columns)

    def _place(self, partition: bytes, bucket: int) -> int:
        return self.number_of(partition) << _BUCKET_BITS | bucket

    # --- statements -------------------------------------------------------------------------------------------------

    def _of(self, alias: str) -> str:
        return ", ".join(f"{alias}.{name}" for name in self._names)

    def _same(self, left: str, right: str) -> str:
        return " AND ".join(f"{left}.{name} = {right}.{name}" for name in self._names)

    def _run(self, statement: str) -> None:
        self._con.execute(statement)

    def _insert(self, target: str, rows: pa.Table, query: str) -> None:
        with self._registered("incoming", rows):
            self._run(f"INSERT INTO {target} {query}")

    @contextmanager
    def _registered(self, name: str, rows: pa.Table) -> Iterator[None]:
        self._con.register(name, rows)
        try:
            yield
        finally:
            self._con.unregister(name)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; after a failure only ``discard`` and ``close`` are of use."""
        with self._translated():
            self._con.begin()
            try:
                yield
                self._con.commit()
            except BaseException:
                self.position = None
                with suppress(duckdb.Error):  # a commit that fails has ended the transaction
                    self._con.rollback()
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            message = f"{self._store.path}: the local index of keys failed: {error}"
            raise LocalStoreError(message) from error
        except RuntimeError as error:
            if str(error) != _INTERRUPTED:
                raise
            raise KeyboardInterrupt from error


def _constant(value: int, count: int) -> pa.Array:
    return pa.array(np.full(count, value, np.int64))


def _sql_type(arrow: pa.DataType) -> str:
    if pa.types.is_decimal(arrow):
        return f"DECIMAL({arrow.precision}, {arrow.scale})"
    return _SQL_TYPES[arrow]


_SQL_TYPES: Final = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
}
