"""A table, random steps on it, and what a reader of its changes must find: the rows of every snapshot, and its history.

A seed determines the table and its steps. The rows of each snapshot are read when it is made, before it can expire.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from table_format import Table
from table_format.errors import TableFormatError
from table_format.model.schema_change import AddColumn, DropColumn, RenameColumn
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.types import IntType
from tests.support.tables import Warehouse

COLUMNS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", pa.int32())]
)
PARTITIONS = ("a", "b", "c")
FUTURE = 1 << 60
NOW = {"retain_floor_ms": 0, "older_than_ms": FUTURE}

Row = tuple[tuple[int, Any], ...]
"""The values of a row by the ids of its columns."""


@dataclass(frozen=True)
class Shape:
    """The kind of a table."""

    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    options: Mapping[str, str]

    @property
    def engine(self) -> str:
        return self.options.get("merge-engine", "deduplicate")

    @property
    def producer(self) -> str:
        return self.options.get("changelog-producer", "none")

    @property
    def takes_deletes(self) -> bool:
        """Whether rows can be deleted one by one in a way that its stream shows."""
        return bool(self.keys) and self.engine == "deduplicate"

    @property
    def shows_overwrites(self) -> bool:
        return self.options.get("streaming-read-overwrite") == "true"


def drawn_shape(draw: random.Random, *, keyed: bool | None = None) -> Shape:
    """Draw a kind of table."""
    partitions = draw.choice(((), ("p",)))
    if not (draw.random() < 0.8 if keyed is None else keyed):
        options = {"bucket": "-1"} if draw.random() < 0.7 else {"bucket": "2", "bucket-key": "id"}
        marks = {"deletion-vectors.enabled": "true"} if draw.random() < 0.3 else {}
        return Shape((), partitions, {**options, **marks, **_retained(draw)})
    producer = draw.choice(("none", "input", "lookup", "lookup", "full-compaction"))
    engine = _engine(draw, producer)
    crosses = bool(partitions) and engine == "deduplicate" and draw.random() < 0.2
    bucket = "-1" if crosses else draw.choice(("1", "2", "2", "-1", "-2" if engine != "first-row" else "1"))
    options = {
        "bucket": bucket,
        "changelog-producer": producer,
        "num-sorted-run.compaction-trigger": str(draw.randrange(2, 5)),
        **_retained(draw),
    }
    if engine != "deduplicate":
        options["merge-engine"] = engine
    if engine == "aggregation":
        options |= {"fields.v.aggregate-function": "sum", "fields.default-aggregate-function": "last_non_null_value"}
    if draw.random() < 0.3 and bucket != "-2":
        options["write-only"] = "true"
    if draw.random() < 0.3 and engine != "first-row" and producer in ("none", "lookup"):
        options["deletion-vectors.enabled"] = "true"
    if producer in ("lookup", "full-compaction") and draw.random() < 0.3:
        options["changelog-producer.row-deduplicate"] = "true"
    if producer == "full-compaction" and draw.random() < 0.5 and bucket != "-2":
        options["full-compaction.delta-commits"] = "2"
    if producer in ("none", "input") and draw.random() < 0.6:
        options["streaming-read-overwrite"] = "true"
    return Shape(("id",) if crosses or not partitions else ("id", "p"), partitions, options)


def _engine(draw: random.Random, producer: str) -> str:
    match producer:
        case "lookup":
            return draw.choice(("deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"))
        case "full-compaction":
            return draw.choice(("deduplicate", "deduplicate", "partial-update", "aggregation"))
    return "deduplicate"


def _retained(draw: random.Random) -> dict[str, str]:
    """Sometimes keep changes longer than snapshots."""
    if draw.random() < 0.8:
        return {}
    return {"changelog.num-retained.min": "100", "changelog.num-retained.max": "100", "changelog.time-retained": "99 d"}


@dataclass(frozen=True)
class State:
    """A snapshot, and the rows that a scan of it returns. ``levels`` are those of its files."""

    snapshot: Snapshot
    rows: Mapping[Row, int]
    levels: frozenset[int]
    postponed: bool

    @property
    def may_hide_rows(self) -> bool:
        """Whether there may be rows that a scan does not show yet."""
        return self.postponed or 0 in self.levels

    @property
    def identity(self) -> str:
        return self.snapshot.delta_manifest_list


@dataclass
class History:
    """A table with its states by snapshot id: those of its present history, also of expired snapshots."""

    warehouse: Warehouse
    draw: random.Random
    shape: Shape
    name: str = "t"
    generation: int = 0
    states: dict[int, State] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    numbers: int = 0

    def __post_init__(self) -> None:
        self._create()

    def _create(self) -> None:
        self.warehouse.table(
            self.name,
            COLUMNS,
            primary_keys=self.shape.keys,
            partition_keys=self.shape.partitions,
            options=self.shape.options,
        )
        self.states = {}

    def opened(self, branch: str | None = None) -> Table:
        """The table as a new process opens it."""
        found = self.warehouse.catalog.load_table(f"db.{self.name}" + (f"$branch_{branch}" if branch else ""))
        assert isinstance(found, Table)
        return found

    @property
    def latest(self) -> State | None:
        return self.states[max(self.states)] if self.states else None

    # --- steps --------------------------------------------------------------------------------------------------------

    def step(self) -> str:
        """Do something to the table. Refusals by name are steps too."""
        steps = self._steps()
        [chosen] = self.draw.choices(list(steps), [weight for weight, _ in steps.values()])
        return self.do(chosen)

    def do(self, name: str) -> str:
        """Do one step by name."""
        try:
            done = self._steps()[name][1]()
            text = name if done is None else f"{name} {done}"
        except TableFormatError as error:
            text = f"{name} refused: {type(error).__name__}: {error}"
        self._look()
        ids = [s.id for s in self.opened().snapshots()]
        self.log.append(f"{text} -> {ids[0] if ids else 0}..{ids[-1] if ids else 0}")
        return text

    def _steps(self) -> dict[str, tuple[float, Callable[[], object]]]:
        """The steps that this kind of table has, with weights."""
        shape = self.shape
        steps: dict[str, tuple[float, Callable[[], object]]] = {
            "upsert": (8, lambda: self._upsert(self.opened())),
            "compact": (2, lambda: self._ids(self.opened().compact())),
            "compact in full": (2, lambda: self._ids(self.opened().compact(full=True))),
            "overwrite": (0.7, self._overwrite),
            "truncate": (0.3, lambda: self._ids(self.opened().truncate())),
            "expire": (2, self._expire),
            "expire changelogs": (0.3, self._expire_changelogs),
            "roll back": (1, self._roll_back),
            "tag": (1, self._tag),
            "roll back to tag": (0.7, self._roll_back_to_tag),
            "delete tag": (0.3, self._delete_tag),
            "fast-forward": (0.6, self._fast_forward),
            "alter": (0.7, self._alter),
            "analyze": (0.2, lambda: self._ids(self.opened().analyze())),
            "remove orphans": (0.2, self._remove_orphans),
            "create again": (0.2, self._create_again),
        }
        if shape.takes_deletes:
            steps["delete"] = (2, self._delete)
            steps["update"] = (1, self._update)
        if shape.partitions:
            steps["overwrite partition"] = (0.7, self._overwrite_partition)
            steps["drop partition"] = (0.4, self._drop_partition)
        if shape.options["bucket"] in ("1", "2") and shape.keys:
            steps["rescale"] = (0.2, lambda: self._ids(self.opened().rescale(self.draw.randrange(1, 4))))
        return steps

    def _ids(self, snapshots: tuple[Snapshot, ...]) -> list[str]:
        return [f"{s.id} {s.commit_kind.value}" for s in snapshots]

    def rows(self, table: Table, *, kinds: bool = True) -> pa.Table:
        """Some rows of the table."""
        if self.shape.keys:
            ids = [self.draw.randrange(12) for _ in range(self.draw.randrange(1, 7))]
        else:
            ids = [self.numbers + n for n in range(self.draw.randrange(1, 7))]
            self.numbers += len(ids)
        made: dict[str, pa.Array] = {}
        for column in table.arrow_schema:
            match column.name:
                case "id":
                    made["id"] = pa.array(ids, pa.int64())
                case "p":
                    made["p"] = pa.array([self.draw.choice(PARTITIONS) for _ in ids])
                case name:
                    values = [self.draw.choice((None, self.draw.randrange(5))) for _ in ids]
                    made[name] = pa.array(values, column.type)
        if kinds and self.shape.takes_deletes and self.draw.random() < 0.3:
            made["_row_kind"] = pa.array([self.draw.choice(("+I", "+U", "-D")) for _ in ids])
        return pa.table(made)

    def _upsert(self, table: Table) -> object:
        return self._ids(table.append(self.rows(table)))

    def _delete(self) -> object:
        chosen = sorted(self.draw.sample(range(12), 2))
        self.opened().delete(f"id in ({chosen[0]}, {chosen[1]})")
        return chosen

    def _update(self) -> object:
        table = self.opened()
        name = table.arrow_schema.names[-1]
        if name in ("id", "p"):
            return "nothing"
        number = self.draw.randrange(12)
        table.update({name: str(self.draw.randrange(5))}, f"id > {number}")
        return number

    def _overwrite(self) -> object:
        table = self.opened()
        return self._ids(table.overwrite(self.rows(table, kinds=False)))

    def _overwrite_partition(self) -> object:
        table = self.opened()
        rows = self.rows(table, kinds=False).drop_columns(["p"])
        return self._ids(table.overwrite(rows, partition={"p": self.draw.choice(PARTITIONS)}))

    def _drop_partition(self) -> object:
        return self._ids(self.opened().drop_partitions([{"p": self.draw.choice(PARTITIONS)}]))

    def _expire(self) -> object:
        retained = self.draw.randrange(1, 4)
        return self.opened().expire_snapshots(retain_min=1, retain_max=retained, **NOW).snapshot_ids

    def _expire_changelogs(self) -> object:
        retained = self.draw.randrange(1, 6)
        return self.opened().expire_changelogs(retain_min=1, retain_max=retained, older_than_ms=FUTURE).changelog_ids

    def _roll_back(self) -> object:
        table = self.opened()
        ids = [s.id for s in table.snapshots()]
        if not ids:
            return "nothing"
        target = self.draw.choice(ids[-4:])
        table.rollback_to(target)
        return target

    def _tag(self) -> object:
        table = self.opened()
        ids = [s.id for s in table.snapshots()]
        if not ids:
            return "nothing"
        tag = table.create_tag(f"t{self.draw.randrange(3)}", self.draw.choice(ids), ignore_if_exists=True)
        return tag.snapshot.id

    def _delete_tag(self) -> object:
        table = self.opened()
        names = sorted(table.tags())
        if names:
            table.delete_tag(self.draw.choice(names))
        return names

    def _roll_back_to_tag(self) -> object:
        table = self.opened()
        tags = table.tags()
        if not tags:
            return "nothing"
        name = self.draw.choice(sorted(tags))
        table.rollback_to(name)
        return tags[name].snapshot.id

    def _fast_forward(self) -> object:
        table = self.opened()
        tags = table.tags()
        if not tags:
            return "nothing"
        name = self.draw.choice(sorted(tags))
        table.create_branch("trial", tag=name)
        branch = self.opened("trial")
        for _ in range(self.draw.randrange(3)):
            self._upsert(branch)
        if self.draw.random() < 0.3:
            branch.compact(full=True)
        report = table.fast_forward("trial")
        self.opened().delete_branch("trial")
        return f"from {tags[name].snapshot.id}: {report.snapshot_ids}"

    def _alter(self) -> object:
        table = self.opened()
        others = [name for name in table.arrow_schema.names if name not in ("id", "p", "v")]
        kind = self.draw.random()
        self.numbers += 1
        if not others or kind < 0.4:
            change: Any = AddColumn(f"c{self.numbers}", IntType())
        elif kind < 0.7:
            change = RenameColumn(self.draw.choice(others), f"c{self.numbers}")
        else:
            change = DropColumn(self.draw.choice(others))
        self.warehouse.catalog.alter_table(f"db.{self.name}", [change])
        return change

    def _remove_orphans(self) -> object:
        return self.opened().remove_orphan_files(older_than_ms=FUTURE >> 8, nobody_else_writes=True).paths

    def _create_again(self) -> None:
        self.warehouse.catalog.drop_table(f"db.{self.name}")
        self._create()
        self.generation += 1

    # --- what a reader must find --------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Remember the rows of new snapshots, and forget what is no longer in the history."""
        table = self.opened()
        snapshots = table.snapshots()
        latest = snapshots[-1].id if snapshots else 0
        self.states = {number: state for number, state in self.states.items() if number <= latest}
        for snapshot in snapshots:
            known = self.states.get(snapshot.id)
            if known is None or known.identity != snapshot.delta_manifest_list:
                self.states[snapshot.id] = state_of(table, snapshot)

    def is_overwrite(self, snapshot_id: int) -> bool:
        return self.states[snapshot_id].snapshot.commit_kind is CommitKind.OVERWRITE


def state_of(table: Table, snapshot: Snapshot) -> State:
    """The rows of a snapshot, by the ids of their columns."""
    rows = table.scan(options={"scan.snapshot-id": str(snapshot.id)}).to_arrow(threads=1)
    fields = {f.name: f.id for f in table.facts.schemas[snapshot.schema_id].fields}
    entries = table.facts.live_files(snapshot).entries
    return State(
        snapshot,
        counted_rows(rows, fields),
        frozenset(e.file.level for e in entries if e.bucket != -2),
        any(e.bucket == -2 for e in entries),
    )


def counted_rows(rows: pa.Table, fields: Mapping[str, int]) -> dict[Row, int]:
    """How often each row occurs."""
    found: dict[Row, int] = {}
    for row in rows_by_id(rows, fields):
        found[row] = found.get(row, 0) + 1
    return found


def rows_by_id(rows: pa.Table, fields: Mapping[str, int]) -> list[Row]:
    """The rows with the ids of their columns, ascending."""
    named = sorted(
        (fields[name], column.to_pylist()) for name, column in zip(rows.column_names, rows.columns, strict=True)
    )
    ids = [number for number, _ in named]
    return [tuple(zip(ids, values, strict=True)) for values in zip(*(column for _, column in named), strict=True)]
