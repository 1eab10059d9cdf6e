"""The tables and queries of ``benchmarks.file_indexes``: sales with values of the whole range in every file.

Minimum and maximum cannot prune such files, but indexes can. Every engine reads the same Parquet files. A separate
directory has hard links to the files of the table, for engines without a table format.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from table_format import Schema, Table, load_catalog

TABLE = "bench.sales"
STATUSES = ("new", "paid", "sent", "done", "back")
RARE_STATUS = "disputed"
REGIONS = 50
PRICES = 1_000_000
FIRST_SECOND = 1_700_000_000
SECONDS = 60_000_000


@dataclass(frozen=True)
class Condition:
    """A comparison of a column: ``=``, ``in`` or ``between``."""

    column: str
    op: str
    values: tuple[int | str, ...]

    @property
    def sql(self) -> str:
        shown = [f"'{value}'" if isinstance(value, str) else str(value) for value in self.values]
        match self.op:
            case "in":
                return f"{self.column} IN ({', '.join(shown)})"
            case "between":
                return f"{self.column} BETWEEN {shown[0]} AND {shown[1]}"
            case _:
                return f"{self.column} = {shown[0]}"


@dataclass(frozen=True)
class Query:
    """All columns of the rows that meet all conditions."""

    name: str
    conditions: tuple[Condition, ...]

    @property
    def sql(self) -> str:
        return " AND ".join(condition.sql for condition in self.conditions)


@dataclass(frozen=True)
class Aggregation:
    """An aggregate, in SQL and as arguments of ``Scan.aggregate``."""

    name: str
    functions: Mapping[str, tuple[str, str]]
    where: Query | None = None
    group_by: str | None = None

    @property
    def select(self) -> list[str]:
        """The columns of the result in SQL."""
        own = [self.group_by] if self.group_by else []
        return [*own, *(f"{function}({column}) AS {name}" for name, (function, column) in self.functions.items())]


@dataclass(frozen=True)
class FirstRows:
    """All columns of the first rows in an order of the columns, all ascending or all descending."""

    name: str
    columns: tuple[str, ...]
    count: int
    descending: bool = False

    @property
    def order(self) -> list[str]:
        """The order in SQL, by column."""
        return [f"{column} DESC" if self.descending else column for column in self.columns]


@dataclass(frozen=True)
class SalesTable:
    """A table with a number of files and rows in each, in a directory."""

    directory: Path
    files: int
    file_rows: int

    @property
    def warehouse(self) -> str:
        return str(self.directory / "warehouse")

    @property
    def plain(self) -> Path:
        return self.directory / "plain"

    def open(self) -> Table:
        table = load_catalog({"warehouse": self.warehouse}).load_table(TABLE)
        assert isinstance(table, Table)  # noqa: S101
        return table

    @property
    def queries(self) -> tuple[Query, ...]:
        rows = self.files * self.file_rows
        present = [_key(rows * n // 6) for n in range(1, 6)]
        absent = [key + 1 for key in present]
        low_cardinality = (Condition("status", "=", ("sent",)), Condition("region", "=", ("r17",)))
        return (
            Query("absent key", (Condition("id", "=", (absent[1],)),)),
            Query("present key", (Condition("id", "=", (present[1],)),)),
            Query("point, text", (Condition("product_id", "=", (_product(present[2]),)),)),
            Query("IN, 5 of 10 present", (Condition("id", "in", (*present, *absent)),)),
            Query("range", (Condition("price", "between", (500_000, 500_009)),)),
            Query("low cardinality", (Condition("status", "=", (RARE_STATUS,)),)),
            Query("conjunction", (*low_cardinality, Condition("gender", "=", ("x",)))),
        )

    @property
    def aggregations(self) -> tuple[Aggregation, ...]:
        wide = Query("", (Condition("status", "in", ("sent", "done")), Condition("price", "between", (1000, 900_000))))
        return (
            Aggregation("count, filtered", {"n": ("count", "*")}, wide),
            Aggregation("sum, min, max", {name: (name, "price") for name in ("sum", "min", "max")}),
            Aggregation("sum, filtered", {"total": ("sum", "price")}, wide),
            Aggregation("count by group", {"n": ("count", "*")}, group_by="region"),
            Aggregation("sum by group", {"total": ("sum", "price")}, group_by="status"),
        )

    @property
    def first_rows(self) -> tuple[FirstRows, ...]:
        return (FirstRows("top 10 of a column", ("price", "id"), 10, descending=True),)

    def make(self) -> None:
        """Write the table with one commit for each file, unless it exists."""
        ready = self.directory / "ready"
        if ready.exists():
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.plain.mkdir(parents=True)
        catalog = load_catalog({"warehouse": self.warehouse})
        catalog.create_database(TABLE.partition(".")[0])
        chance = np.random.default_rng(20260103)
        keys = chance.permutation(self.files * self.file_rows)
        schema = sales(chance, keys[:1]).schema
        table = catalog.create_table(TABLE, Schema.from_arrow(schema, options=options(self.file_rows)))
        for start in range(0, len(keys), self.file_rows):
            table.append(sales(chance, keys[start : start + self.file_rows]))
        link_data_files(table, Path(self.warehouse), self.plain)
        ready.touch()


def link_data_files(table: Table, warehouse: Path, target: Path) -> None:
    """Link the data files of the latest snapshot into one directory."""
    kept = {file.file_name for split in table.scan().plan() for file in split.files}
    for path in warehouse.rglob("*.parquet"):
        if path.name in kept:
            os.link(path, target / path.name)


def options(file_rows: int) -> dict[str, str]:
    """Return options with a suitable index for each column: keys, few values, numbers."""
    blooms = ("id", "product_id")
    return {
        "file-index.bloom-filter.columns": ",".join(blooms),
        **{f"file-index.bloom-filter.{name}.items": str(file_rows) for name in blooms},
        **{f"file-index.bloom-filter.{name}.fpp": "0.01" for name in blooms},
        "file-index.bitmap.columns": "gender,status,region",
        "file-index.bsi.columns": "price,ts",
    }


def sales(chance: np.random.Generator, numbers: np.ndarray) -> pa.Table:
    """Return unordered rows with distinct numbers."""
    count = len(numbers)
    status = np.array(STATUSES)[chance.integers(0, len(STATUSES), count)].astype("U8")
    status[chance.random(count) < 5e-5] = RARE_STATUS
    gender = np.where(chance.random(count) < 0.01, "x", np.where(chance.random(count) < 0.5, "f", "m"))
    keys = _key(numbers.astype(np.int64))
    columns = {
        "id": pa.array(keys),
        "product_id": pa.array([_product(key) for key in keys.tolist()]),
        "gender": pa.array(gender),
        "status": pa.array(status),
        "price": pa.array(chance.integers(0, PRICES, count)),
        "ts": pa.array(FIRST_SECOND + chance.integers(0, SECONDS, count)),
        "region": pa.array(np.char.add("r", chance.integers(0, REGIONS, count).astype(str))),
        "quantity": pa.array(chance.integers(1, 20, count, dtype=np.int32)),
        "comment": pa.array(np.char.add("left at door ", chance.integers(10**11, 10**12, count).astype(str))),
    }
    return pa.table(columns)


def _key(number):  # noqa: ANN001, ANN202 - of one number and of an array
    """Return an even key, so that no file contains odd keys."""
    return number * 2


def _product(key: int) -> str:
    return f"p-{key * 2654435761 % 2**40:013d}"
