from __future__ import annotations

import pytest

from table_format.errors import CorruptionError
from table_format.metastore.expiry.expire_tags import expire_tags
from table_format.metastore.references.tag_store import TagStore
from tests.support.metastore_table import HOUR, MetastoreTable, a_table, committable, failing

ALL_BUT_ONE = {"retain_min": 1, "retain_max": 1, "retain_floor_ms": 0}


def tagged(count: int, *, kept: int = 0) -> MetastoreTable:
    """A table whose every expired snapshot has a tag with a file of its own; the first ``kept`` tags stay longer."""
    table = a_table(primary_keys=("k",))
    tags = TagStore(table.store)
    for number in range(count):
        table.append(table.file(number), identifier=2 * number)
        tags.create(f"t{number:03}", table.snapshots.latest(), time_retained_ms=10 * HOUR if number < kept else HOUR)
        live = [entry.file for entry in table.live()]
        message = table.message(compact_before=tuple(live), compact_after=(table.file(0, 9, level=5),))
        table.write(message)
        table.committer().commit(committable(2 * number + 1, message))
    table.expire(**ALL_BUT_ONE)
    assert len(table.snapshots.ids()) == 1
    table.clock.ms += 2 * HOUR
    table.io.calls.clear()
    return table


def test_tags_that_expire_together_leave_what_all_others_need():
    table = tagged(6, kept=2)
    kept = [table.live_names(TagStore(table.store).load(name).snapshot) for name in ("t000", "t001")]
    assert expire_tags(table.store, table.options) == ("t002", "t003", "t004", "t005")
    assert TagStore(table.store).names() == ["t000", "t001"]
    assert [table.live_names(TagStore(table.store).load(name).snapshot) for name in ("t000", "t001")] == kept
    assert table.all_files() == table.reachable()
    table.clock.ms += 10 * HOUR
    expire_tags(table.store, table.options)
    assert table.all_files() == table.reachable()


def test_the_expiry_of_many_tags_reads_each_tag_a_few_times():
    few, many = tagged(5), tagged(20)
    for table in (few, many):
        expire_tags(table.store, table.options)
    assert TagStore(many.store).names() == []
    # Each further tag costs the same: the tags that must stay are read once for all, not once for each.
    assert len(many.io.calls) < 4 * len(few.io.calls)


def test_no_expired_tag_is_deleted_if_the_files_of_another_cannot_be_read():
    table = tagged(4, kept=1)
    kept = TagStore(table.store).load("t000").snapshot
    table.io.before("read", kept.delta_manifest_list, failing(CorruptionError(kept.delta_manifest_list, "damaged")))
    before = table.all_files()
    with pytest.raises(CorruptionError, match="damaged"):
        expire_tags(table.store, table.options)
    assert table.all_files() == before  # also no notice is left, so the tags keep their snapshots
    table.io.calm()
    assert expire_tags(table.store, table.options) == ("t001", "t002", "t003")


def test_an_interrupted_expiry_of_tags_continues():
    table = tagged(4)
    table.io.before("delete", "tag-t002", failing(OSError("lost")))
    with pytest.raises(OSError, match="lost"):
        expire_tags(table.store, table.options)
    table.io.calm()
    assert expire_tags(table.store, table.options) == ("t002", "t003")
    assert table.all_files() == table.reachable()


def test_two_expired_tags_of_one_snapshot_are_deleted_with_its_files():
    table = tagged(2)
    tags = TagStore(table.store)
    tags.create("also", tags.load("t001").snapshot, time_retained_ms=0)
    table.clock.ms += 1
    assert expire_tags(table.store, table.options) == ("also", "t000", "t001")
    assert table.all_files() == table.reachable()
