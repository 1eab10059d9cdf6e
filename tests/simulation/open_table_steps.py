"""Steps that change the table beside open writes."""

from __future__ import annotations

from typing import Any

from table_format import Table
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
)
from table_format.model.types import BigIntType, IntType
from tests.simulation.open_history import FUTURE, Effect, OpenHistory
from tests.simulation.open_tables import ID, PARTITIONS, P, Row, Rows, V, arrow_of
from tests.simulation.world import Violation
from tests.support.compaction import HOUR_MS


class TableSteps(OpenHistory):
    """What others do to the table."""

    def append(self, branch: str | None) -> object:
        table = self.opened(branch)
        rows = self.source.rows(self.kind, table.schema, self.seen(branch))
        effect = Effect(rows)
        snapshots = table.append(arrow_of(self.kind, table.schema, table.arrow_schema, rows))
        if not self.look(effect, branch) and self.kind.engine != "first-row":
            raise Violation(f"W2 an append made no snapshot: {snapshots}")
        return [row.number for row in rows]

    def delete(self) -> object:
        table = self.opened()
        if self.shows_less(table):
            return "nothing"
        keys = self.draw.sample(range(self.source.keys), 2)
        if self.kind.engine == "append":
            effect = Effect(removes=lambda row: row.values[ID] in keys)
        else:
            rows = []
            for values in table.scan(filter=f"id in ({keys[0]}, {keys[1]})").to_arrow().to_pylist():
                self.source.made += 1
                ids = {f.name: f.id for f in table.schema.fields}
                rows.append(Row(self.source.made, {ids[n]: v for n, v in values.items()}, True, self.seen()))
            effect = Effect(tuple(rows))
        table.delete(f"id in ({keys[0]}, {keys[1]})")
        self.look(effect)
        return keys

    def overwrite(self) -> object:
        table = self.opened()
        rows = tuple(r for r in self.source.rows(self.kind, table.schema, frozenset()) if not r.is_delete)
        options = {"dynamic-partition-overwrite": "false"}
        table.copy(options).overwrite(self.without_kinds(table, rows))
        self.look(Effect(rows, lambda _: True))
        return [row.number for row in rows]

    def without_kinds(self, table: Table, rows: Rows) -> Any:
        data = arrow_of(self.kind, table.schema, table.arrow_schema, rows)
        return data.drop_columns(["_row_kind"]) if "_row_kind" in data.column_names else data

    def overwrite_partition(self) -> object:
        table = self.opened()
        rows = tuple(r for r in self.source.rows(self.kind, table.schema, frozenset()) if not r.is_delete)
        touched = {row.values[P] for row in rows}
        table.overwrite(self.without_kinds(table, rows))
        self.look(Effect(rows, lambda row: row.values[P] in touched))
        return sorted(touched)

    def drop_partition(self) -> object:
        value = self.draw.choice(PARTITIONS)
        if self.kind.crosses:
            # Only a read says in which partition a key is.
            table = self.opened()
            left = {row["id"] for row in self.compacted().scan().to_arrow().to_pylist() if row["p"] == value}
            table.drop_partitions([{"p": value}])
            self.look(Effect(removes=lambda row: row.values[ID] in left))
        else:
            self.simple(lambda t: t.drop_partitions([{"p": value}]), Effect(removes=lambda row: row.values[P] == value))
        return value

    def expire(self) -> object:
        retained = self.draw.randrange(1, 4)
        table = self.opened()
        return table.expire_snapshots(
            retain_min=1, retain_max=retained, retain_floor_ms=0, older_than_ms=FUTURE
        ).snapshot_ids

    def target(self, table: Table) -> Any:
        choices: list[Any] = [s.id for s in table.snapshots()][-5:] + sorted(table.tags())
        return self.draw.choice(choices) if choices else None

    def roll_back(self) -> object:
        table = self.opened()
        target = self.target(table)
        if target is not None:
            table.rollback_to(target)
            self.look(None)
        return target

    def tag(self) -> object:
        table = self.opened()
        ids = [s.id for s in table.snapshots()]
        if not ids:
            return "nothing"
        return table.create_tag(f"t{self.draw.randrange(3)}", self.draw.choice(ids), ignore_if_exists=True).snapshot.id

    def delete_tag(self) -> object:
        table = self.opened()
        names = sorted(table.tags())
        if names:
            table.delete_tag(self.draw.choice(names))
        return names

    def branch(self) -> object:
        """Create a branch, or write to it, or delete it."""
        table = self.opened()
        names = sorted(table.branches())
        if not names:
            if not table.tags():
                self.tag()
            target = self.draw.choice([None, *table.tags()])
            table.create_branch("b", tag=target)
            self.latest.pop("b", None)
            self.look(None, "b")
            return f"created from {target}"
        if self.draw.random() < 0.3:
            table.delete_branch("b")
            return "deleted"
        if self.draw.random() < 0.3:
            self.simple(lambda t: t.compact(full=True), branch="b")
            return "compacted"
        return self.append("b")

    def expire_partitions(self) -> object:
        """Drop the partitions in which nothing has changed for a while."""
        age_ms = self.draw.choice((1, 60_000, 2 * HOUR_MS))
        report = self.opened().expire_partitions(expiration_time_ms=age_ms, strategy="update-time")
        gone = {partition.spec["p"] for partition in report.partitions}
        self.look(Effect(removes=lambda row: row.values[P] in gone))
        return sorted(map(str, gone))

    def fast_forward(self) -> object:
        table = self.opened()
        if not table.branches():
            return "nothing"
        self.coverage["other schemas"] += SchemaStore(table.store).all() != SchemaStore(self.opened("b").store).all()
        report = table.fast_forward("b")
        self.look(None)
        return report.snapshot_ids

    def alter(self) -> object:
        """Alter the table or its branch."""
        branch = "b" if self.opened().branches() and self.draw.random() < 0.4 else None
        table = self.opened(branch)
        name = str(table.identifier)
        fields = {f.id: f for f in table.schema.fields}
        free = [f for f in fields.values() if f.id not in self.kind.kept and f.id != V] + (
            [fields[V]] if V in fields and self.kind.engine in ("append", "aggregation", "deduplicate") else []
        )
        names = {f.name for f in fields.values()}
        spare = [name for name in ("v", "c1", "c2", "c3") if name not in names]
        changes: list[SchemaChange] = [self.option_change(table)]
        if spare:
            changes.append(AddColumn(self.draw.choice(spare), self.draw.choice((IntType(), BigIntType()))))
        if free:
            changes.append(DropColumn(self.draw.choice(free).name))
            if spare:
                changes.append(RenameColumn(self.draw.choice(free).name, self.draw.choice(spare)))
            narrow = [f for f in free if isinstance(f.type, IntType)]
            if narrow:
                changes.append(AlterColumnType(self.draw.choice(narrow).name, BigIntType()))
            if len(free) > 1:
                one, two = self.draw.sample(free, 2)
                swap = [RenameColumn(one.name, "x"), RenameColumn(two.name, one.name), RenameColumn("x", two.name)]
                if self.draw.random() < 0.3:
                    self.catalog.alter_table(name, swap)
                    return swap
        change = self.draw.choice(changes)
        self.catalog.alter_table(name, [change])
        return f"{branch or 'main'}: {change}"

    def option_change(self, table: Table) -> SchemaChange:
        changes: list[SchemaChange] = [
            SetOption("target-file-size", self.draw.choice(("1 b", "128 mb"))),
            SetOption("file.format", self.draw.choice(("parquet", "orc", "avro"))),
            SetOption("snapshot.num-retained.max", "3"),
            SetOption("snapshot.num-retained.min", "1"),
            SetOption("snapshot.time-retained", self.draw.choice(("1 s", "1 h"))),
            SetOption("write-only", self.draw.choice(("true", "false"))),
            SetOption("metadata.stats-mode", self.draw.choice(("none", "full"))),
            SetOption("manifest.merge-min-count", "2"),
            RemoveOption("snapshot.num-retained.max"),
        ]
        if self.kind.keys:
            changes.append(SetOption("num-sorted-run.compaction-trigger", str(self.draw.randrange(2, 6))))
            changes.append(SetOption("compaction.max-size-amplification-percent", "50"))
        if self.kind.is_fixed:
            changes += [SetOption("bucket", str(self.draw.randrange(1, 4)))] * 3
        if self.kind.keys and self.kind.engine != "first-row" and self.kind.producer != "full-compaction":
            changes += [SetOption("deletion-vectors.enabled", self.draw.choice(("true", "false")))] * 2
        return self.draw.choice(changes)

    def remove_orphans(self) -> object:
        return self.opened().remove_orphan_files().paths
