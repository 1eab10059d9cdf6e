"""Random tables with file indexes that we and the real Paimon write in turn, and what both read and leave out.

Which files the real Paimon opens shows when a file is not there.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Table, load_catalog
from table_format.model.arrow_types import arrow_schema
from table_format.model.manifest import ManifestEntry
from table_format.model.schema_change import RemoveOption, SetOption
from tests.oracle.peer import PaimonPeer, PeerError
from tests.support.deletion_marks import live
from tests.support.json_rows import json_rows, rows_with_floats

NAME = "db.t"
UNREAD = {"file-index.read.enabled": "false"}
Row = list[Any]
Json = list[Any]

ALL = ("bloom-filter", "bitmap", "bsi", "range-bitmap")
NUMBERS = ALL
TEXTS = ("bloom-filter", "bitmap", "range-bitmap")
TYPES: dict[str, tuple[str, ...]] = {
    "TINYINT": NUMBERS,
    "SMALLINT": NUMBERS,
    "INT": NUMBERS,
    "BIGINT": NUMBERS,
    "DATE": NUMBERS,
    "TIME(3)": NUMBERS,
    "TIMESTAMP(0)": NUMBERS,
    "TIMESTAMP(3)": NUMBERS,
    "TIMESTAMP(6)": NUMBERS,
    "TIMESTAMP_LTZ(3)": NUMBERS,
    "TIMESTAMP_LTZ(6)": NUMBERS,
    "STRING": TEXTS,
    "VARCHAR(30)": TEXTS,
    "FLOAT": TEXTS,
    "DOUBLE": TEXTS,
    "BOOLEAN": ("bitmap", "range-bitmap"),
    "DECIMAL(12, 2)": ("bsi", "range-bitmap"),
    "VARBINARY(20)": ("bloom-filter",),
}
"""The types of columns, and the indexes that they can have."""
OF_0_9 = {"bloom-filter": set(TYPES), "bitmap": set(TYPES) - {"FLOAT", "DOUBLE", "BOOLEAN"}}

NOT_COMPARED_BY_0_9 = {"TINYINT", "SMALLINT"}
"""Its Parquet reader fails with such conditions, also without indexes."""

RANGES = ("<", "<=", ">", ">=")
POINTS = ("=", "IN")
NEGATIVES = ("<>", "NOT IN")
NULLS = ("IS NULL", "IS NOT NULL")
OF_JAVA = {
    "bloom-filter": {*POINTS},
    "bitmap": {*POINTS, *NULLS},
    "bsi": {*POINTS, *NEGATIVES, *NULLS, *RANGES},
    "range-bitmap": {*POINTS, *NEGATIVES, *NULLS, *RANGES},
}
"""The conditions with which the real Paimon leaves out each file that it can; bitmaps keep null for <> and NOT IN."""
OF_OURS = {**OF_JAVA, "bitmap": {*POINTS, *NULLS, *NEGATIVES, *RANGES}}


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass
class HandOver:
    """One table under way. ``steps`` say how it came about, ``counts`` what was compared."""

    paimon: PaimonPeer
    warehouse: Path
    chance: random.Random
    steps: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, conditions: int = 6) -> None:
        self._create()
        for _ in range(self.chance.randrange(3, 6)):
            self._write()
        if self.is_keyed:
            self._compact()
        elif self.chance.random() < 0.3:
            self._rewrite_indexes()
        self._compare_all()
        for number in range(conditions):
            self._compare(self._condition(), opens_each=number < 2)

    # --- the table --------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        chance = self.chance
        self.is_old = self.paimon.version.startswith("0.")
        types = chance.sample([t for t in TYPES if not self.is_old or any(t in of for of in OF_0_9.values())], 4)
        self.columns = [Column("k", "INT"), *(Column(f"c{n}", data_type) for n, data_type in enumerate(types))]
        self.is_keyed = not self.is_old and chance.random() < 0.3
        self.pools = {column.name: [self._value(column.type) for _ in range(12)] for column in self.columns}
        self.indexes: dict[str, tuple[str, ...]] = {}
        options = {
            "metadata.stats-mode": "none",
            "file.format": chance.choice(("parquet", "parquet", "orc", "avro")),
            "file-index.in-manifest-threshold": chance.choice(("1 b", "500 b", "1 mb")),
            **self._declared(),
        }
        if self.is_keyed:
            options |= {"bucket": "1", "deletion-vectors.enabled": "true", "target-file-size": "1 b"}
        else:
            options |= {"bucket": "-1", "write-only": "true"}
        self.steps.append(f"create {self.columns} {options}")
        load_catalog({"warehouse": str(self.warehouse)}).create_database("db", ignore_if_exists=True)
        columns = [[c.name, c.type + (" NOT NULL" if c.name == "k" else "")] for c in self.columns]
        keys = ["k"] if self.is_keyed else []
        self.paimon.create_table(
            self.warehouse, NAME, columns=columns, primary_keys=keys, partition_keys=[], options=options
        )

    def _declared(self) -> dict[str, str]:
        """Indexes of the columns, with random settings."""
        chance, options = self.chance, {}
        self.indexes = {}
        by_type: dict[str, list[str]] = {}
        for column in self.columns:
            possible = [i for i in TYPES[column.type] if not self.is_old or column.type in OF_0_9.get(i, ())]
            # Version 0.9 makes one index of a column.
            most = min(len(possible), 1 if self.is_old else 2)
            chosen = chance.sample(possible, chance.randrange(1 if column.name == "c0" and most else 0, most + 1))
            self.indexes[column.name] = tuple(chosen)
            for index in chosen:
                by_type.setdefault(index, []).append(column.name)
                options |= self._settings(f"file-index.{index}.{column.name}", index)
        return options | {f"file-index.{index}.columns": ",".join(names) for index, names in by_type.items()}

    def _settings(self, prefix: str, index: str) -> dict[str, str]:
        chance = self.chance
        match index:
            case "bloom-filter":
                return {
                    f"{prefix}.items": chance.choice(("20", "200")),
                    f"{prefix}.fpp": chance.choice(("0.1", "0.001")),
                }
            case "bitmap":
                version = "1" if self.is_old else chance.choice("12")
                size = chance.choice(("40 b", "16 kb"))
                blocks = {f"{prefix}.index-block-size": size} if version == "2" else {}
                return {f"{prefix}.version": version, **blocks}
            case "range-bitmap":
                return {f"{prefix}.chunk-size": chance.choice(("0 b", "40 b", "16 kb"))}
        return {}

    def _value(self, data_type: str) -> Any:
        """A value as JSON has it."""
        chance, n = self.chance, self.chance.randrange(-120, 120)
        moment = datetime.fromtimestamp(chance.randrange(2 * 10**9), UTC).replace(tzinfo=None).isoformat()
        match data_type.partition("(")[0]:
            case "TINYINT" | "SMALLINT" | "INT":
                return n
            case "BIGINT":
                return n * chance.choice((1, 10**12))
            case "FLOAT" | "DOUBLE":
                return n / 8
            case "BOOLEAN":
                return n > 0
            case "DECIMAL":
                return f"{n}.{chance.choice(('00', '25', '99'))}"
            case "DATE":
                return moment[:10]
            case "TIME":
                return f"{n % 24:02}:{n % 60:02}:01.{n % 999:03}"
            case "VARBINARY":
                return f"{n % 256:02x}" * (n % 5 + 1)
            case "TIMESTAMP" | "TIMESTAMP_LTZ":
                digits = int(data_type.partition("(")[2][0])
                zone = "Z" if "LTZ" in data_type else ""
                return moment + (f".{abs(n):0{digits}}" if digits else "") + zone
        return chance.choice(("", "ä€", "it's", "x" * 20)) + str(n % 40)

    # --- writes -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        """Rows of a few of all values, so that a file lacks some of them."""
        chance, count = self.chance, self.chance.choice((1, 5, 30))
        few = {c.name: [*chance.sample(self.pools[c.name], 3), *[None][: chance.randrange(2)]] for c in self.columns}
        keys = chance.sample(range(60), count)
        rows = [[key, *(chance.choice(few[c.name]) for c in self.columns[1:])] for key in keys]
        ours = chance.random() < 0.5
        self.steps.append(f"{'ours' if ours else 'theirs'} write {count} rows")
        if ours:
            self._append(rows)
        else:
            self.paimon.write(self.warehouse, NAME, [["+I", row] for row in rows])

    def _append(self, rows: list[Row]) -> None:
        table = self.table()
        schema = arrow_schema(table.schema.fields)
        columns = zip(self.columns, zip(*rows, strict=True), schema, strict=True)
        arrays = [pa.array([_native(v, c.type) for v in values], f.type) for c, values, f in columns]
        table.append(pa.Table.from_arrays(arrays, schema=schema))

    def _compact(self) -> None:
        ours = self.chance.random() < 0.5
        self.steps.append(f"{'ours' if ours else 'theirs'} compact")
        if ours:
            self.table().compact(full=True)
        else:
            self.paimon.compact(self.warehouse, NAME)

    def _rewrite_indexes(self) -> None:
        before = {key for key in self.table().schema.options if key.startswith("file-index.") and "." in key[11:]}
        wanted = self._declared()
        changes = [RemoveOption(key) for key in before - wanted.keys() if "in-manifest" not in key]
        catalog = load_catalog({"warehouse": str(self.warehouse)})
        table = catalog.alter_table(NAME, [*changes, *(SetOption(key, value) for key, value in wanted.items())])
        self.steps.append(f"ours rewrite {wanted}")
        table.rewrite_file_index()
        self.counts["tables whose indexes were rewritten"] += 1

    def table(self) -> Table:
        found = load_catalog({"warehouse": str(self.warehouse)}).load_table(NAME)
        assert isinstance(found, Table)
        return found

    # --- reads ------------------------------------------------------------------------------------------------------

    def _condition(self) -> Json:
        shape = self.chance.random()
        if shape < 0.6:
            return self._leaf()
        # Version 0.9 loses rows of an OR with a bitmap for one part and no index for another, of its own files too.
        word = "and" if self.is_old else self.chance.choice(("and", "or"))
        return [word, *(self._leaf() for _ in range(self.chance.randrange(2, 4)))]

    def _leaf(self) -> Json:
        chance = self.chance
        compared = [c for c in self.columns if not (self.is_old and c.type in NOT_COMPARED_BY_0_9)]
        column = chance.choice([c for c in compared if self.indexes[c.name]] * 3 + compared)
        operators = (*POINTS, *POINTS, *NEGATIVES, *NULLS, *(() if column.type in _UNORDERED else RANGES))
        operator = chance.choice(operators)
        values = [chance.choice([*self.pools[column.name], self._value(column.type)]) for _ in range(3)]
        if operator in NULLS:
            return [operator, column.name]
        return [operator, column.name, *(values if "IN" in operator else values[:1])]

    def _compare_all(self) -> None:
        ours, theirs = self._ours(None), self.paimon.read(self.warehouse, NAME)["rows"]
        assert ours == rows_with_floats(theirs, self.table().schema.fields)

    def _compare(self, condition: Json, *, opens_each: bool) -> None:
        self.steps.append(f"read {condition}")
        truth = self._ours(condition, UNREAD)
        assert self._theirs(condition, UNREAD) == truth, "theirs without indexes"
        assert self._ours(condition) == truth, "ours"
        assert self._theirs(condition) == truth, "theirs"
        entries = live(self.table())
        ours = {file.file_name for split in self._scan(condition).plan() for file in split.files}
        left_out = [entry for entry in entries if entry.file.file_name not in ours]
        self.counts["conditions"] += 1
        self.counts["files"] += len(entries)
        self.counts["files left out by us"] += len(left_out)
        if self._is_known_to_both(condition):
            with self._without(left_out):
                assert self._theirs(condition) == truth, "theirs without the files that have no row"
            self.counts["conditions with the same files"] += 1
            self.counts["files left out by both"] += len(left_out)
        if opens_each:
            for entry in entries:
                if entry.file.file_name in ours:
                    assert self._is_opened(condition, entry), f"they leave out {entry.file.file_name}, and we read it"
                    self.counts["files read by both"] += 1

    def _is_known_to_both(self, condition: Json) -> bool:
        operator = condition[0]
        if operator in ("and", "or"):
            return all(map(self._is_known_to_both, condition[1:]))
        indexes = self.indexes[condition[1]]
        return all((operator in OF_JAVA[index]) == (operator in OF_OURS[index]) for index in indexes)

    def _scan(self, condition: Json | None, options: dict[str, str] | None = None) -> Any:
        types = {column.name: column.type for column in self.columns}
        return self.table().scan(filter=None if condition is None else _sql(condition, types), options=options)

    def _ours(self, condition: Json | None, options: dict[str, str] | None = None) -> list[Row]:
        return json_rows(self._scan(condition, options).to_arrow(), self.table().schema.fields)

    def _theirs(self, condition: Json, options: dict[str, str] | None = None) -> list[Row]:
        found = self._read(condition, options)
        return rows_with_floats(found, self.table().schema.fields)

    def _read(self, condition: Json, options: dict[str, str] | None = None) -> list[Row]:
        """What they read. Version 0.9 evaluates indexes in manifests with threads that disturb each other."""
        for _ in range(20):
            try:
                return self.paimon.read_where(self.warehouse, NAME, condition, options)
            except PeerError as error:
                if "ConcurrentModification" not in str(error):
                    raise
        message = "twenty reads failed"
        raise AssertionError(message)

    def _is_opened(self, condition: Json, entry: ManifestEntry) -> bool:
        with self._without([entry]):
            try:
                self._read(condition)
            except PeerError as error:
                if "FileNotFound" not in str(error):
                    raise
                return True
        return False

    @contextmanager
    def _without(self, entries: Sequence[ManifestEntry]) -> Iterator[None]:
        """Data files are away."""
        table = self.table()
        paths = [Path(_path(table, entry)) for entry in entries]
        for path in paths:
            path.rename(path.with_suffix(".away"))
        try:
            yield
        finally:
            for path in paths:
                path.with_suffix(".away").rename(path)


_UNORDERED = ("BOOLEAN", "VARBINARY(20)")


def _path(table: Table, entry: ManifestEntry) -> str:
    return table.store.paths.data_file("", entry.bucket, entry.file).removeprefix("file:")


def _native(value: Any, data_type: str) -> Any:
    if value is None:
        return None
    match data_type.partition("(")[0]:
        case "DATE":
            return date.fromisoformat(value)
        case "TIME":
            return time.fromisoformat(value)
        case "TIMESTAMP":
            return datetime.fromisoformat(value)
        case "TIMESTAMP_LTZ":
            return datetime.fromisoformat(value)
        case "DECIMAL":
            return Decimal(value)
        case "VARBINARY":
            return bytes.fromhex(value)
    return value


def _sql(condition: Json, types: dict[str, str]) -> str:
    operator, *rest = condition
    if operator in ("and", "or"):
        return f" {operator.upper()} ".join(f"({_sql(part, types)})" for part in rest)
    column, *values = rest
    literals = [_literal(value, types[column]) for value in values]
    if "IN" in operator:
        return f"{column} {operator} ({', '.join(literals)})"
    return f"{column} {operator} {' '.join(literals)}"


def _literal(value: Any, data_type: str) -> str:
    if data_type.startswith("VARBINARY"):
        return f"X'{value}'"
    if isinstance(value, str) and not data_type.startswith("DECIMAL"):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
