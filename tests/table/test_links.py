"""Symbolic links in a warehouse: nothing behind one is deleted, and a directory that was moved away and linked works.

A link stands at every place of a table and leads to every kind of target; beside it lies a canary tree that nobody but
its owner may change. Either an operation does what it does without the link, or it raises one error that names a path.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from table_format import Table, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import TableFormatError, TableNotFound
from table_format.io.local import LocalFileIO
from tests.support.tables import disk_warehouse, keyed, rows_of

FUTURE = 1 << 60
OLD = (1_600_000_000, 1_600_000_000)

PLACES = (
    "link",
    ".link.uuid.tmp",
    "dt=zz",
    "dt=a/bucket-9",
    "dt=a/.bucket-9.uuid.tmp",
    "dt=a/bucket-0/data-link-0.parquet",
    "dt=a/bucket-0/.data-link-0.parquet.uuid.tmp",
    "snapshot/link",
    "snapshot/.link.uuid.tmp",
    "schema/.link.uuid.tmp",
    "manifest/manifest-link-0",
    "index/index-link-0",
    "statistics",
    "changelog",
    "consumer/.link.uuid.tmp",
    "tag/tag-link",
    "branch/branch-link",
    "branch/.branch-.uuid.tmp",
    "branch/.branch-.draft.tmp/snapshot/link",
)
TARGETS: dict[str, Callable[[Path, Path], str]] = {
    "a file": lambda outside, link: str(outside / "data-canary-0.parquet"),
    "a directory": lambda outside, link: str(outside),
    "nothing": lambda outside, link: str(outside / "gone"),
    "itself": lambda outside, link: str(link),
    "its parent": lambda outside, link: "..",
    "another table": lambda outside, link: str(root_of(link).parent / "other"),
    "another partition": lambda outside, link: str(root_of(link) / "dt=b"),
    "its snapshots": lambda outside, link: str(root_of(link) / "snapshot"),
}
TRIED = {
    **{(place, target): None for place in ("dt=zz", "snapshot/link", "branch/branch-link") for target in TARGETS},
    **{(place, target): None for place in PLACES for target in ("a directory", "its snapshots")},
}
"""All targets at the places where links were followed, and at all places the targets with most to lose."""

MOVED = (
    "",
    "db.db",
    "db.db/t",
    "db.db/t/snapshot",
    "db.db/t/schema",
    "db.db/t/manifest",
    "db.db/t/tag",
    "db.db/t/branch",
    "db.db/t/branch/branch-b",
    "db.db/t/dt=a",
    "db.db/t/dt=a/bucket-0",
    "db.db/t/snapshot/snapshot-2",
    "db.db/t/schema/schema-0",
)
"""Directories and files that are moved away, with a link in their place."""


def root_of(link: Path) -> Path:
    return next(path for path in link.parents if path.parent.name == "db.db")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with two tables, a tag and a branch, and a tree beside it whose names are those of a table."""
    base = tmp_path_factory.mktemp("links")
    warehouse = disk_warehouse(base / "warehouse")
    for name in ("t", "other"):
        table = warehouse.table(name, primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1"})
        for value in range(3):
            table.append(keyed([(1, "a", value), (2, "b", value)]))
        table.create_tag("kept", snapshot_id=1)
        table.create_branch("b", tag="kept")
    outside = base / "outside"
    for name in (
        "data-canary-0.parquet",
        ".data-canary-0.parquet.uuid.tmp",
        "snapshot-1",
        "manifest-canary-0",
        "notes",
        "bucket-0/data-canary-0.parquet",
        "bucket-0/.hidden.uuid.tmp",
        "snapshot/notes",
        "dt=zz/bucket-0/data-canary-0.parquet",
    ):
        path = outside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (outside / "empty").mkdir()
    return base


@pytest.fixture
def base(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "base", symlinks=True))


def catalog_of(base: Path) -> FileSystemCatalog:
    catalog = load_catalog({"warehouse": str(base / "warehouse")})
    assert isinstance(catalog, FileSystemCatalog)
    return catalog


def opened(base: Path, name: str = "t") -> Table:
    table = catalog_of(base).load_table(f"db.{name}")
    assert isinstance(table, Table)
    return table


def tree(directory: Path) -> dict[str, bytes | None]:
    """Everything below a directory; files with their bytes."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }


def expire(table: Table) -> None:
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)


@pytest.mark.parametrize(("place", "target"), [*TRIED])
def test_nothing_behind_a_link_is_deleted(base: Path, place: str, target: str) -> None:
    link = base / "warehouse/db.db/t" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.exists():
        shutil.rmtree(link)
    link.symlink_to(TARGETS[target](base / "outside", link))
    outside, other = tree(base / "outside"), tree(base / "warehouse/db.db/other")
    for act in (lambda t: t.append(keyed([(3, "a", 9), (4, "c", 9)])), expire, _remove_orphans):
        before = rows_after(base)
        try:
            act(opened(base))
        except (TableFormatError, OSError) as error:
            assert str(base) in str(error), repr(error)  # noqa: PT017
        if act is not _remove_orphans and before is not None:
            continue
        assert rows_after(base) == before
    assert tree(base / "outside") == outside
    assert tree(base / "warehouse/db.db/other") == other
    catalog_of(base).drop_table("db.t")
    assert not (base / "warehouse/db.db/t").exists()
    assert not [path for path in (base / "warehouse/db.db").iterdir() if "dropped" in path.name]
    assert tree(base / "outside") == outside
    assert tree(base / "warehouse/db.db/other") == other
    with pytest.raises(TableNotFound):
        catalog_of(base).load_table("db.t")


def rows_after(base: Path) -> list[tuple[object, ...]] | None:
    """The rows of the table and of its tag; ``None`` where an error says that they cannot be read."""
    with suppress(TableFormatError, OSError):
        table = opened(base)
        return [*rows_of(table), *rows_of(table, options={"scan.tag-name": "kept"})]
    return None


def _remove_orphans(table: Table) -> None:
    for path in table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).paths:
        assert not Path(path).exists()


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("moved", MOVED)
def test_what_was_moved_away_and_linked_works(base: Path, moved: str, relative: bool) -> None:
    original, away = base / "warehouse" / moved, base / "outside/moved"
    original = Path(str(original).rstrip("/"))
    original.rename(away)
    original.symlink_to(os.path.relpath(away, original.parent) if relative else away)
    canary = {name: data for name, data in tree(base / "outside").items() if not name.startswith("moved")}
    table = opened(base)
    expected = rows_of(table)
    assert rows_of(table, options={"scan.tag-name": "kept"})
    table.append(keyed([(3, "a", 9)]))
    expected = sorted([*expected, (3, "a", 9)], key=repr)
    table.compact(full=True)
    expire(table)
    table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    assert rows_of(opened(base)) == expected
    assert rows_of(opened(base), options={"scan.tag-name": "kept"}) == [(1, "a", 0), (2, "b", 0)]
    assert rows_of(opened(base, "t$branch_b")) == [(1, "a", 0), (2, "b", 0)]
    catalog = catalog_of(base)
    catalog.rename_table("db.t", "db.new")
    assert rows_of(opened(base, "new")) == expected
    catalog.drop_table("db.new")
    assert not catalog.table_exists("db.new")
    found = {name: data for name, data in tree(base / "outside").items() if not name.startswith("moved")}
    assert found == canary


def test_a_linked_table_is_dropped_as_a_link_and_its_rows_stay(base: Path) -> None:
    root, away = base / "warehouse/db.db/t", base / "moved"
    root.rename(away)
    root.symlink_to(away)
    content = tree(away)
    catalog_of(base).drop_table("db.t")
    assert not root.is_symlink()
    assert tree(away) == content


def test_a_linked_database_is_dropped_as_a_link_and_its_tables_stay(base: Path) -> None:
    database, away = base / "warehouse/db.db", base / "moved.db"
    database.rename(away)
    database.symlink_to(away)
    content = tree(away)
    catalog_of(base).drop_database("db", cascade=True)
    assert not database.is_symlink()
    assert catalog_of(base).list_databases() == ()
    assert tree(away) == content


@pytest.mark.parametrize("name", ["db.db", "db.db/t"])
def test_a_link_that_leads_nowhere_can_be_dropped(base: Path, name: str) -> None:
    path = base / "warehouse" / name
    shutil.rmtree(path)
    path.symlink_to(base / "unmounted")
    catalog = catalog_of(base)
    catalog.drop_database("db") if name == "db.db" else catalog.drop_table("db.t")
    assert not path.is_symlink()


def test_a_database_with_links_is_dropped_without_what_they_lead_to(base: Path) -> None:
    outside = tree(base / "outside")
    (base / "warehouse/db.db/linked").symlink_to(base / "outside")
    (base / "warehouse/db.db/t/dt=zz").symlink_to(base / "outside")
    catalog_of(base).drop_database("db", cascade=True)
    assert list((base / "warehouse").iterdir()) == []
    assert tree(base / "outside") == outside


@pytest.mark.parametrize("name", ["snapshot", "branch/branch-b"])
def test_orphans_are_not_looked_for_while_history_lies_on_a_disk_that_is_not_there(base: Path, name: str) -> None:
    path = base / "warehouse/db.db/t" / name
    path.rename(base / "away")
    path.symlink_to(base / "unmounted")
    files = tree(base / "warehouse/db.db/t")
    with pytest.raises((TableFormatError, OSError), match="leads nowhere"):
        _remove_orphans(opened(base))
    assert tree(base / "warehouse/db.db/t") == files


def test_cleaning_names_the_links_it_did_not_follow(base: Path) -> None:
    link = base / "warehouse/db.db/t/dt=zz"
    link.symlink_to(base / "outside")
    assert opened(base).remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).links == (str(link),)


def test_a_file_with_two_hard_links_loses_only_the_name_in_the_table(base: Path) -> None:
    inside, outside = base / "warehouse/db.db/t/dt=a/bucket-0/data-left-0.parquet", base / "outside/notes"
    inside.hardlink_to(outside)
    live = next((base / "warehouse/db.db/t/dt=a/bucket-0").glob("data-*.parquet"))
    (base / "outside/kept").hardlink_to(live)
    expected, data = rows_of(opened(base)), live.read_bytes()
    assert opened(base).remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).paths == (str(inside),)
    assert rows_of(opened(base)) == expected
    catalog_of(base).drop_table("db.t")
    assert (outside.read_bytes(), (base / "outside/kept").read_bytes()) == (b"notes", data)


def test_a_drop_that_cannot_finish_leaves_no_table_and_can_be_repeated(base: Path, monkeypatch) -> None:
    def refuse(io: LocalFileIO, directory: str) -> None:
        raise OSError(13, "permission denied", directory)

    with monkeypatch.context() as patched:
        patched.setattr(LocalFileIO, "delete_tree", refuse)
        for _ in range(2):
            with pytest.raises(OSError, match="drop it again"):
                catalog_of(base).drop_table("db.t")
            assert catalog_of(base).list_tables("db") == ("other",)
    catalog_of(base).drop_table("db.t")
    assert [path.name for path in (base / "warehouse/db.db").iterdir()] == ["other"]
    with pytest.raises(TableNotFound):
        catalog_of(base).drop_table("db.t")


def test_a_rename_that_was_killed_can_be_repeated(base: Path) -> None:
    (base / "warehouse/db.db/new").mkdir()
    expected = rows_of(opened(base))
    catalog_of(base).rename_table("db.t", "db.new")
    assert rows_of(opened(base, "new")) == expected
