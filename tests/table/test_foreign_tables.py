"""Tables written by Paimon open whatever they hold; only an operation with a wrong result is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Table, load_catalog
from table_format.errors import BucketCountChanged, UnsupportedFeature
from table_format.model.schema_change import AddColumn
from table_format.model.snapshot import CommitKind
from table_format.model.types import IntType
from tests.support.dynamic_buckets import assert_sound
from tests.support.golden import golden_case
from tests.support.json_rows import json_rows, rows_with_floats


def opened(case: str, name: str, warehouse: Path | None = None) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse or golden_case(case).warehouse)})
    table = catalog.load_table(name)
    assert isinstance(table, Table)
    return table


def first_table(case: str) -> str:
    return next(iter(golden_case(case).tables))


def test_a_table_with_a_type_that_is_not_known_is_refused_by_the_type() -> None:
    with pytest.raises(UnsupportedFeature, match="type VARIANT"):
        opened("variant_type", first_table("variant_type"))


@pytest.mark.parametrize(
    ("case", "feature"),
    [
        ("append_row_tracking", "'row-tracking.enabled' = 'true'"),
    ],
)
def test_what_may_be_read_and_not_written(case: str, feature: str, tmp_path: Path) -> None:
    golden = golden_case(case)
    name = first_table(case)
    table = opened(case, name, golden.writable_copy(tmp_path))
    fields = table.scan().plan().fields
    latest = golden.tables[name]["latest"]
    rows = table.scan().to_arrow()
    assert json_rows(rows, fields) == rows_with_floats(latest["rows"], fields)
    with pytest.raises(UnsupportedFeature, match=feature):
        table.append(rows)


def test_postponed_rows_of_paimon_are_given_their_buckets(tmp_path: Path) -> None:
    warehouse = golden_case("pk_postpone_bucket").writable_copy(tmp_path)
    table = opened("pk_postpone_bucket", "db.t", warehouse)
    assert table.scan().to_arrow().num_rows == 0
    table.append(pa.table({"k": [2, 3], "v": ["ours", "ours"], "n": [5, 6]}, schema=table.arrow_schema))
    assert table.scan().to_arrow().num_rows == 0
    [snapshot] = table.compact()
    assert snapshot.commit_kind is CommitKind.COMPACT
    rows = table.scan().to_arrow().sort_by("k").to_pydict()
    assert rows == {"k": [1, 2, 3], "v": ["a2", "ours", "ours"], "n": [1, 5, 6]}


@pytest.mark.parametrize("case", ["pk_rescale_bucket", "pk_rescale_bucket__1.4.2"])
def test_a_rescaled_table_of_paimon_is_written_and_rescaled_on(case: str, tmp_path: Path) -> None:
    table = opened(case, "db.t", golden_case(case).writable_copy(tmp_path))
    before = table.scan().to_arrow().sort_by([("p", "ascending"), ("k", "ascending")])
    fields = table.scan().plan().fields
    assert json_rows(before, fields) == golden_case(case).tables["db.t"]["latest"]["rows"]
    row = pa.table({"p": ["b"], "k": [1], "v": ["ours"]}, schema=table.arrow_schema)
    with pytest.raises(BucketCountChanged, match=r"partition \{p='b'\} of db\.t was written with 2 .* now has 4"):
        table.append(row)
    # Partition a has 4 buckets already.
    table.append(row.set_column(0, table.arrow_schema.field("p"), pa.array(["a"])))
    table.rescale()
    table.append(row)
    after = {(r["p"], r["k"]): r["v"] for r in table.scan().to_arrow().to_pylist()}
    assert after == {(r["p"], r["k"]): r["v"] for r in before.to_pylist()} | {("b", 1): "ours", ("a", 1): "ours"}
    assert {split.total_buckets for split in table.scan().plan().splits} == {4}


@pytest.mark.parametrize("case", ["tags_branches", "tags_branches__1.4.2"])
def test_a_branch_of_paimon_takes_our_rows(case: str, tmp_path: Path) -> None:
    golden = golden_case(case)
    warehouse = golden.writable_copy(tmp_path)
    branch = opened(case, "db.t$branch_from_t2", warehouse)
    before = branch.scan().to_arrow().sort_by("k")
    branch.append(before.set_column(1, before.schema.field(1), pa.array(["ours"] * len(before))))
    branch.compact(full=True)
    after = branch.scan().to_arrow().sort_by("k")
    assert after["k"] == before["k"]
    assert after["v"].to_pylist() == ["ours"] * len(before)
    main = opened(case, "db.t", warehouse)
    fields = main.scan().plan().fields
    assert json_rows(main.scan().to_arrow(), fields) == golden.tables["db.t"]["latest"]["rows"]


@pytest.mark.parametrize("case", ["pk_dynamic_bucket", "pk_dynamic_bucket__1.4.2", "spark_dynamic_bucket"])
def test_the_hash_index_of_paimon_finds_every_key(case: str, tmp_path: Path) -> None:
    golden = golden_case(case)
    warehouse = golden.writable_copy(tmp_path)
    for name in golden.tables:
        table = opened(case, name, warehouse)
        assert_sound(table)
        before = table.scan().to_arrow()
        index = table.latest_snapshot().index_manifest
        # Its keys written again by us are all found, whatever their types.
        table.append(before)
        assert table.latest_snapshot().index_manifest == index
        table.compact(full=True)
        assert_sound(table)
        fields = table.scan().plan().fields
        assert json_rows(table.scan().to_arrow(), fields) == json_rows(before, fields)


def test_a_table_of_paimon_with_deletion_vectors_takes_our_rows(tmp_path: Path) -> None:
    table = opened("pk_deletion_vectors", "db.t", golden_case("pk_deletion_vectors").writable_copy(tmp_path))
    before = table.scan().to_arrow().sort_by("k")
    table.append(before.slice(0, 2))
    table.delete(f"k = {before['k'][1]}")
    assert table.scan().to_arrow().sort_by("k").equals(pa.concat_tables([before.slice(0, 1), before.slice(2)]))
    table.compact(full=True)
    assert len(table.scan().to_arrow()) == len(before) - 1


def test_a_table_of_paimon_takes_our_rows(tmp_path: Path) -> None:
    golden = golden_case("pk_deduplicate")
    table = opened("pk_deduplicate", "db.levels", golden.writable_copy(tmp_path))
    before = table.scan().to_arrow().sort_by("k")
    table.append(before.slice(0, 3))
    table.delete(f"k = {before['k'][5]}")
    table.compact(full=True)
    after = table.scan().to_arrow().sort_by("k")
    assert len(after) == len(before) - 1
    assert after.slice(0, 5).equals(before.slice(0, 5))


def test_a_table_that_counts_as_release_0_8_does_is_not_altered(tmp_path: Path) -> None:
    warehouse = golden_case("pk_aggregation_count").writable_copy(tmp_path)
    catalog = load_catalog({"warehouse": str(warehouse)})
    with pytest.raises(UnsupportedFeature, match=r"counts \(a\)"):
        catalog.alter_table("db.t", [AddColumn("later", IntType())])
    assert "later" not in opened("pk_aggregation_count", "db.t", warehouse).schema.field_names
