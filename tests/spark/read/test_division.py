"""The files that Spark reads, without the rows to skip, and the files that Python reads together give the merged rows.

No session is needed: this test does what Spark would do with files and bits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Schema, load_catalog
from table_format.formats.data_file_reader import DataFileReader
from table_format.model.schema_change import AddColumn, RenameColumn
from table_format.model.types import VarCharType
from table_format.options.spark_read import MERGED_READ
from table_format.spark.read import merged_rows, positions
from table_format.spark.read.merged_rows import chosen_way
from table_format.spark.read.positions import KeptPositions
from table_format.spark.read.spark_parquet import Division, divide
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_split
from table_format.table.table import Table

SCHEMA = pa.schema(
    [pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.string(), nullable=False), ("v", pa.int64())]
)
OPTIONS: list[dict[str, str]] = [
    {},
    {"sequence.field": "v"},
    {"ignore-delete": "true"},
    {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
    {"merge-engine": "first-row", "ignore-delete": "true"},
]


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "kept_positions", KeptPositions())


def a_table(root: Path, chance: random.Random) -> Table:
    """Create a table with a few commits of random rows and deletes, maybe a compaction and a schema change."""
    catalog = load_catalog({"warehouse": str(root)})
    catalog.create_database("d", ignore_if_exists=True)
    options = {"bucket": chance.choice(["1", "2"]), **chance.choice(OPTIONS)}
    table: Any = catalog.create_table("d.t", Schema.from_arrow(SCHEMA, ["p", "id"], ["p"], options))
    for number in range(chance.randrange(2, 7)):
        ids = chance.sample(range(120), chance.randrange(1, 100))
        columns = {"p": [i % 2 for i in ids], "id": [f"k{i:03}" for i in ids], "v": [chance.randrange(50) for _ in ids]}
        rows = pa.table(columns, schema=SCHEMA)
        if "w" in table.schema.field_names:
            rows = rows.rename_columns(["p", "id", "w"]).append_column("v", pa.array(["x"] * len(ids)))
        table.append(rows)
        if chance.random() < 0.4 and "ignore-delete" not in options:
            table.delete(f"id >= 'k{chance.randrange(100, 120)}'")
        if chance.random() < 0.2:
            table.compact(full=chance.random() < 0.5)
        if number == 1 and chance.random() < 0.3 and "sequence.field" not in options:
            catalog.alter_table("d.t", [RenameColumn("v", "w"), AddColumn("v", VarCharType())])
            table = catalog.load_table("d.t")
    return table


def rows_of(table: Table, plan: Plan, division: Division) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that Spark and Python would read."""
    facts = table.facts
    reader = DataFileReader(facts.store, plan.schemas, plan.schema, facts.options)
    files = {
        facts.store.paths.data_file(facts.partitions.text(split.partition), split.bucket, file): (split, file)
        for split in plan.splits
        for file in split.files
    }
    masks = {path: None for paths in division.whole.values() for path in paths}
    masks |= {found.path: found.vector for found_files in division.with_deletions.values() for found in found_files}
    for path, mask in masks.items():
        split, file = files[path]
        hidden = np.zeros(0, np.uint8) if mask is None else mask.words(file.row_count).view(np.uint8)
        found = pa.Table.from_batches(reader.read(split.partition, split.bucket, file, plan.fields))
        if mask is not None:
            bits = np.unpackbits(hidden, count=file.row_count, bitorder="little")
            found = found.filter(pa.array(bits == 0))
        yield from zip(*(column.to_pylist() for column in found.columns), strict=True)
    for split in division.python:
        for batch in read_split(
            facts.store, plan.schemas, plan.schema, facts.options, split, plan.fields, plan.pruning
        ):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@pytest.mark.parametrize("seed", range(16))
def test_spark_and_python_together_read_the_merged_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(merged_rows, "MIN_SMALL_FILES", chance.choice([1, 3, 100]))
    monkeypatch.setattr(merged_rows, "MIN_ROWS_OF_FILE", chance.choice([1, 20, 1_000]))
    table = a_table(tmp_path, chance)
    way = chance.choice(["auto", "positions", "positions"])
    table = table.copy({MERGED_READ.key: way})
    for text in (None, f"id >= 'k{chance.randrange(100):03}'", f"id = 'k{chance.randrange(100):03}'"):
        scan = table.scan(filter=text)
        plan = scan.plan()
        choice, found = chosen_way(None, table.facts, plan, is_limited=False)  # type: ignore[arg-type]
        assert way == "auto" or choice is None or found is not None
        # Rows that the filter does not select are removed from the stored rows, like in Spark.
        shown = [row for row in rows_of(table, plan, divide(plan, table.facts, found)) if _is_selected(row, text)]
        expected = zip(*(column.to_pylist() for column in scan.to_arrow().columns), strict=True)
        assert sorted(shown, key=repr) == sorted(expected, key=repr)


def _is_selected(row: tuple[Any, ...], text: str | None) -> bool:
    if text is None:
        return True
    value = text.split("'")[1]
    return bool(row[1] == value) if " = " in text else bool(row[1] >= value)


def test_files_whose_rows_are_all_hidden_are_not_read(tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("d")
    options = {"bucket": "1", MERGED_READ.key: "positions"}
    table: Any = catalog.create_table("d.t", Schema.from_arrow(SCHEMA, ["p", "id"], ["p"], options))
    old, new = (pa.table({"p": [0] * 5, "id": list("abcde"), "v": [v] * 5}, schema=SCHEMA) for v in (1, 2))
    table.append(old)
    table.append(new)
    plan = table.scan().plan()
    _, found = chosen_way(None, table.facts, plan, is_limited=False)  # type: ignore[arg-type]
    division = divide(plan, table.facts, found)
    assert [len(paths) for paths in division.whole.values()] == [1]
    assert not division.with_deletions
    assert replace(division, whole={}) == Division({}, {}, ())
