from __future__ import annotations

import pytest

from table_format.errors import (
    AlreadyExistsError,
    InvalidIdentifier,
    InvalidOption,
    SnapshotExpired,
    SnapshotNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from table_format.table.table import Table
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


def filled(warehouse: Warehouse, count: int = 3, **options: str) -> Table:
    """A table with one row more in each snapshot."""
    named = {key.replace("_", "-").replace("--", "."): value for key, value in options.items()}
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", **named})
    for number in range(1, count + 1):
        table.append(keyed([(number, "d", number)]))
    return table


def expire_all_but(table: Table, count: int) -> None:
    table.expire_snapshots(retain_min=count, retain_max=count, older_than_ms=1 << 60, retain_floor_ms=0)


def ids_at(table: Table, tag: str) -> list[int]:
    return [row[0] for row in rows_of(table, options={"scan.tag-name": tag})]


def test_a_tag_reads_after_its_snapshot_has_expired():
    table = filled(memory_warehouse())
    table.create_tag("tag1", 1)
    expire_all_but(table, 1)
    assert [s.id for s in table.snapshots()] == [3]
    assert ids_at(table, "tag1") == [1]
    assert ids_at(table, "tag1") == [row[0] for row in rows_of(table, options={"scan.version": "tag1"})]


def test_the_snapshot_of_a_tag_alone_is_not_a_snapshot_to_travel_to():
    # As in the reference: the id means nothing any more, the tag does.
    table = filled(memory_warehouse())
    table.create_tag("tag1", 1)
    expire_all_but(table, 1)
    with pytest.raises(SnapshotExpired):
        table.scan(options={"scan.snapshot-id": "1"}).plan()


def test_a_second_tag_may_name_what_only_a_first_keeps():
    table = filled(memory_warehouse())
    table.create_tag("tag1", 1)
    expire_all_but(table, 1)
    table.create_tag("again", 1)
    table.delete_tag("tag1")
    assert ids_at(table, "again") == [1]
    table.delete_tag("again")
    with pytest.raises(SnapshotExpired):
        table.create_tag("late", 1)


def test_an_existing_tag_stays_as_it_is_or_is_an_error():
    table = filled(memory_warehouse())
    made = table.create_tag("t", 1)
    assert table.create_tag("t", 2, ignore_if_exists=True) == made
    with pytest.raises(AlreadyExistsError, match="tag 't'"):
        table.create_tag("t", 2)


def test_a_tag_of_an_empty_table_is_refused():
    table = memory_warehouse().table()
    with pytest.raises(SnapshotNotFound, match="no snapshot yet"):
        table.create_tag("t")


@pytest.mark.parametrize("name", ["", "  ", "7", "../x", "a/b", "a\0b", "."])
def test_names_of_tags_are_checked(name: str):
    table = filled(memory_warehouse(), 1)
    with pytest.raises(InvalidIdentifier):
        table.create_tag(name)
    table.create_tag("good")
    with pytest.raises(InvalidIdentifier):
        table.rename_tag("good", name)
    assert list(table.tags()) == ["good"]


def test_a_tag_gets_another_name():
    table = filled(memory_warehouse())
    tag = table.create_tag("old", 1, time_retained_ms=60_000)
    table.create_tag("other")
    table.rename_tag("old", "new")
    assert table.tags()["new"] == tag
    assert sorted(table.tags()) == ["new", "other"]
    with pytest.raises(AlreadyExistsError):
        table.rename_tag("new", "other")
    with pytest.raises(TagNotFound):
        table.rename_tag("old", "newer")


def test_a_replaced_tag_lets_go_what_it_kept():
    warehouse = memory_warehouse()
    table = filled(warehouse)
    table.compact(full=True)
    table.create_tag("t", 1)
    expire_all_but(table, 1)
    before = warehouse.files(table)
    table.replace_tag("t")
    assert ids_at(table, "t") == [1, 2, 3]
    assert len([f for f in before if "/data-" in f]) > len([f for f in warehouse.files(table) if "/data-" in f])
    with pytest.raises(TagNotFound):
        table.replace_tag("unknown")


def test_a_default_time_is_given_to_new_tags_only():
    table = filled(memory_warehouse(), tag__default_time_retained="1 h")
    assert table.create_tag("t").time_retained_ms == 3_600_000
    assert table.create_tag("u", time_retained_ms=5).time_retained_ms == 5
    assert table.replace_tag("t", 1).time_retained_ms is None


def test_tags_expire_by_their_time():
    table = filled(memory_warehouse())
    table.create_tag("for ever", 1)
    table.create_tag("short", 1, time_retained_ms=1)
    table.create_tag("long", 2, time_retained_ms=86_400_000)
    table.store.runtime.clock.sleep_ms(5)
    assert table.expire_tags(dry_run=True) == ("short",)
    assert "short" in table.tags()
    assert table.expire_tags() == ("short",)
    later = table.store.runtime.clock.now_ms() + 60_000
    assert sorted(table.expire_tags(older_than_ms=later)) == ["for ever", "long"]
    assert table.tags() == {}


def test_a_commit_expires_tags_unless_told_not_to():
    warehouse = memory_warehouse()
    table = filled(warehouse)
    table.create_tag("short", time_retained_ms=1)
    table.store.runtime.clock.sleep_ms(5)
    table.copy({"tag.time-expire-enabled": "false"}).append(keyed([(9, "d", 9)]))
    assert list(table.tags()) == ["short"]
    table.append(keyed([(10, "d", 10)]))
    assert list(table.tags()) == []


def test_a_commit_makes_the_tag_of_the_day():
    table = filled(memory_warehouse(), tag__automatic_creation="process-time", sink__process_time_zone="UTC")
    assert len(table.tags()) == 1
    assert table.create_automatic_tags() == ()


def test_a_write_only_table_makes_its_tags_when_asked():
    table = filled(memory_warehouse(), tag__automatic_creation="process-time", write_only="true")
    assert table.tags() == {}
    assert table.create_automatic_tags() == tuple(table.tags()) != ()


def test_the_batch_tag_moves_to_the_latest_snapshot():
    table = filled(memory_warehouse(), tag__automatic_creation="batch")
    (name,) = table.tags()
    assert name.startswith("batch-write-")
    assert table.tags()[name].snapshot.id == 3
    named = table.copy({"tag.batch.customized-name": "nightly"})
    named.append(keyed([(4, "d", 4)]))
    assert {n: t.snapshot.id for n, t in table.tags().items()} == {name: 3, "nightly": 4}


def test_only_tags_that_commits_made_are_counted():
    table = filled(memory_warehouse(), 1, tag__automatic_creation="batch", tag__num_retained_max="1")
    table.create_tag("mine", 1)
    for name in ("n1", "n2"):
        table.copy({"tag.batch.customized-name": name}).append(keyed([(5, "d", 5)]))
    assert "mine" in table.tags()


def test_two_automatic_tags_cannot_share_a_snapshot():
    table = filled(memory_warehouse(), tag__automatic_creation="process-time")
    (made,) = table.tags()
    with pytest.raises(AlreadyExistsError, match=made):
        table.create_tag("2001-01-01", table.tags()[made].snapshot.id)
    table.create_tag("mine", table.tags()[made].snapshot.id)
    with pytest.raises(AlreadyExistsError, match=made):
        table.rename_tag("mine", "2001-01-01")
    table.rename_tag("mine", "other")
    table.create_tag("2001-01-01", 2)
    with pytest.raises(AlreadyExistsError, match=made):
        table.replace_tag("2001-01-01", table.tags()[made].snapshot.id)
    table.rename_tag("2001-01-01", "2001-01-02")
    table.replace_tag("2001-01-02", 3)
    assert {name: tag.snapshot.id for name, tag in table.tags().items()} == {made: 1, "2001-01-02": 3, "other": 1}


def test_options_of_tags_are_checked():
    warehouse = memory_warehouse()
    with pytest.raises(InvalidOption, match=r"tag.period-formatter"):
        warehouse.table(options={"tag.period-formatter": "with-dashes"})
    with pytest.raises(InvalidOption, match=r"tag.creation-delay"):
        warehouse.table(options={"tag.creation-delay": "1 d", "tag.automatic-creation": "process-time"})
    with pytest.raises(InvalidOption, match=r"sink.process-time-zone"):
        warehouse.table(options={"sink.process-time-zone": "Mars/Olympus"})
    with pytest.raises(UnsupportedFeature):
        warehouse.table(options={"tag.create-success-file": "true"})
