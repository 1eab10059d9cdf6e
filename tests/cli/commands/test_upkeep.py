"""``lakehouse compact``, ``expire``, ``orphans``, ``analyze`` and ``doctor``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from table_format import Table
from tests.cli.conftest import Shell


def test_a_full_compaction_leaves_one_file(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2, 2, 2)
    shown = shell("compact", "shop.orders", "--full")
    assert shown == "1 bucket compacted, 0 dropped: 3 files became 1, snapshot 4.\n"
    assert shell("compact", "shop.orders") == "Nothing in shop.orders needs compaction.\n"


def test_progress_is_shown_on_a_terminal(
    shell: Shell, orders: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(2, 2)
    assert shell.run("compact", "shop.orders", "--full").stderr == ""
    orders_again = shell.table("shop.orders")
    assert orders_again.latest_snapshot() is not None
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert "1/1 buckets" in shell.run("compact", "shop.orders", "--full").stderr


def test_an_append_table_is_sorted(shell: Shell) -> None:
    shell("create", "shop.t", "--column", "a:INT", "--column", "b:INT")
    shell("load", "shop.t", "-", "-f", "csv", input="a,b\n2,1\n1,2\n")
    assert "Sorted shop.t: snapshot 2." in shell("compact", "shop.t", "--order-by", "a", "--order", "zorder")
    assert shell("scan", "shop.t", "-f", "csv").splitlines() == ['"a","b"', "1,2", "2,1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--partition", "dt=2026-01-03"], "shop.t has no partition dt=2026-01-03; its partitions are dt=2026-01-01, "),
        (["--partition", "dt=2026-01-03", "--order-by", "a"], "shop.t has no partition dt=2026-01-03; "),
        (["--partition", "dt=x"], "partition column 'dt' is DATE, which cannot hold str 'x'"),
        (["--partition", "a=1"], "'a' is not a partition column; the partition columns are dt"),
        (["--bucket", "7"], "shop.t has no bucket 7; found 0"),
        (["--partition", "dt=2026-01-02", "--bucket", "3"], "shop.t has no bucket 3 in these partitions; found 0"),
    ],
)
def test_a_partition_or_a_bucket_that_does_not_exist_is_refused_by_name(
    shell: Shell, arguments: list[str], message: str
) -> None:
    shell("create", "shop.t", "--column", "a:INT", "--column", "dt:DATE", "--partition-by", "dt")
    assert "its partitions are none" in shell.error("compact", "shop.t", "--partition", "dt=2026-01-01")
    shell("load", "shop.t", "-", "-f", "csv", input="a,dt\n1,2026-01-01\n2,2026-01-02\n")
    assert message in shell.error("compact", "shop.t", *arguments)
    assert shell("compact", "shop.t", "--partition", "dt=2026-01-02").startswith("Nothing in shop.t needs compaction")


@pytest.mark.parametrize("text", ["city=Paris, Texas,dt=1", 'city="Paris, Texas",dt=1', "dt=1,city=Paris, Texas"])
def test_the_value_of_a_partition_may_have_a_comma(shell: Shell, text: str) -> None:
    columns = [f"{name}:STRING" for name in ("city", "dt", "v")]
    shell(
        "create", "shop.t", *(part for column in columns for part in ("--column", column)), "--partition-by", "city,dt"
    )
    row = '{"city": "Paris, Texas", "dt": "1", "v": "a"}\n'
    shell("load", "shop.t", "-", "-f", "jsonl", input=row)
    assert shell("compact", "shop.t", "--partition", text).startswith("Nothing in shop.t needs")
    shell("load", "shop.t", "-", "-f", "jsonl", "--overwrite", "--partition", text, input=row.replace('"a"', '"b"'))
    assert json.loads(shell("scan", "shop.t", "-f", "jsonl")) == {"city": "Paris, Texas", "dt": "1", "v": "b"}


def test_a_partition_that_names_a_column_twice_or_none_is_refused(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert "names 'dt' twice" in shell.error("compact", "shop.orders", "--partition", "dt=1,dt=2", code=2)
    for text in ("dt", "", "=1"):
        assert "expected key=value" in shell.error("compact", "shop.orders", "--partition", text, code=2)


def test_a_check_of_a_partition_that_does_not_exist_is_refused_unless_it_is_one_of_all_tables(shell: Shell) -> None:
    for name in ("t", "u"):
        shell("create", f"shop.{name}", "--column", "a:INT", "--column", "dt:DATE", "--partition-by", "dt")
    shell("load", "shop.t", "-", "-f", "csv", input="a,dt\n1,2026-01-01\n")
    assert "shop.u has no partition dt=2026-01-01" in shell.error("doctor", "shop.u", "--partition", "dt=2026-01-01")
    assert shell("doctor", "--partition", "dt=2026-01-01").count("0 errors") == 2


@pytest.mark.parametrize("arguments", [["--order", "zorder"], ["--order-by", "id", "--full"]])
def test_order_by_excludes_full_and_bucket(shell: Shell, orders: Callable[..., Table], arguments: list[str]) -> None:
    orders(1)
    assert "--order-by" in shell.error("compact", "shop.orders", *arguments, code=2)


EXPIRY = ["expire", "shop.orders", "--retain-max", "1", "--retain-min", "1", "--retain-floor", "0s"]


def test_a_maximum_below_the_minimum_of_the_table_needs_a_minimum(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    message = shell.error("expire", "shop.orders", "--retain-max", "1")
    assert "--retain-max is 1, but the table keeps at least 10; pass --retain-min too" in message


def test_old_snapshots_expire(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1, 1)
    shown = shell(*EXPIRY, "--dry-run")
    assert shown.splitlines() == [
        "2 snapshots (1 to 2) of shop.orders would be deleted.",
        "Nothing was deleted (dry run).",
    ]
    assert len(shell.table("shop.orders").snapshots()) == 3
    assert "add --yes" in shell.run(*EXPIRY).stderr
    assert shell(*EXPIRY, "--yes").splitlines()[-1] == "2 snapshots (1 to 2) of shop.orders deleted."
    assert len(shell.table("shop.orders").snapshots()) == 1
    assert shell(*EXPIRY) == "No snapshots of shop.orders to delete.\n"


def test_an_expiry_reports_that_young_snapshots_are_kept(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1, 1)
    assert shell("expire", "shop.orders", "--retain-max", "1", "--retain-min", "1").splitlines() == [
        "More snapshots are kept than the maximum, 2: they are younger than the retain floor.",
        "No snapshots of shop.orders to delete.",
    ]


def test_files_that_are_too_young_to_be_orphans_are_counted_with_the_time_when_they_are_old_enough(
    shell: Shell, orders: Callable[..., Table]
) -> None:
    orders(1)
    for number in range(2):
        name = f"data-00000000-0000-0000-0000-00000000000{number}-0.parquet"
        lost = shell.warehouse / "shop.db/orders/bucket-0" / name
        lost.write_bytes(b"lost")
        changed = int(time.time()) - 3600
        os.utime(lost, (changed, changed))
    first, second = shell("orphans", "shop.orders", "--dry-run").splitlines()
    eligible = datetime.fromtimestamp(changed + 86_400, UTC).isoformat(timespec="milliseconds")
    assert first.startswith(f"2 files of 8 bytes are too young to be orphans, until {eligible[:17]}")
    assert second == "Table shop.orders has no orphans."


def test_orphans_are_deleted(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert shell("orphans", "shop.orders") == "Table shop.orders has no orphans.\n"
    orphan = shell.warehouse / "shop.db/orders/bucket-0/data-00000000-0000-0000-0000-000000000000-0.parquet"
    orphan.write_bytes(b"lost")
    os.utime(orphan, (0, 0))
    assert str(orphan) in shell("orphans", "shop.orders", "--dry-run")
    assert orphan.exists()
    assert shell("orphans", "shop.orders", "--yes").splitlines()[-1] == "1 file of 4 bytes deleted."
    assert not orphan.exists()
    assert "or set --nobody-else-writes" in shell.error("orphans", "shop.orders", "--older-than", "1h")


def test_statistics_are_shown(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    assert "nothing to count" in shell("analyze", "shop.orders")
    shell("load", "shop.orders", "-", "-f", "jsonl", input='{"id": 1}\n')
    assert shell("analyze", "shop.orders").startswith("Table shop.orders has 1 row in ")
    first, names, row = shell("analyze", "shop.orders", "--columns", "id").splitlines()[:3]
    assert first.endswith(", snapshot 2.")
    assert names.split() == ["column", "minimum", "maximum", "distinct", "nulls", "avg_length", "max_length"]
    assert row.split()[:5] == ["id", "1", "1", "1", "0"]
    line = json.loads(shell("analyze", "shop.orders", "--columns", "id", "--format", "jsonl"))
    assert (line["snapshot"], line["rows"], line["column"], line["distinct"]) == (3, 1, "id", 1)
    assert shell("analyze", "shop.orders", "--format", "csv").startswith('"snapshot","rows","bytes","column"')


def test_the_doctor_checks_all_tables(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    shell("create", "shop.t", "--column", "a:INT")
    lines = shell("doctor", "--depth", "rows").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["shop.orders", "shop.t"]


def test_a_damaged_table_is_an_error(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    (file,) = shell.warehouse.glob("shop.db/orders/bucket-0/*.parquet")
    file.unlink()
    result = shell.run("doctor", "shop.orders")
    assert result.exit_code == 1
    assert f"of {file}" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("damage", ["a schema that is no JSON", "a directory that cannot be listed"])
def test_the_doctor_checks_the_other_tables_if_one_cannot_be_read(
    shell: Shell, orders: Callable[..., Table], damage: str
) -> None:
    orders(1)
    shell("create", "shop.broken", "--column", "a:INT")
    schema = shell.warehouse / "shop.db" / "broken" / "schema"
    (schema / "schema-0").write_text("{")
    if damage == "a directory that cannot be listed":
        (schema / "schema-0").unlink()
        schema.rmdir()
        schema.write_text("no directory")
    result = shell.run("doctor")
    broken, whole = result.stdout.splitlines()
    assert broken.startswith(f"shop.broken: it cannot be read: {schema}")
    assert whole.startswith("shop.orders: 0 errors")
    assert result.exit_code == 1
    assert "shop.orders" in shell.run("tables", "shop").stdout
    assert str(schema) in shell.error("doctor", "shop.broken")
