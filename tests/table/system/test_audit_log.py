"""``$audit_log`` and ``$binlog``: what is shown with which kind, filtered and projected, and read split by split."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format import Schema, load_catalog
from table_format.errors import ColumnNotFound, UnsupportedFeature
from table_format.model.types import DataField, IntType
from table_format.table.system.audit_log import AuditLogTable
from table_format.table.system.binlog import BinlogTable, packed
from table_format.table.system.table import SystemTable
from tests.support.golden import golden_case
from tests.support.tables import keyed, memory_warehouse
from tests.support.typed_rows import columns, fields_of, rows_of

TITLES = {"audit_log": AuditLogTable, "binlog": BinlogTable}
LOOKUP = ("pk_changelog__1.4.2", "db.cp_lookup")


def log(case: str, name: str) -> SystemTable:
    opened = load_catalog({"warehouse": str(golden_case(case).warehouse)}).load_table(name)
    assert isinstance(opened, SystemTable)
    return opened


def rows(scan: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in scan.to_arrow().columns), strict=True), key=repr)


def test_a_lookup_table_has_one_delete_between_1_and_6_that_a_filter_finds() -> None:
    case, name = LOOKUP
    options = {"incremental-between": "1,6"}
    found = rows(log(case, f"{name}$audit_log").scan(filter="rowkind = '-D' AND k = 3", options=options))
    assert found == [("-D", 3, "c", 3)]
    kinds = {row[0] for row in rows(log(case, f"{name}$audit_log").scan(options=options))}
    assert kinds == {"+I", "-U", "+U", "-D"}


def test_an_update_is_one_row_of_before_and_after() -> None:
    case, name = LOOKUP
    options = {"incremental-between": "2,4"}
    found = rows(log(case, f"{name}$binlog").scan(options=options))
    assert ("+U", [1, 1], ["a", "a2"], [1, 10]) in found
    assert ("-D", [2], ["b"], [2]) in found
    assert ("+I", [4], ["d"], [4]) in found
    updates = log(case, f"{name}$binlog").scan(columns=["v", "rowkind"], filter="rowkind = '+U'", options=options)
    assert rows(updates) == [(["a", "a2"], "+U")]


def test_columns_are_chosen_and_conditions_need_not_be_shown() -> None:
    case, name = LOOKUP
    table = log(case, f"{name}$audit_log")
    assert [f.name for f in table.fields] == ["rowkind", "k", "v", "n"]
    scan = table.scan(columns=["v"], filter="n > 10 AND rowkind <> '-D'")
    assert scan.schema.names == ["v"]
    assert rows(scan) == [("a3",), ("b-again",), ("e2",)]
    assert table.scan(columns=["rowkind"]).to_arrow().num_columns == 1
    with pytest.raises(ColumnNotFound, match="'x' does not exist; the columns are rowkind, k, v, n"):
        table.scan(columns=["x"]).to_arrow()
    with pytest.raises(ColumnNotFound):
        log(case, f"{name}$binlog").scan(columns=["x"]).to_arrow()


def test_deletes_are_shown_until_a_full_compaction_ends_them() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.delete("id = 2")
    opened = warehouse.catalog.load_table("db.t$audit_log")
    assert rows(opened.scan()) == [("+I", 1, "a", 1), ("-D", 2, "b", 2)]
    assert rows(opened.scan(options={"scan.snapshot-id": "1"})) == [("+I", 1, "a", 1), ("+I", 2, "b", 2)]
    table.compact(full=True)
    assert rows(opened.scan()) == [("+I", 1, "a", 1)]
    binlog = warehouse.catalog.load_table("db.t$binlog")
    assert rows(binlog.scan()) == [("+I", [1], ["a"], [1])]


def test_an_append_table_shows_inserts() -> None:
    warehouse = memory_warehouse()
    warehouse.table().append(keyed([(1, "a", None)]))
    assert rows(warehouse.catalog.load_table("db.t$audit_log").scan()) == [("+I", 1, "a", None)]
    assert rows(warehouse.catalog.load_table("db.t$binlog").scan()) == [("+I", [1], ["a"], [None])]


@pytest.mark.parametrize("title", ["audit_log", "binlog"])
def test_a_fallback_branch_is_refused_since_its_changes_are_others(title: str) -> None:
    opened = log("fallback_branch__1.4.2", f"{fallback_table()}${title}")
    with pytest.raises(UnsupportedFeature, match=r"scan\.fallback-branch"):
        opened.scan().to_arrow()


@pytest.mark.parametrize("title", ["audit_log", "binlog"])
def test_sequence_numbers_in_a_log_are_refused_by_name(title: str) -> None:
    table = memory_warehouse().table()
    opened = TITLES[title](replace(table, dynamic_options={"table-read.sequence-number.enabled": "true"}))
    with pytest.raises(UnsupportedFeature, match=r"table-read\.sequence-number\.enabled=true"):
        opened.scan().to_arrow()


def fallback_table() -> str:
    return next(iter(golden_case("fallback_branch__1.4.2").tables))


@pytest.mark.parametrize("title", ["audit_log", "binlog"])
def test_splits_are_read_elsewhere(title: str) -> None:
    case, name = LOOKUP
    scan: Any = log(case, f"{name}${title}").scan(columns=["rowkind", "k"], options={"incremental-between": "2,6"})
    read = travelled(scan.split_reader())
    found = [row for split in scan.plan().splits for batch in read(travelled(split)) for row in _(batch)]
    assert sorted(found, key=repr) == rows(scan)


def travelled(value: Any) -> Any:
    """The value as another process gets it."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - what was dumped in the same line


def _(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


@given(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_packing_does_not_depend_on_batches(kinds: list[int], cuts: list[int]) -> None:
    whole = pa.record_batch({"v": pa.array(range(len(kinds)), pa.int32()), "_VALUE_KIND": pa.array(kinds, pa.int8())})
    edges = sorted({0, len(kinds), *(c for c in cuts if c <= len(kinds))})
    parts = [whole.slice(a, b - a) for a, b in pairwise(edges)]
    fields = [DataField(0, "v", IntType())]
    found = [row for batch in packed(parts, fields) for row in _(batch)]
    assert found == [row for batch in packed([whole], fields) for row in _(batch)]
    assert [value for _, values in found for value in values] == list(range(len(kinds)))
    assert all(len(values) == 1 or (kind == "+U" and kinds[values[0]] == 1) for kind, values in found)


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_columns_of_every_type_are_shown_as_they_are(title: str, file_format: str) -> None:
    typed = columns(file_format)
    fields = fields_of(typed)
    written = rows_of(typed, fields)
    options = {"bucket": "1", "file.format": file_format}
    warehouse = memory_warehouse()
    warehouse.catalog.create_table("db.t", Schema(tuple(fields), primary_keys=("id",), options=options)).append(written)
    shown = warehouse.catalog.load_table(f"db.t${title}").scan(options={"scan.snapshot-id": "1"}).to_arrow()
    for name in written.column_names:
        values = shown[name].to_pylist()
        found = [value[0] for value in values] if title == "binlog" else values
        assert str(found) == str(written[name].to_pylist()), name
