"""Databases, tables, branches and tags of one warehouse in S3 are those of the real Paimon and of this library."""

from __future__ import annotations

import pytest

from tests.oracle.conftest import SharedLake
from tests.oracle.shared_tables import make, opened, read, write


def databases(lake: SharedLake) -> list[str]:
    found = list(lake.ours.list_databases())
    assert found == lake.theirs.catalog(lake.uri, "databases")
    return found


def tables(lake: SharedLake) -> list[str]:
    found = list(lake.ours.list_tables("db"))
    assert found == lake.theirs.catalog(lake.uri, "tables", "db")
    return found


@pytest.mark.parametrize("by_us", [True, False], ids=["ours", "theirs"])
def test_an_empty_database_exists_for_both_until_either_drops_it(lake_on_moto: SharedLake, by_us: bool) -> None:
    lake = lake_on_moto
    if by_us:
        lake.ours.create_database("db")
    else:
        lake.theirs.catalog(lake.uri, "create_database", "db")
    assert databases(lake) == ["db"]
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=not by_us)
    if by_us:
        lake.theirs.catalog(lake.uri, "drop_table", "db.t")
    else:
        lake.ours.drop_table("db.t")
    assert tables(lake) == []
    assert databases(lake) == ["db"]
    if by_us:
        lake.theirs.catalog(lake.uri, "drop_database", "db")
    else:
        lake.ours.drop_database("db")
    assert databases(lake) == []


@pytest.mark.parametrize("dropped_by_us", [True, False])
def test_a_dropped_table_can_be_created_again_by_the_other(lake_on_moto: SharedLake, dropped_by_us: bool) -> None:
    lake = lake_on_moto
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    write(lake, [(2, "b", 2)], by_us=False)
    if dropped_by_us:
        lake.ours.drop_table("db.t")
    else:
        lake.theirs.catalog(lake.uri, "drop_table", "db.t")
    assert tables(lake) == []
    make(lake, {"bucket": "1"}, by_us=not dropped_by_us)
    assert read(lake) == []
    write(lake, [(3, "a", 3)], by_us=dropped_by_us)
    assert read(lake) == [(3, "a", 3)]


def test_we_go_on_with_a_table_that_paimon_has_renamed(lake_on_moto: SharedLake) -> None:
    lake = lake_on_moto
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a/b", 1)], by_us=True)
    lake.theirs.catalog(lake.uri, "rename_table", "db.t", "db.renamed")
    assert tables(lake) == ["renamed"]
    write(lake, [(2, "c", 2)], by_us=True, name="db.renamed")
    assert read(lake, "db.renamed") == [(1, "a/b", 1), (2, "c", 2)]


def test_tags_branches_and_consumers_are_those_of_both(lake_on_moto: SharedLake) -> None:
    lake = lake_on_moto
    make(lake, {"bucket": "1"}, by_us=True)
    write(lake, [(1, "a", 1)], by_us=True)
    opened(lake).create_tag("ours")
    opened(lake).create_branch("our_branch", tag="ours")
    write(lake, [(2, "a", 2)], by_us=False)
    lake.theirs.history(lake.uri, "db.t", "create_tag", "theirs")
    lake.theirs.history(lake.uri, "db.t", "branch_from_tag", "their_branch", "theirs")
    opened(lake).reset_consumer("reader", 2)
    assert lake.theirs.kept(lake.uri, "db.t") == {
        "tags": {"ours": 1, "theirs": 2},
        "branches": ["our_branch", "their_branch"],
        "consumers": {"reader": 2},
    }
    assert {name: tag.snapshot.id for name, tag in opened(lake).tags().items()} == {"ours": 1, "theirs": 2}
    write(lake, [(3, "b", 3)], by_us=True, name="db.t$branch_their_branch")
    write(lake, [(4, "b", 4)], by_us=False, name="db.t$branch_our_branch")
    assert read(lake, "db.t$branch_their_branch") == [(1, "a", 1), (2, "a", 2), (3, "b", 3)]
    assert read(lake, "db.t$branch_our_branch") == [(1, "a", 1), (4, "b", 4)]
    opened(lake).delete_branch("their_branch")
    opened(lake).delete_tag("theirs")
    left = {"tags": {"ours": 1}, "branches": ["our_branch"], "consumers": {"reader": 2}}
    assert lake.theirs.kept(lake.uri, "db.t") == left
