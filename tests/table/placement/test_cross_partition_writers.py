"""Several writers of a table whose keys may change their partition: none leaves a key in two of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from table_format.errors import ConflictError, KeyPlacesChanged
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import CommitKind
from table_format.runtime import Runtime
from table_format.table.rows.input import Rows
from table_format.table.write.table_write import TableWrite
from tests.support.moving_keys import (
    index_content,
    moving,
    places_of,
    rows,
    with_runtime,
)
from tests.support.tables import Warehouse, memory_warehouse, rows_of


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


def test_a_writer_that_others_have_overtaken_is_refused(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    first, second = table.new_write().write(rows((1, "p2", 2))), table.new_write().write(rows((1, "p3", 3)))
    table.new_commit().commit(first)
    with pytest.raises(KeyPlacesChanged, match=r"after snapshot 1, .*the latest is 2.*write the rows again"):
        table.new_commit().commit(second)
    table.new_commit().abort(second)
    assert rows_of(table) == [(1, "p2", 2)]


def test_a_compaction_in_between_is_no_reason_to_refuse(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    table.append(rows((1, "p1", 2)))
    messages = table.new_write().write(rows((1, "p2", 2)))
    assert [s.commit_kind for s in table.compact(full=True)] == [CommitKind.COMPACT]
    table.new_commit().commit(messages)
    assert rows_of(table) == [(1, "p2", 2)]


def test_append_gives_rows_their_places_again(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    other = warehouse.reopened(table)
    real, overtaken = TableWrite.write, []
    mine = rows((1, "p2", 2))

    def slow(self: TableWrite, data: Rows) -> tuple[CommitMessage, ...]:
        messages = real(self, data)
        if data is mine and len(overtaken) < 2:
            overtaken.append(self)
            other.append(rows((1, f"o{len(overtaken)}", 5)))
        return messages

    monkeypatch.setattr(TableWrite, "write", slow)
    table.append(mine)
    assert len(overtaken) == 2
    assert rows_of(table) == [(1, "p2", 2)]
    assert index_content(table) == places_of(table)


@pytest.mark.parametrize("seed", range(2))
def test_writers_whose_steps_interleave_leave_each_key_in_one_partition(warehouse: Warehouse, seed: int) -> None:
    chance = random.Random(seed)
    table = moving(warehouse, dynamic_bucket__target_row_num="3")
    expected: dict[int, tuple[str, int]] = {}
    refused = 0
    for turn in range(8):
        prepared = []
        for number in range(chance.randrange(1, 4)):
            data = {k: (chance.choice("abc"), turn * 10 + number) for k in chance.sample(range(9), 3)}
            prepared.append((table.new_write().write(rows(*((k, p, v) for k, (p, v) in data.items()))), data))
        for messages, data in prepared:
            try:
                table.new_commit().commit(messages)
            except KeyPlacesChanged:
                table.new_commit().abort(messages)
                refused += 1
            else:
                expected |= data
    assert index_content(table) == places_of(table)
    assert rows_of(table) == sorted((k, p, v) for k, (p, v) in expected.items())
    assert refused


def test_one_writer_goes_on_over_several_commits(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write, commit = table.new_write("w"), table.new_commit("w")
    for day in range(3):
        first = write.write(rows((1, f"d{day}", day)))
        # What is written and not committed yet is known to the next rows.
        second = write.write(rows((1, f"e{day}", day), (day + 10, "x", day)))
        commit.commit([*first, *second], identifier=day)
        assert (1, f"e{day}", day) in rows_of(table)
        assert index_content(table) == places_of(table)
    lone = write.write(rows((1, "f", 1)))
    late = write.write(rows((1, "g", 1)))
    commit.commit(lone, identifier=10)
    with pytest.raises(ConflictError, match="commit the messages of several writes together"):
        commit.commit(late, identifier=11)


def test_a_message_is_not_committed_before_the_earlier_one_of_its_write(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "a", 1)))
    write = table.new_write()
    first = write.write(rows((1, "b", 2)))
    second = write.write(rows((1, "c", 3)))  # deletes the key in b, although the table has it in a
    with pytest.raises(ConflictError, match=r"which the table does not have.*together or in their order"):
        table.new_commit().commit(second)
    assert rows_of(table) == [(1, "a", 1)]
    table.new_commit().commit([*first, *second])
    assert rows_of(table) == [(1, "c", 3)]


def test_a_part_of_the_messages_of_an_earlier_call_is_not_enough(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "a", 1)))
    write = table.new_write()
    first = write.write(rows((1, "b", 2)))
    assert len(first) == 2
    second = write.write(rows((1, "c", 3)))
    for part in first:
        with pytest.raises(ConflictError, match="which the table does not have"):
            table.new_commit().commit([part, *second])
    assert rows_of(table) == [(1, "a", 1)]


def test_messages_with_other_keys_are_committed_one_after_the_other(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write = table.new_write()
    messages = [write.write(rows((k, "a", k))) for k in range(4)]
    for one in messages[:3]:
        table.new_commit().commit(one)
        warehouse.reopened(table).append(rows((10, "b", 1)))  # a new base for the rest
    table.new_commit().commit(messages[3])
    assert sorted(rows_of(table)) == [(0, "a", 0), (1, "a", 1), (2, "a", 2), (3, "a", 3), (10, "b", 1)]


def test_a_message_is_not_committed_after_the_earlier_one_was_rolled_back(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows((1, "a", 1)))
    write = table.new_write()
    first, second = write.write(rows((1, "b", 2))), write.write(rows((2, "c", 3)))
    table.new_commit().commit(first)
    table.rollback_to(1)
    with pytest.raises(ConflictError, match="its commit was rolled back"):
        table.new_commit().commit(second)
    assert rows_of(table) == [(1, "a", 1)]


def test_rows_that_were_placed_after_a_commit_name_no_message_before_it(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write = table.new_write("w")
    table.new_commit("w").commit(write.write(rows((1, "a", 1))), identifier=1)
    [message] = write.write(rows((2, "a", 2)))
    assert message.key_places_after == ()
    table.expire_snapshots(retain_max=1, retain_min=1)
    table.new_commit("w").commit([message], identifier=2)
    assert rows_of(table) == [(1, "a", 1), (2, "a", 2)]


def test_messages_of_an_overwrite_rely_on_no_other(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write = TableWrite(table.facts, replacing=True)
    messages = [*write.write(rows((1, "a", 1))), *write.write(rows((2, "b", 2)))]
    assert [m.key_places_after for m in messages] == [(), ()]
