"""``lakehouse load`` and ``create``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_format import Schema, Table
from tests.cli.commands.test_scan import all_types
from tests.cli.conftest import Shell
from tests.support import typed_rows

CSV = "id,state,amount\n1,new,1.50\n2,,2.25\n"


def rows(shell: Shell, table: str = "shop.orders") -> list[tuple[object, ...]]:
    found = shell.table(table).scan().to_arrow().to_pylist()
    return sorted(tuple(str(value) for value in row.values()) for row in found)


@pytest.mark.parametrize("command", [("load", "shop.orders"), ("create", "shop.new", "--from")])
def test_an_empty_csv_file_is_refused_with_what_it_lacks(
    shell: Shell, orders: Callable[..., Table], tmp_path: Path, command: tuple[str, ...]
) -> None:
    orders()
    file = tmp_path / "orders.csv"
    file.write_text("")
    expected = f"error: {file}: the file is empty; the first line of a CSV file has the names of its columns"
    assert shell.error(*command, str(file)) == expected


def test_a_csv_file_without_the_names_of_columns_is_refused(
    shell: Shell, orders: Callable[..., Table], tmp_path: Path
) -> None:
    orders()
    file = tmp_path / "orders.csv"
    file.write_text("1,new,1.50\n")
    message = shell.error("load", "shop.orders", str(file))
    assert "names of its columns, found 1, new, 1.50; the columns of the table are id, state, amount" in message


def test_a_table_gets_the_columns_of_a_csv_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text(CSV)
    shown = shell(
        "create", "shop.orders", "--from", str(file), "--column", "amount:DECIMAL(10,2)",
        "--column", "dt:DATE NOT NULL",
        "--primary-key", "id,dt", "--partition-by", "dt", "--option", "bucket=2", "--comment", "all orders",
    )  # fmt: skip
    assert shown == "Table shop.orders was created with the columns id, state, amount, dt.\n"
    schema = shell.table("shop.orders").schema
    assert [str(f.type) for f in schema.fields] == ["BIGINT NOT NULL", "STRING", "DECIMAL(10, 2)", "DATE NOT NULL"]
    assert (schema.primary_keys, schema.partition_keys) == (("id", "dt"), ("dt",))
    assert (schema.options["bucket"], schema.comment) == ("2", "all orders")


def test_a_table_gets_the_columns_of_other_files(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "at": "2026-01-01T00:00:00"}\n')
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "b.parquet")
    shell("create", "shop.a", "--from", str(tmp_path / "a.jsonl"))
    shell("create", "shop.b", "--from", str(tmp_path / "b.parquet"))
    assert shell.table("shop.a").schema.field_names == ("id", "at")
    assert str(shell.table("shop.b").schema.fields[0].type) == "INT"


def test_a_column_without_values_needs_a_type(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,note\n1,\n")
    assert "column 'note' has no values" in shell.error("create", "shop.a", "--from", str(file))
    shell("create", "shop.a", "--from", str(file), "--column", "note:STRING")
    assert shell.table("shop.a").schema.field_names == ("id", "note")


def test_a_line_from_which_no_columns_can_be_inferred_is_named(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 1}\n\n{"id": "x"}\n')
    assert "a.jsonl: line 3: Column(/id) changed from number to string" in shell.error(
        "create", "shop.a", "--from", str(file)
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "a table needs columns"),
        (["--column", "id"], 2, "expected NAME:TYPE"),
        (["--column", "id:INT", "--column", "id:INT"], 2, "twice"),
        (["--column", "id:NUMBER"], 1, "NUMBER"),
        (["--column", "id:INT", "--option", "bucket"], 2, "expected key=value"),
        (["--column", "id:INT", "--option", "buket=1"], 1, "buket"),
        (["--column", "id:INT", "--primary-key", "key"], 1, "key"),
        (["--from", "nowhere.csv"], 1, "nowhere.csv: No such file or directory"),
        (["--from", "a.xyz"], 2, "a.xyz"),
        (["--column", "id:INT", "--format", "csv"], 2, "--format requires --from"),
        (["--from", "-", "--format", "csv"], 2, "--from reads a file, not standard input"),
    ],
)
def test_invalid_definitions_of_a_table_are_refused(shell: Shell, arguments: list[str], code: int, said: str) -> None:
    assert said in shell.error("create", "shop.a", *arguments, code=code)
    assert shell.catalog.list_tables("shop") == ()


def test_an_existing_table_is_not_changed(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    assert "already exists" in shell.error("create", "shop.orders", "--column", "x:INT")
    assert "already exists" in shell("create", "shop.orders", "--column", "x:INT", "--if-not-exists")


def test_csv_is_loaded_in_one_commit(shell: Shell, orders: Callable[..., Table], tmp_path: Path) -> None:
    orders()
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text('id,state,amount\n3,"",\n')
    shown = shell("load", "shop.orders", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    assert shown == "Loaded 3 rows into shop.orders: snapshot 1.\n"
    assert rows(shell) == [("1", "new", "1.50"), ("2", "None", "2.25"), ("3", "", "None")]


def test_rows_are_read_from_standard_input(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    shell("load", "shop.orders", "-", "--format", "csv", "--delimiter", ";", input=CSV.replace(",", ";"))
    assert len(rows(shell)) == 2


def test_row_kinds_delete_rows(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2)
    shell("load", "shop.orders", "-", "--format", "jsonl", input='{"id": 0, "_row_kind": "-D"}\n{"id": 7}\n')
    assert [row[0] for row in rows(shell)] == ["1", "7"]


def test_the_column_of_row_kinds_may_have_any_name(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2)
    shell("load", "shop.orders", "-", "--format", "csv", "--row-kinds", "op", input="id,state,amount,op\n0,,,-D\n")
    assert [row[0] for row in rows(shell)] == ["1"]
    missing = shell.error("load", "shop.orders", "-", "--format", "csv", "--row-kinds", "op", input=CSV)
    assert "no column 'op' with row kinds" in missing


def test_a_load_with_an_identifier_takes_effect_once(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    again = ["load", "shop.orders", "-", "--format", "csv", "--commit-user", "nightly", "--identifier", "1"]
    assert "Loaded 2 rows" in shell(*again, input=CSV)
    assert "Nothing was loaded" in shell(*again, input=CSV)
    assert len(shell.table("shop.orders").snapshots()) == 1


def test_overwrite_replaces_rows(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(9)
    shell("load", "shop.orders", "-", "--format", "csv", "--overwrite", input=CSV)
    assert [row[0] for row in rows(shell)] == ["1", "2"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_output_of_a_scan_is_loaded_unchanged(shell: Shell, tmp_path: Path, ending: str) -> None:
    all_types(shell)
    nested = {"csv": ["l", "m"], "jsonl": [], "parquet": []}[ending]
    columns = ",".join(name for name in shell.table("shop.types").schema.field_names if name not in nested)
    file = tmp_path / f"types.{ending}"
    shell("scan", "shop.types", "--columns", columns, "--output", str(file))
    arrow = shell.table("shop.types").scan(columns.split(",")).to_arrow()
    from_file = tmp_path / "columns.parquet"
    pq.write_table(arrow.slice(0, 0), from_file)
    shell("create", "shop.copy", "--from", str(from_file))
    shell("load", "shop.copy", str(file))
    assert shell.table("shop.copy").scan().to_arrow().to_pylist() == arrow.to_pylist()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_value_of_every_type_is_written_and_loaded(shell: Shell, tmp_path: Path, ending: str) -> None:
    typed = typed_rows.SCALARS if ending == "csv" else typed_rows.columns("parquet")
    fields = typed_rows.fields_of(typed)
    written = typed_rows.rows_of(typed, fields)
    for name in ("shop.first", "shop.second"):
        shell.catalog.create_table(name, Schema(tuple(fields)))
    shell.table("shop.first").append(written)
    shell("scan", "shop.first", "--output", str(tmp_path / f"rows.{ending}"))
    shell("load", "shop.second", str(tmp_path / f"rows.{ending}"))
    found = shell.table("shop.second").scan().to_arrow()
    for name in written.column_names:
        assert str(found[name].to_pylist()) == str(written[name].to_pylist()), name


def test_rows_are_read_from_a_named_pipe(shell: Shell, orders: Callable[..., Table], tmp_path: Path) -> None:
    orders()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = Thread(target=pipe.write_text, args=[CSV])
    writing.start()
    shell("load", "shop.orders", str(pipe), "--format", "csv")
    writing.join()
    assert len(rows(shell)) == 2


@pytest.mark.parametrize(
    ("arguments", "text", "code", "said"),
    [
        (["--format", "csv"], "id,state,amount\nx,,\n", 1, "-: row 2, column 'id': invalid value 'x'"),
        (["--format", "csv"], "id,state,amount\n1,,\n2,,1.555\n", 1, "-: row 3, column 'amount': Rescaling"),
        (["--format", "jsonl"], '{"id": 1}\n\n{"id": "x"}\n', 1, "line 3: column 'id' is BIGINT, which cannot hold"),
        (["--format", "jsonl"], '{"id": 1.5}', 1, "which cannot hold 1.5"),
        (["--format", "jsonl"], '{"id": 1, "id": 2}', 1, "line 1: not a JSON object: a name occurs twice"),
        (["--format", "jsonl"], '{"id": 1, "state": "\\ud800"}', 1, "half of a surrogate pair"),
        (["--format", "jsonl"], "[1]", 1, "line 1: expected a JSON object with the columns of a row, found [1]"),
        (["--format", "jsonl"], '{"id": [1]}', 1, "line 1: column 'id' is BIGINT"),
        (["--format", "jsonl"], "\n", 1, "-: the file is empty"),
        (["--format", "csv"], "id,state,amount,price\n1,,,2\n", 1, "price"),
        (["--format", "csv"], "", 1, "-: "),
        (["--format", "jsonl"], "{", 1, "-: line 1: not a JSON object"),
        ([], CSV, 2, "add --format"),
        (["--format", "csv", "--partition", "dt=a"], CSV, 2, "requires --overwrite"),
        (["--format", "csv", "--identifier", "1"], CSV, 2, "requires --commit-user"),
        (["--format", "csv", "--delimiter", "::"], CSV, 2, "one character"),
        (["--format", "jsonl", "--delimiter", ";"], '{"id": 1}', 2, "--delimiter is for CSV"),
    ],
)
def test_invalid_input_is_refused(
    shell: Shell, orders: Callable[..., Table], arguments: list[str], text: str, code: int, said: str
) -> None:
    orders()
    assert said in shell.error("load", "shop.orders", "-", *arguments, input=text, code=code)
    assert shell.table("shop.orders").snapshots() == ()


def test_files_with_other_columns_are_refused(shell: Shell, orders: Callable[..., Table], tmp_path: Path) -> None:
    orders()
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text("id,state\n1,new\n")
    assert "b.csv has other columns" in shell.error(
        "load", "shop.orders", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    )
    assert shell.table("shop.orders").snapshots() == ()


def test_a_nested_column_of_a_csv_file_is_refused_by_name(shell: Shell) -> None:
    all_types(shell)
    said = shell.error("load", "shop.types", "-", "--format", "csv", input="t,m\na,{}\n")
    assert "column 'm' is MAP<STRING NOT NULL, INT>: use JSON lines or Parquet instead of CSV" in said
