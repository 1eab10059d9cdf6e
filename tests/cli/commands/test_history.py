"""``lakehouse snapshots``, ``files``, ``changes``, ``tags``, ``branches`` and ``rollback``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from table_format import Table
from table_format.cli import asking
from table_format.codecs.tag_json import encode_tag
from table_format.model.tag import Tag
from tests.cli.conftest import Shell


def column(text: str, name: str) -> list[object]:
    """Return the values of a column of JSON lines."""
    return [json.loads(line)[name] for line in text.splitlines()]


def test_snapshots_are_listed_oldest_first(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 2)
    assert column(shell("snapshots", "shop.orders", "-f", "jsonl"), "total_record_count") == [1, 3]
    assert shell("snapshots", "shop.orders").splitlines()[0].split()[:2] == ["snapshot_id", "commit_kind"]


def test_files_of_a_snapshot_are_listed(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 2)
    assert sorted(column(shell("files", "shop.orders", "-f", "jsonl"), "record_count")) == [1, 2]
    assert column(shell("files", "shop.orders", "--snapshot", "1", "-f", "jsonl"), "record_count") == [1]
    assert column(shell("files", "shop.orders", "--filter", "record_count > 1", "-f", "jsonl"), "level") == [0]


def test_changes_of_the_last_snapshot_are_shown_by_default(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2, 1)
    assert shell("changes", "shop.orders").splitlines()[1:] == ["+I        2  new      null"]


def test_changes_between_two_snapshots_are_shown(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1, 1)
    shown = shell("changes", "shop.orders", "--from", "1", "--to", "3", "--columns", "id", "-f", "csv")
    assert shown.splitlines() == ['"id"', "1", "2"]


def test_a_tag_and_an_id_or_the_latest_snapshot_bound_changes(shell: Shell, orders: Callable[..., Table]) -> None:
    table = orders(1, 1, 1)
    table.create_tag("first", 1)
    table.create_tag("second", 2)

    def changed(*arguments: str) -> list[str]:
        return shell("changes", "shop.orders", *arguments, "--columns", "id", "-f", "csv").splitlines()[1:]

    assert changed("--from", "first") == ["1", "2"]
    assert changed("--from", "1", "--to", "second") == ["1"]


def test_a_table_without_snapshots_has_no_changes(shell: Shell, orders: Callable[..., Table]) -> None:
    orders()
    assert "has no snapshot" in shell.error("changes", "shop.orders")


def test_a_tag_is_created_listed_and_deleted(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1)
    assert shell("tags", "create", "shop.orders", "v1", "--snapshot", "1", "--keep", "7d") == (
        "Tag v1 keeps snapshot 1 of shop.orders.\n"
    )
    assert column(shell("tags", "list", "shop.orders", "-f", "jsonl"), "tag_name") == ["v1"]
    assert "did you mean v1?" in shell.error("tags", "delete", "shop.orders", "v11", "--yes")
    assert "dry run" in shell("tags", "delete", "shop.orders", "v1", "--dry-run")
    assert set(shell.table("shop.orders").tags()) == {"v1"}
    shell("tags", "delete", "shop.orders", "v1", "--yes")
    assert set(shell.table("shop.orders").tags()) == set()


@pytest.mark.parametrize("group", ["tags", "branches"])
def test_the_word_list_may_be_left_out_before_a_table(shell: Shell, orders: Callable[..., Table], group: str) -> None:
    orders(1).create_tag("v1")
    shell("branches", "create", "shop.orders", "dev")
    shown = shell(group, "shop.orders", "-f", "jsonl")
    assert shown == shell(group, "list", "shop.orders", "-f", "jsonl")
    assert "did you mean shop.orders?" in shell.error(group, "shop.order")
    assert "No such command 'lst'. Did you mean 'list'?" in shell.error(group, "lst", "shop.orders", code=2)


def test_a_branch_is_created_written_and_fast_forwarded(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2).create_tag("v1")
    shell("branches", "create", "shop.orders", "dev", "--tag", "v1")
    shell("load", "shop.orders$branch_dev", "-", "-f", "jsonl", input='{"id": 9}\n')
    assert column(shell("branches", "list", "shop.orders", "-f", "jsonl"), "branch_name") == ["dev"]
    assert "2 rows" in shell("scan", "shop.orders")
    assert "replaced" not in shell("branches", "fast-forward", "shop.orders", "dev", "--dry-run")
    shell("load", "shop.orders", "-", "-f", "jsonl", input='{"id": 8}\n')
    shown = shell("branches", "fast-forward", "shop.orders", "dev", "--dry-run")
    assert "1 snapshot of shop.orders would be replaced, the first is 2." in shown
    shell("branches", "fast-forward", "shop.orders", "dev", "--yes")
    assert column(shell("scan", "shop.orders", "-f", "jsonl"), "id") == [0, 1, 9]


def test_a_branch_is_deleted(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(2)
    shell("branches", "create", "shop.orders", "dev")
    assert "no branch 'devl'; did you mean dev?" in shell.error("branches", "delete", "shop.orders", "devl", "--yes")
    shell("branches", "delete", "shop.orders", "dev", "--dry-run")
    assert set(shell.table("shop.orders").branches()) == {"dev"}
    shell("branches", "delete", "shop.orders", "dev", "--yes")
    assert set(shell.table("shop.orders").branches()) == set()


def test_a_rollback_lists_what_it_deletes(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1, 1)
    shown = shell("rollback", "shop.orders", "--snapshot", "1", "--dry-run")
    assert "back to snapshot 1; 2 snapshots and 0 tags would be deleted" in shown
    assert len(shell.table("shop.orders").snapshots()) == 3
    assert "Snapshot 1 is the latest" in shell("rollback", "shop.orders", "--snapshot", "1", "--yes")
    assert len(shell.table("shop.orders").snapshots()) == 1


def test_rollback_to_a_tag_or_a_time(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(1, 1).create_tag("v1", 1)
    assert "back to snapshot 2" in shell("rollback", "shop.orders", "--at", "0s", "--dry-run")
    shell("rollback", "shop.orders", "--tag", "v1", "--yes")
    assert len(shell.table("shop.orders").snapshots()) == 1
    assert "one of --snapshot, --tag and --at" in shell.error("rollback", "shop.orders", "--yes", code=2)


def test_a_rollback_to_a_tag_restores_its_snapshot_although_another_one_has_the_same_id(
    shell: Shell, orders: Callable[..., Table]
) -> None:
    table = orders(1, 1, 1)
    # Paimon's fast-forward leaves such a tag of the replaced history.
    old = Tag(replace(table.snapshots()[0], id=2))
    table.store.io.create(table.store.paths.tag("old"), encode_tag(old))
    shell("rollback", "shop.orders", "--tag", "old", "--yes")
    assert [snapshot.id for snapshot in shell.table("shop.orders").snapshots()] == [1, 2]
    assert shell.table("shop.orders").scan().count() == 1


def test_commands_that_delete_ask_for_confirmation(
    shell: Shell, orders: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(1, 1)
    refused = shell.error("rollback", "shop.orders", "--snapshot", "1", code=2)
    assert "nothing was deleted: standard input is not a terminal" in refused
    monkeypatch.setattr(asking, "is_answered", lambda: True)
    declined = shell.run("rollback", "shop.orders", "--snapshot", "1", input="n\n")
    assert declined.exit_code == 1
    assert declined.stderr.endswith("error: stopped\n")
    assert len(shell.table("shop.orders").snapshots()) == 2
    shell("rollback", "shop.orders", "--snapshot", "1", input="y\n")
    assert len(shell.table("shop.orders").snapshots()) == 1
