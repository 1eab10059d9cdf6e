"""``lakehouse count`` and ``delete``."""

from __future__ import annotations

from collections.abc import Callable

from table_format import Table
from tests.cli.conftest import Shell


def test_rows_are_counted(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2, 3)
    assert shell("count", "shop.orders") == "5\n"
    assert shell("count", "shop.orders", "--filter", "id > 2") == "2\n"
    assert shell("count", "shop.orders", "--snapshot", "1") == "2\n"
    assert shell("count", "shop.orders$snapshots") == "2\n"
    assert "column 'x'" in shell.error("count", "shop.orders", "--filter", "x = 1")


def test_rows_are_deleted_after_a_confirmation(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(5)
    assert shell("delete", "shop.orders", "--filter", "id > 2", "--dry-run").splitlines() == [
        "2 rows of shop.orders would be deleted.",
        "Nothing was deleted (dry run).",
    ]
    assert "add --yes" in shell.run("delete", "shop.orders", "--filter", "id > 2").stderr
    assert shell("count", "shop.orders") == "5\n"
    assert shell("delete", "shop.orders", "--filter", "id > 2", "--yes").splitlines()[-1] == (
        "2 rows of shop.orders deleted: snapshot 2."
    )
    assert shell("count", "shop.orders") == "3\n"
    assert shell("count", "shop.orders", "--snapshot", "1") == "5\n"
    assert "'--filter'" in shell.error("delete", "shop.orders", code=2)
