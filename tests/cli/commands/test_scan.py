"""``lakehouse scan`` and ``plan``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from table_format import Schema, Table
from tests.cli.conftest import Shell
from tests.support.golden import golden_case


def test_the_first_twenty_rows_are_shown_and_all_are_counted(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(30)
    lines = shell("scan", "shop.orders").splitlines()
    assert lines[0].split() == ["id", "state", "amount"]
    assert len(lines) == 22
    assert lines[-1] == "first 20 of 30 rows; --limit shows more"


def test_all_rows_are_shown_if_there_are_few(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2)
    assert shell("scan", "shop.orders").splitlines() == [
        "id  state  amount",
        " 0  new      null",
        " 1  new      null",
        "2 rows",
    ]


def test_only_rows_that_the_filter_selects_are_counted(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(50)
    assert "first 20 of 40 rows" in shell("scan", "shop.orders", "--filter", "id >= 10")


def test_a_limit_sets_the_number_of_rows(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(50)
    assert len(shell("scan", "shop.orders", "--limit", "30").splitlines()) == 31


def test_columns_and_order_can_be_selected(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(5)
    shown = shell("scan", "shop.orders", "--columns", "id", "--order-by", "id DESC", "--limit", "2", "--format", "csv")
    assert shown.splitlines() == ['"id"', "4", "3"]


@pytest.mark.parametrize("quoted", ['"last, first"', "`last, first`"])
def test_a_name_with_a_comma_is_quoted(shell: Shell, quoted: str) -> None:
    shell("create", "shop.people", "--column", "id:BIGINT", "--column", "last, first:STRING", "--partition-by", quoted)
    assert shell.table("shop.people").schema.partition_keys == ("last, first",)
    shown = shell("scan", "shop.people", "--columns", f"id,{quoted}", "--filter", f"{quoted} = 'x'", "--format", "csv")
    assert shown == '"id","last, first"\n'


@pytest.mark.parametrize("state", [["--snapshot", "1"], ["--tag", "first"], ["--option", "scan.snapshot-id=1"]])
def test_an_earlier_state_is_shown(shell: Shell, orders: Callable[..., Table], state: list[str]) -> None:
    orders(2, 3).create_tag("first", 1)
    assert shell("scan", "shop.orders", *state).splitlines()[-1] == "2 rows"


def test_the_state_at_a_time_is_shown(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2, 3)
    assert shell("scan", "shop.orders", "--at", "2999-01-01 00:00:00").splitlines()[-1] == "5 rows"


@pytest.mark.parametrize("command", [["scan"], ["count"], ["plan"], ["rollback", "--dry-run"]])
def test_every_command_takes_times_and_ages(shell: Shell, orders: Callable[..., Table], command: list[str]) -> None:
    orders(2, 3)
    for time in ("2999-01-01", "2999-01-01 00:00:00", "0s"):
        shell(*command, "shop.orders", "--at", time)
    assert "'--at': expected a time such as" in shell.error(*command, "shop.orders", "--at", "yesterday", code=2)
    assert "no snapshot at or before" in shell.error(*command, "shop.orders", "--at", "9d")


def test_two_states_exclude_each_other(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1).create_tag("first", 1)
    assert "exclude each other" in shell.error("scan", "shop.orders", "--snapshot", "1", "--tag", "first", code=2)


def all_types(shell: Shell) -> pa.Table:
    """Return a table with columns of all types that formats treat differently, a row of values and a row of nulls."""
    columns = {
        "t": pa.array(['a "b", c', None]),
        "e": pa.array(["", None]),
        "d": pa.array(["1.50", None]).cast(pa.decimal128(10, 2)),
        "day": pa.array([1, None], pa.date32()),
        "at": pa.array([1_700_000_000_123_456, None], pa.timestamp("us")),
        "utc": pa.array([1_700_000_000_123_456, None], pa.timestamp("us", tz="UTC")),
        "b": pa.array([b"\x00\xff", None]),
        "f": pa.array([1.5, None]),
        "l": pa.array([[1, None], None], pa.list_(pa.int32())),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
        "y": pa.array([True, None]),
    }
    rows = pa.table(columns)
    shell.catalog.create_table("shop.types", Schema.from_arrow(rows.schema)).append(rows)
    return shell.table("shop.types").scan().to_arrow()


def test_json_lines_represent_every_type(shell: Shell) -> None:
    all_types(shell)
    first, second = (json.loads(line) for line in shell("scan", "shop.types", "--format", "jsonl").splitlines())
    assert first == {
        "t": 'a "b", c',
        "e": "",
        "d": "1.50",
        "day": "1970-01-02",
        "at": "2023-11-14T22:13:20.123456",
        "utc": "2023-11-14T22:13:20.123456+00:00",
        "b": "AP8=",
        "f": 1.5,
        "l": [1, None],
        "m": {"k": 1},
        "y": True,
    }
    assert set(second.values()) == {None}


def test_csv_represents_every_type(shell: Shell, tmp_path: Path) -> None:
    all_types(shell)
    shell("scan", "shop.types", "--output", str(tmp_path / "types.csv"))
    values, nulls = csv.read_csv(
        tmp_path / "types.csv",
        convert_options=csv.ConvertOptions(
            column_types={name: pa.string() for name in "telmb"},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    ).to_pylist()
    assert (values["t"], values["e"], values["l"], values["m"], values["b"]) == (
        'a "b", c',
        "",
        "[1, null]",
        '{"k": 1}',
        "AP8=",
    )
    assert set(nulls.values()) == {None}


def test_parquet_files_contain_the_rows_unchanged(shell: Shell, tmp_path: Path) -> None:
    rows = all_types(shell)
    shell("scan", "shop.types", "--output", str(tmp_path / "types.parquet"))
    assert pq.read_table(tmp_path / "types.parquet").to_pylist() == rows.to_pylist()


def test_arrow_files_contain_the_rows_unchanged(shell: Shell, tmp_path: Path) -> None:
    rows = all_types(shell)
    shell("scan", "shop.types", "--output", str(tmp_path / "types.arrow"))
    with pa.ipc.open_file(tmp_path / "types.arrow") as reader:
        assert reader.read_all() == rows


def test_an_arrow_stream_is_written_to_standard_output(shell: Shell) -> None:
    rows = all_types(shell)
    result = shell.run("scan", "shop.types", "--format", "arrow")
    with pa.ipc.open_stream(result.stdout_bytes) as reader:
        assert reader.read_all() == rows


def test_parquet_is_written_to_standard_output(shell: Shell) -> None:
    rows = all_types(shell)
    result = shell.run("scan", "shop.types", "--format", "parquet")
    assert pq.read_table(pa.BufferReader(result.stdout_bytes)).to_pylist() == rows.to_pylist()


def test_a_table_is_written_to_a_file(shell: Shell, orders: Callable[..., Table], tmp_path: Path) -> None:
    orders(30)
    shell("scan", "shop.orders", "--format", "table", "--output", str(tmp_path / "rows.txt"))
    assert len((tmp_path / "rows.txt").read_text().splitlines()) == 31


def test_an_incomplete_file_does_not_appear(shell: Shell, orders: Callable[..., Table], tmp_path: Path) -> None:
    table = orders(3)
    (path,) = shell.warehouse.glob("shop.db/orders/bucket-0/*.parquet")
    path.write_bytes(b"damaged")
    assert path.name in shell.error("scan", "shop.orders", "--output", str(tmp_path / "rows.csv"))
    assert [found.name for found in tmp_path.iterdir()] == ["warehouse"]
    assert table.latest_snapshot() is not None


def test_the_format_of_a_file_must_be_known(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert "'rows.xyz'" in shell.error("scan", "shop.orders", "--output", "rows.xyz", code=2)


def test_system_tables_are_shown(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1, 1)
    shown = shell("scan", "shop.orders$snapshots", "--columns", "snapshot_id", "--limit", "2", "--format", "csv")
    assert shown.splitlines() == ['"snapshot_id"', "1", "2"]


def test_a_value_cannot_control_the_terminal(shell: Shell) -> None:
    table = shell.catalog.create_table("shop.t", Schema.from_arrow(pa.schema([("v", pa.string())])))
    table.append(pa.table({"v": ["[red]a\x1b[31m\n"]}))
    assert shell("scan", "shop.t").splitlines()[1] == r"[red]a\x1b[31m\n"


def test_errors_use_the_words_of_the_command_line(shell: Shell, orders: Callable[..., Table], tmp_path: Path) -> None:
    orders(1)
    assert shell.error("scan", "shop.orders", "--filter", "id >") == (
        "error: filter 'id >': a value is missing beside > (line 1, column 4)"
    )
    assert "--order-by requires --limit" in shell.error("scan", "shop.orders", "--order-by", "id", code=2)
    file = tmp_path / "missing" / "x.csv"
    assert shell.error("scan", "shop.orders", "-o", str(file)) == f"error: {file}: No such file or directory"


def test_a_filter_with_an_unknown_column_names_the_columns(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    line = shell.error("scan", "shop.orders", "--filter", "amuont > 1")
    assert line == (
        "error: column 'amuont' of the filter does not exist; the columns are id, state, amount; did you mean 'amount'?"
    )


def test_the_error_names_an_unknown_column(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert "column 'price' does not exist" in shell.error("scan", "shop.orders", "--columns", "id,price")


def test_the_error_names_a_snapshot_that_does_not_exist(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert "7" in shell.error("scan", "shop.orders", "--snapshot", "7")


def test_a_plan_shows_what_pruning_skips(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(5, 5)
    lines = shell("plan", "shop.orders", "--filter", "id >= 5").splitlines()
    assert lines[0] == "scan of shop.orders, snapshot 2, schema 0"
    assert "  files      2, dropped 1 by key statistics, kept 1" in lines


def test_a_plan_shows_row_groups(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(5)
    assert "row groups" in shell("plan", "shop.orders", "--row-groups")


def test_a_system_table_has_no_plan(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert "is a system table" in shell.error("plan", "shop.orders$files")


def test_rows_of_a_system_table_are_shown() -> None:
    lines = Shell(golden_case("append_row_tracking").warehouse)("scan", "db.t$row_tracking", "--filter", "_ROW_ID = 7")
    assert [line.split() for line in lines.splitlines()] == [
        ["id", "name", "n", "d", "_ROW_ID", "_SEQUENCE_NUMBER"],
        ["7", "eve", "null", "3.448", "7", "2"],
        ["1", "row"],
    ]
