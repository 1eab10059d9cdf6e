"""Keys with one version: a compaction by lookup passes them through the merge engine, all other merges do not.

The expected rows are those of Apache Paimon 1.4.2 (Java ``LookupMergeFunction``, ``ReducerMergeFunctionWrapper``).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema
from tests.support.tables import memory_warehouse

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("g", pa.int32()), ("v", pa.int32())])
LOOKUP = {"changelog-producer": "lookup"}
MARKED = {"deletion-vectors.enabled": "true"}
GROUP = {"merge-engine": "partial-update", "fields.g.sequence-group": "v"}
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
LISTS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.list_(pa.field("element", pa.int32())))])
DISTINCT = {"merge-engine": "aggregation", "fields.v.aggregate-function": "collect", "fields.v.distinct": "true"}


def compacted(options: dict[str, str], schema: pa.Schema, *commits: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows after a full compaction of commits of ``(kind, values...)``, whose key ranges overlap."""
    catalog = memory_warehouse().catalog
    given = {"bucket": "1", "write-only": "true", **options}
    table = catalog.create_table("db.t", Schema.from_arrow(schema, primary_keys=["k"], options=given))
    for rows in commits:
        kinds, *columns = zip(*rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        batch = pa.Table.from_arrays(arrays, schema=schema)
        table.append(batch.append_column("_row_kind", pa.array(kinds)))
    table.copy({"write-only": "false"}).compact(full=True)
    found = catalog.load_table("db.t").scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.mark.parametrize(("options", "value"), [({}, 5), (LOOKUP, None), (MARKED, None)])
def test_a_group_without_sequence_is_null_after_a_compaction_by_lookup(
    options: dict[str, str], value: int | None
) -> None:
    commits = [[("+I", 1, None, 5)], [("+I", 0, 1, 7), ("+I", 2, 1, 7)]]
    assert compacted({**GROUP, **options}, SCHEMA, *commits) == [(0, 1, 7), (1, None, value), (2, 1, 7)]


@pytest.mark.parametrize(("options", "rows"), [({}, []), (LOOKUP, [(1, None, -5)]), (MARKED, [(1, None, -5)])])
def test_a_retract_of_an_unknown_key_is_aggregated_by_a_compaction_by_lookup(
    options: dict[str, str], rows: list[tuple[Any, ...]]
) -> None:
    commits = [[("-D", 1, 3, 5)], [("+I", 0, 1, 7), ("+I", 2, 1, 7)]]
    functions = {**SUM, "fields.g.aggregate-function": "last_value"}
    assert compacted({**functions, **options}, SCHEMA, *commits) == [(0, 1, 7), *rows, (2, 1, 7)]


@pytest.mark.parametrize(("options", "value"), [({}, [1, 1]), (LOOKUP, [1])])
def test_distinct_elements_of_one_version_are_collected_by_a_compaction_by_lookup(
    options: dict[str, str], value: list[int]
) -> None:
    commits = [[("+I", 1, [1, 1])], [("+I", 0, [2]), ("+I", 2, [2])]]
    assert compacted({**DISTINCT, **options}, LISTS, *commits) == [(0, [2]), (1, value), (2, [2])]
