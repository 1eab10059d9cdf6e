"""``lakehouse alter``, ``rename``, ``drop`` and ``drop-database``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Table
from tests.cli.conftest import Shell


def test_columns_and_options_are_changed_in_one_step(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2)
    shown = shell(
        *("alter", "shop.orders", "--rename-column", "state:status", "--drop-column", "amount"),
        *("--add-column", "note:STRING", "--add-column", "address:ROW<city STRING>"),
        *("--set", "snapshot.num-retained.max=15", "--comment", "what customers buy"),
    )
    assert shown == "Table shop.orders has schema 1 with the columns id, status, note, address.\n"
    table = shell.table("shop.orders")
    assert table.schema.comment == "what customers buy"
    assert table.schema.options["snapshot.num-retained.max"] == "15"
    assert table.scan().to_arrow().to_pylist()[0] == {"id": 0, "status": "new", "note": None, "address": None}


def test_columns_that_differ_only_in_case_are_made_with_a_warning(shell: Shell) -> None:
    warning = "warning: the columns 'a' and 'A' differ only in case; SQL does not tell them apart\n"
    assert shell.run("create", "shop.t", "--column", "a:INT", "--column", "A:INT").stderr == warning
    shell("create", "shop.u", "--column", "a:INT", "--column", "b:INT")
    assert shell.run("alter", "shop.u", "--rename-column", "b:A").stderr == warning
    assert shell.run("alter", "shop.u", "--comment", "two").stderr == ""


def test_a_nested_column_and_a_type_are_changed_and_an_option_is_reset(shell: Shell) -> None:
    shell("create", "shop.t", "--column", "a:INT", "--column", "home:ROW<city STRING>", "--option", "bucket=-1")
    shell("alter", "shop.t", "--type", "a:BIGINT", "--add-column", "home.street:STRING", "--set", "file.format=orc")
    assert [str(field.type) for field in shell.table("shop.t").schema.fields] == [
        "BIGINT",
        "ROW<`city` STRING, `street` STRING>",
    ]
    shell("alter", "shop.t", "--unset", "file.format", "--comment", "")
    assert "file.format" not in shell.table("shop.t").schema.options


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "nothing to change"),
        (["--add-column", "note"], 2, "--add-column: expected NAME:TYPE"),
        (["--rename-column", "state:"], 2, "--rename-column: expected NAME:NEW_NAME"),
        (["--drop-column", "nope"], 1, "nope"),
        (["--drop-column", "id"], 1, "id"),
        (["--add-column", "note:TEXTT"], 1, "TEXTT"),
        (["--set", "bukcet=2"], 1, "did you mean"),
    ],
)
def test_a_change_that_is_refused_changes_nothing(
    shell: Shell, orders: Callable[..., Table], arguments: list[str], code: int, message: str
) -> None:
    orders()
    changed = ["--comment", "changed"] if arguments else []
    assert message in shell.error("alter", "shop.orders", *arguments, *changed, code=code)
    assert shell.table("shop.orders").schema.id == 0


def test_a_table_is_renamed(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert shell("rename", "shop.orders", "shop.sales") == "Table shop.orders is now shop.sales.\n"
    assert shell("tables") == "shop.sales\n"
    assert "does not exist" in shell.error("rename", "shop.orders", "shop.x")


def test_a_table_is_dropped_after_a_confirmation(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1)
    shell("tags", "create", "shop.orders", "v1")
    assert shell("drop", "shop.orders", "--dry-run").splitlines() == [
        "Table shop.orders has 2 snapshots, 1 tag and 0 branches.",
        "Nothing was deleted (dry run).",
    ]
    assert "add --yes" in shell.run("drop", "shop.orders").stderr
    assert shell("tables") == "shop.orders\n"
    assert shell("drop", "shop.orders", "--yes").splitlines()[-1] == "Table shop.orders was dropped."
    assert shell("tables") == ""


@pytest.mark.parametrize("command", [["alter", "--comment", "x"], ["drop", "-y"], ["delete", "--filter", "true", "-y"]])
def test_a_system_table_is_not_changed(shell: Shell, orders: Callable[..., Table], command: list[str]) -> None:
    orders(1)
    assert "is a system table" in shell.error(command[0], "shop.orders$files", *command[1:])


def test_a_database_with_tables_is_dropped_only_with_cascade(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1)
    assert "add --cascade" in shell.error("drop-database", "shop", "--yes")
    assert shell("drop-database", "shop", "--cascade", "--yes").splitlines() == [
        "shop.orders",
        "Database shop has 1 table.",
        "Database shop was dropped.",
    ]
    assert "does not exist" in shell.error("drop-database", "shop", "--yes")


def test_an_object_table_is_created_without_columns_and_refreshed(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.png").write_bytes(b"png")
    made = shell("create", "shop.images", "--option", f"object-location={tmp_path}/files")
    assert "Table shop.images was created with the columns path, parent_path, name, length" in made
    assert shell("refresh", "shop.images") == "shop.images has 1 file: snapshot 1.\n"
    assert shell("refresh", "shop.images") == "shop.images has 1 file: no snapshot, nothing has changed.\n"
    assert shell("scan", "shop.images", "--columns", "name,length", "--format", "csv") == '"name","length"\n"a.png",3\n'
    shell("create", "shop.plain", "--column", "id:INT")
    assert "'shop.plain' is not an object table" in shell.error("refresh", "shop.plain")
