"""Random tables, made by one process: types, modes, histories, schema changes, vectors, and many files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import pyarrow as pa

from table_format import Schema, Table
from table_format.catalog.protocol import Catalog
from table_format.errors import TableFormatError
from table_format.model.arrow_types import arrow_type
from table_format.model.schema_change import AddColumn, AlterColumnType, DropColumn, RenameColumn
from table_format.model.types import (
    NESTED,
    BigIntType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from tests.queries.conditions import random_condition
from tests.queries.values import KEY_TYPES, PARTITION_TYPES, VALUE_TYPES, random_value

DATABASE: Final = "q"
DIVISOR: Final = "z"
"""A column whose value 0 no live row has in the end, if the table is ``clean``."""
TWIN: Final = "y"
"""A column that is never 0: what is said of both columns, Spark infers for ``DIVISOR``."""
_ODD_NAMES: Final = ("p.art", "ke`y", "va lue", "größe", "__bucket__", "c0", "__task__", "_tmp_metadata_row_index")
_MANY: Final = 210


@dataclass
class RandomTable:
    """A table and what is known of it."""

    name: str
    table: Table
    engine: str
    is_clean: bool = False
    """Whether only rows that are deleted or superseded have 0 in ``DIVISOR``."""
    starts: list[dict[str, str]] = field(default_factory=lambda: [{}])
    """Options of snapshots and tags that may be read."""
    seen: dict[str, list[Any]] = field(default_factory=dict)
    """Values that were written, by column."""
    history: set[str] = field(default_factory=set)
    """What happened to it, beside writes of rows."""


def random_table(catalog: Catalog, seed: str, name: str) -> RandomTable:
    """The table of a seed."""
    chance = Random(f"table {seed}")
    maker = _Maker(catalog, chance, name)
    return maker.make()


class _Maker:
    def __init__(self, catalog: Catalog, chance: Random, name: str) -> None:
        self._catalog = catalog
        self._chance = chance
        self._full_name = f"{DATABASE}.{name}"
        self._has_many_files = chance.random() < 0.06
        self._is_keyed = chance.random() < 0.7
        self._added = 0

    def make(self) -> RandomTable:
        fields, keys, partitions = self._columns()
        options = self._options(fields, keys)
        self._catalog.create_table(
            self._full_name,
            Schema(tuple(fields), primary_keys=tuple(keys), partition_keys=tuple(partitions), options=options),
        )
        self._found = RandomTable(self._full_name, self._table(), options.get("merge-engine", "none"))
        steps = self._chance.randrange(2, 7)
        for number in range(steps):
            self._step(number)
        self._clean()
        return self._found

    # --- what the table is

    def _columns(self) -> tuple[list[DataField], list[str], list[str]]:
        chance = self._chance
        names = [f"c{n}" if chance.random() < 0.2 else f"k{n}" for n in range(8)]
        types: list[tuple[str, DataType]] = []
        for name in names[: chance.choice((1, 1, 2))]:
            types.append((name, chance.choice(KEY_TYPES).with_nullable(not self._is_keyed)))
        keys = [name for name, _ in types] if self._is_keyed else []
        partitions: list[str] = []
        if self._has_many_files or chance.random() < 0.35:
            kind: DataType = IntType() if self._has_many_files else chance.choice(PARTITION_TYPES)
            types.append(("part", kind.with_nullable(not self._is_keyed)))
            partitions = ["part"]
            # Without the partition in its key a key may change its partition.
            if self._is_keyed and chance.random() < 0.85:
                keys.insert(0, "part")
        types += [(DIVISOR, IntType()), (TWIN, IntType())]
        types += [(f"v{n}", chance.choice(VALUE_TYPES)) for n in range(chance.randrange(1, 6))]
        if chance.random() < 0.5:
            types.append(("s", VarCharType()))
        if chance.random() < 0.15:
            taken = {name for name, _ in types}
            types.append(
                (chance.choice([name for name in _ODD_NAMES if name not in taken]), chance.choice(VALUE_TYPES))
            )
        chance.shuffle(types)
        return [DataField(n, name, kind) for n, (name, kind) in enumerate(types)], keys, partitions

    def _options(self, fields: Sequence[DataField], keys: Sequence[str]) -> dict[str, str]:
        chance = self._chance
        options = {"file.format": chance.choice(("parquet", "parquet", "parquet", "parquet", "orc", "avro"))}
        if self._has_many_files:
            options["file.format"] = "parquet"
        marked = chance.random() < (0.5 if self._has_many_files else 0.35)
        if not keys:
            if marked:
                options["deletion-vectors.enabled"] = "true"
            if chance.random() < 0.2:
                options |= {"bucket": "2", "bucket-key": DIVISOR}
            return options
        crosses = any(f.name == "part" for f in fields) and "part" not in keys
        options["bucket"] = "-1" if crosses else chance.choice(("1", "1", "2", "3", "-1"))
        engine = chance.choice(("deduplicate",) * 4 + ("partial-update", "aggregation", "first-row"))
        options["merge-engine"] = engine
        if engine == "first-row":
            return options | {"ignore-delete": "true", "changelog-producer": "lookup"}
        if engine in ("partial-update", "aggregation"):
            options["ignore-delete"] = "true"
        elif chance.random() < 0.3 and "s" not in keys and not crosses:
            options["sequence.field"] = DIVISOR
        if engine == "aggregation":
            options["fields.z.aggregate-function"] = chance.choice(("sum", "max", "last_value", "last_non_null_value"))
        if marked:
            options["deletion-vectors.enabled"] = "true"
        elif chance.random() < 0.6:
            options["write-only"] = "true"
        return options

    # --- what happens to it

    def _table(self) -> Table:
        found = self._catalog.load_table(self._full_name)
        assert isinstance(found, Table)
        return found

    def _step(self, number: int) -> None:
        chance, table = self._chance, self._table()
        choice = chance.random()
        if number == 0 or choice < 0.5:
            self._write(table)
        elif choice < 0.6:
            self._alter(table)
        elif choice < 0.72:
            self._attempt("compaction", lambda: table.compact(full=chance.random() < 0.7))
        elif choice < 0.9:
            plain = [f for f in table.schema.fields if not isinstance(f.type, NESTED)]
            found = random_condition(plain, self._found.seen, chance, 1).library
            self._attempt("delete by a condition", lambda: table.delete(found))
        else:
            tag = f"tag{number}"
            self._attempt("tag", lambda: table.create_tag(tag))
            self._found.starts.append({"scan.tag-name": tag})
        self._found.table = self._table()
        latest = self._found.table.latest_snapshot()
        if latest is not None:
            self._found.starts.append({"scan.snapshot-id": str(latest.id)})

    def _attempt(self, name: str, work: Callable[[], object]) -> None:
        """Some modes refuse some changes; that is a table without the change."""
        with suppress(TableFormatError):
            work()
            self._found.history.add(name)

    def _write(self, table: Table) -> None:
        chance = self._chance
        count = chance.choice((1, 3, 12, 30))
        rows = random_rows(table, count, chance, many=_MANY if self._has_many_files else 0, seen=self._found.seen)
        is_retractable = self._found.engine == "deduplicate"
        if is_retractable and chance.random() < 0.6:
            kinds = [chance.choice(("+I", "+U", "-D", "+I", "-U")) for _ in range(rows.num_rows)]
            rows = rows.append_column("_row_kind", pa.array(kinds))
            self._found.history |= {"rows -D or -U"} if {"-D", "-U"} & set(kinds) else set()
        if self._has_many_files:
            self._found.history.add("more than 200 files")
        if any(column.null_count for column in rows.columns):
            self._found.history.add("nulls")
        table.append(rows)

    def _alter(self, table: Table) -> None:
        chance = self._chance
        schema = table.schema
        fixed = {*schema.primary_keys, *schema.partition_keys, DIVISOR, TWIN, *schema.bucket_keys}
        free = [f for f in schema.fields if f.name not in fixed]
        self._added += 1
        kind = chance.choice(("add", "add", "rename", "widen", "drop"))
        changes: Sequence[Any] = [AddColumn(f"n{self._added}", chance.choice(VALUE_TYPES))]
        if free and kind == "rename":
            changes = [RenameColumn(chance.choice(free).name, f"r{self._added}")]
        elif len(free) > 1 and kind == "drop":
            name = chance.choice(free).name
            changes = [DropColumn(name)]
            if chance.random() < 0.5:
                # Another column of the same name is another column.
                changes = [*changes, AddColumn(name, chance.choice(VALUE_TYPES))]
        elif kind == "widen":
            wider = [(f.name, w) for f in free for w in _wider(f.type)]
            if wider:
                changes = [AlterColumnType(*chance.choice(wider))]
        names = {AddColumn: "added", RenameColumn: "renamed", DropColumn: "dropped", AlterColumnType: "widened"}
        name = f"a column {names[type(changes[0])]}"
        self._attempt(name, lambda: self._catalog.alter_table(self._full_name, changes))

    def _clean(self) -> None:
        """Leave no live row with 0 in ``DIVISOR``, where rows can be deleted or superseded."""
        if self._found.engine not in ("deduplicate", "none"):
            return
        table = self._table()
        try:
            if table.scan(filter=f"{DIVISOR} = 0").to_arrow().num_rows:
                table.delete(f"{DIVISOR} = 0")
            left = table.scan(filter=f"{DIVISOR} = 0").to_arrow().num_rows
        except TableFormatError:
            return
        self._found.is_clean = left == 0
        self._found.table = self._table()


def random_rows(
    table: Table, count: int, chance: Random, *, many: int = 0, seen: dict[str, list[Any]] | None = None
) -> pa.Table:
    """Rows of a table: keys from a small set, so that they meet again; ``many`` partitions, if not 0."""
    columns: dict[str, pa.Array] = {}
    for f in table.schema.fields:
        known = (seen or {}).get(f.name, [])
        if f.name == "part" and many:
            values: list[Any] = list(range(many))
        else:
            values = [_one(f, known, table.schema.primary_keys, chance) for _ in range(many or count)]
        columns[f.name] = pa.array(values, arrow_type(f.type))
        if seen is not None:
            seen[f.name] = [*known, *columns[f.name].to_pylist()][-60:]
    return pa.table(columns)


def _one(f: DataField, known: Sequence[Any], keys: Sequence[str], chance: Random) -> Any:
    if f.name == DIVISOR:
        return chance.choice((0, 0, 1, 2, 3, None))
    if f.name == TWIN:
        return chance.choice((1, 2, 3, None))
    if f.name in keys and known and chance.random() < 0.6:
        return chance.choice(known)
    return random_value(f.type, chance)


def _wider(data_type: DataType) -> Sequence[DataType]:
    match data_type:
        case IntegerType():
            return [t for t in (SmallIntType(), IntType(), BigIntType()) if t.bits > data_type.bits]
        case FloatType():
            return [DoubleType()]
        case DecimalType(precision=precision, scale=scale) if precision < 30:
            return [DecimalType(precision + 4, scale)]
        case VarCharType(length=length) if length < 100:
            return [VarCharType(100)]
        case TinyIntType():
            return [BigIntType()]
    return []
