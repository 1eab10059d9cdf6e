"""Random histories of one table in which each step is ours or the real Paimon's, and what both must read of them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Catalog, Schema, Table, load_catalog
from table_format.model.schema_change import SetOption
from table_format.options.stream import ChangelogProducer
from table_format.table.system.table import SystemTable
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.peer import PaimonPeer
from tests.oracle.pypaimon_peer import PyPaimonPeer
from tests.oracle.test_incremental import expected_plans, streamed
from tests.support.dynamic_buckets import assert_sound
from tests.support.json_rows import json_rows, sorted_rows

SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("pt", pa.string(), nullable=False),
        pa.field("seq", pa.int32()),
        pa.field("v", pa.string()),
    ]
)
KINDS = ("+I", "+I", "+I", "+U", "-U", "-D")
NAME = "db.t"
STEPS = 7
KEYS = 14
_SHARE_OF_PYPAIMON = 1 / 3

Row = list[Any]
Change = list[Any]
"""A kind and a row."""


@dataclass(frozen=True)
class Mode:
    """Options of a table, the row kinds it takes, and options that one step may switch it to.

    ``follows_order`` says that the last row of a key wins, so that the state is known without asking anybody; ``tells``
    that the changelog names each row that it takes back, and none that is not there. ``is_newer`` means that 0.9 does
    not have the options or fails with them, ``takes_three`` that pypaimon has them.
    """

    options: dict[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = KINDS
    switches: tuple[dict[str, str], ...] = ()
    follows_order: bool = True
    tells: bool = False
    is_newer: bool = False
    takes_three: bool = True


@dataclass
class History:
    """One table under way. ``steps`` say how it came about."""

    paimon: PaimonPeer
    warehouse: Path | str
    mode: Mode
    chance: random.Random
    steps: list[str] = field(default_factory=list)
    state: dict[tuple[int, str], Row] = field(default_factory=dict)
    told: dict[int, list[Row]] = field(default_factory=dict)
    is_switched: bool = False
    has_unseen_rows: bool = False
    pypaimon: PyPaimonPeer | None = None
    """A third writer, of every third write; it adds rows and compacts nothing."""
    compared: int = 0
    """Snapshots at the end that both read equally."""
    have_they_committed: bool = False
    handed_over: int = 0
    """Commits of the third writer."""

    def run(self) -> None:
        """All steps, with a comparison at the end and before anything is forgotten."""
        self._create()
        switch_at = self.chance.randrange(2, STEPS + 3) if self.mode.switches else STEPS
        for number in range(STEPS):
            if number == switch_at:
                self._switch(self.chance.choice(self.mode.switches))
            else:
                self._step()
        self._compact(full=True)
        self.compared = self._compare()
        self._check_laws()
        third = self._third_writer
        if third is not None:
            theirs = sorted_rows(third.read(self.warehouse, NAME))
            assert theirs == sorted_rows(_rows_of(self._table())), "pypaimon reads other rows"

    # --- steps ------------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        is_partitioned = self.chance.random() < 0.25
        options = {
            "bucket": self.chance.choice("112"),
            "num-sorted-run.compaction-trigger": self.chance.choice("2345"),
            **self.mode.options,
        }
        keys, partition_keys = (["k", "pt"], ["pt"]) if is_partitioned else (["k"], [])
        self.is_partitioned = is_partitioned
        self.steps.append(f"create {options} {partition_keys}")
        catalog = self._catalog()
        catalog.create_database("db", ignore_if_exists=True)
        if self._is_ours() and "deletion-vectors.modifiable" not in options:
            catalog.create_table(NAME, Schema.from_arrow(SCHEMA, keys, partition_keys, options))
            return
        columns = [["k", "BIGINT NOT NULL"], ["pt", "STRING NOT NULL"], ["seq", "INT"], ["v", "STRING"]]
        self.paimon.create_table(
            self.warehouse, NAME, columns=columns, primary_keys=keys, partition_keys=partition_keys, options=options
        )

    def _step(self) -> None:
        drawn = self.chance.random()
        if drawn < 0.55:
            self._write()
        elif drawn < 0.65:
            self._write(write_only=True)
        elif drawn < 0.8:
            self._compact(full=self.chance.random() < 0.5)
        elif drawn < 0.9 and len(self.steps) > 3:
            self._expire()
        else:
            self._write()

    def _write(self, *, write_only: bool = False) -> None:
        rows = self._rows()
        third = self._third_writer
        if third is not None and self.chance.random() < _SHARE_OF_PYPAIMON:
            self._write_by(third, [["+I", row] for _, row in rows])
            return
        ours = self._is_ours()
        self.has_unseen_rows = write_only or self.has_unseen_rows
        options = {"write-only": "true"} if write_only else {}
        self.steps.append(f"{_who(ours)} write{' only' if write_only else ''} {rows}")
        if ours:
            self._table().copy(options).append(as_table(rows))
        else:
            self.paimon.write(self.warehouse, NAME, rows, **options)
            self.have_they_committed = True
        self._note(rows)

    def _write_by(self, pypaimon: PyPaimonPeer, rows: list[Change]) -> None:
        self.steps.append(f"pypaimon writes {rows}")
        self.has_unseen_rows = True
        self.handed_over += 1
        pypaimon.write(self.warehouse, NAME, [row for _, row in rows])
        self._note(rows)

    def _note(self, rows: list[Change]) -> None:
        for kind, row in rows:
            key = (row[0], row[1] if self.is_partitioned else "")
            self.state.pop(key, None)
            if kind in ("+I", "+U"):
                self.state[key] = row
        if self._is_dynamic:
            assert_sound(self._table())

    def _compact(self, *, full: bool) -> None:
        ours = self._is_ours()
        self.steps.append(f"{_who(ours)} compact{' in full' if full else ''}")
        if ours:
            self._table().compact(full=full)
        else:
            self.paimon.compact(self.warehouse, NAME, full=full)
            self.have_they_committed = True

    def _expire(self) -> None:
        self._compare()
        ours, kept = self._is_ours(), self.chance.randrange(1, 5)
        self.steps.append(f"{_who(ours)} expire down to {kept}")
        if ours:
            self._table().expire_snapshots(retain_max=kept, retain_min=1, retain_floor_ms=0)
        else:
            self.paimon.history(self.warehouse, NAME, "expire", kept)

    def _switch(self, options: dict[str, str]) -> None:
        self._compact(full=True)
        ours = self._is_ours() and "deletion-vectors.enabled" not in options
        self.steps.append(f"{_who(ours)} switch to {options}")
        if ours:
            changes = [SetOption(key, value) for key, value in options.items()]
            self._catalog().alter_table(NAME, changes)
        else:
            self.paimon.alter_options(self.warehouse, NAME, options)
        self.is_switched = True

    # --- what must hold ---------------------------------------------------------------------------------------------

    def _compare(self) -> int:
        """Both read the same rows of every snapshot, and the same changes from the first one on."""
        table = self._table()
        ids = [snapshot.id for snapshot in table.snapshots()]
        if not ids:
            return 0
        options = {"scan.mode": "from-snapshot", "scan.snapshot-id": str(ids[0])}
        changes = streamed(table, options)
        assert changes == self._expected_changes(table, options)
        self.told.update(changes)
        # 0.9 merges the changes of a range by key; 1.4 leaves level 0 out, which is all that deltas are (2.x does not).
        hides_deltas = table.options.skips_level_0 and table.options.stream.changelog_producer is ChangelogProducer.NONE
        if not (self.paimon.version.startswith("0.") or hides_deltas):
            self._compare_logs(table, ids[0], ids[-1])
        return assert_same_at_every_snapshot(self.paimon, self.warehouse, NAME)

    def _expected_changes(self, table: Table, options: dict[str, str]) -> dict[int, Any]:
        """What Paimon reads of each snapshot by the producer of its schema; it takes the latest producer for all."""
        producers = {snapshot.id: self._producer_of(table, snapshot.schema_id) for snapshot in table.snapshots()}
        found = {
            producer: expected_plans(self.paimon, self.warehouse, NAME, {**options, "changelog-producer": producer})
            for producer in set(producers.values())
        }
        return {number: found[by][number] for number, by in producers.items() if number in found[by]}

    @staticmethod
    def _producer_of(table: Table, schema_id: int) -> str:
        return str(table.facts.schemas[schema_id].options.get("changelog-producer", ChangelogProducer.NONE))

    def _compare_logs(self, table: Table, first: int, last: int) -> None:
        options = {"incremental-between": f"{first},{last}"}
        if self.is_switched:
            by_delta = table.options.stream.changelog_producer is ChangelogProducer.NONE
            options["incremental-between-scan-mode"] = "delta" if by_delta else "changelog"
        log = self._catalog().load_table(f"{NAME}$audit_log")
        assert isinstance(log, SystemTable)
        theirs = self.paimon.changes(self.warehouse, f"{NAME}$audit_log", options)
        found = json_rows(log.scan(options=options).to_arrow(), log.fields)
        assert found == sorted_rows([values for _, values in theirs]), f"audit log {options}"

    def _check_laws(self) -> None:
        """After a full compaction: the state is that of the rows in their order, and the changelog leads to it."""
        table = self._table()
        found = {self._key(row): row for row in _rows_of(table)}
        if self.mode.follows_order:
            assert found == self.state
        if self.is_switched:
            return
        folded: dict[tuple[int, str], Row] = {}
        for snapshot_id in sorted(self.told):
            for kind, *row in sorted(self.told[snapshot_id], key=_takes_back_first):
                key = self._key(row)
                if kind in ("+I", "+U"):
                    assert not (self.mode.tells and key in folded), f"snapshot {snapshot_id} adds {row} twice"
                    folded[key] = row
                else:
                    before = folded.pop(key, None)
                    assert not self.mode.tells or before == row, f"snapshot {snapshot_id} takes back {row}: {before}"
        if self.mode.tells:
            assert folded == found

    def _key(self, row: Row) -> tuple[int, str]:
        return (row[0], row[1] if self.is_partitioned else "")

    # --- material ---------------------------------------------------------------------------------------------------

    @property
    def _third_writer(self) -> PyPaimonPeer | None:
        """pypaimon, which fails on the manifests of Paimon 0.9 (KeyError: '_VALUE_STATS_COLS')."""
        is_shut_out = self.have_they_committed and self.paimon.version.startswith("0.")
        return None if is_shut_out else self.pypaimon

    def _is_ours(self) -> bool:
        return self.chance.random() < 0.5

    @property
    def _is_dynamic(self) -> bool:
        return self.mode.options.get("bucket") == "-1"

    def _catalog(self) -> Catalog:
        return load_catalog({"warehouse": str(self.warehouse), **self.paimon.catalog_options})

    def _table(self) -> Table:
        table = self._catalog().load_table(NAME)
        assert isinstance(table, Table)
        return table

    def _rows(self) -> list[Change]:
        keys = self.chance.choices(range(KEYS), k=self.chance.randrange(1, 9))
        number = len(self.steps)
        return [
            [
                self.chance.choice(self.mode.kinds),
                [k, self.chance.choice("ab"), self.chance.choice((None, self.chance.randrange(5))), f"{number}.{at}"],
            ]
            for at, k in enumerate(keys)
        ]


def as_table(rows: Iterable[Change]) -> pa.Table:
    """Changes as rows with ``_row_kind``."""
    kinds, values = zip(*rows, strict=True)
    arrays = [pa.array(column, f.type) for column, f in zip(zip(*values, strict=True), SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA).append_column("_row_kind", pa.array(kinds))


def _rows_of(table: Table) -> list[Row]:
    return [list(row.values()) for row in table.scan().to_arrow().to_pylist()]


def _takes_back_first(change: Row) -> bool:
    return not change[0].startswith("-")


def _who(ours: bool) -> str:
    return "we" if ours else "they"
