"""The files of messages that were never committed, and their deletion without a committer."""

from __future__ import annotations

from dataclasses import replace

from table_format.metastore.commit.message_files import delete_message_files, message_files
from tests.support.metastore_table import a_table


def test_an_upgraded_file_belongs_to_the_table_unless_it_is_new_itself() -> None:
    table = a_table(primary_keys=("k",))
    file = table.file(1)
    new = table.message(new_files=(file,))
    upgraded = table.message(compact_before=(file,), compact_after=(replace(file, level=5),))
    both = replace(upgraded, new_files=(file,))
    assert message_files(table.store, table.partitions, [new]).names == {file.file_name}
    assert not message_files(table.store, table.partitions, [upgraded]).names
    assert message_files(table.store, table.partitions, [both]).names == {file.file_name}


def test_kept_names_are_left_out_and_extra_files_are_taken_along() -> None:
    table = a_table()
    first, second = table.file(1), replace(table.file(2), extra_files=("beside.index",))
    message = table.message(new_files=(first, second))
    files = message_files(table.store, table.partitions, [message], kept={first.file_name})
    assert files.names == {second.file_name}
    assert [path.rpartition("/")[2] for path in files.paths] == [second.file_name, "beside.index"]


def test_the_files_of_messages_are_deleted_without_reading_the_table() -> None:
    table = a_table()
    message = table.message(new_files=(table.file(1), table.file(2)))
    before = table.all_files()
    table.write(message)
    table.io.calls.clear()
    delete_message_files(table.store, table.partitions, [message])
    assert [verb for verb, _ in table.io.calls] == ["delete", "delete"]
    assert table.all_files() == before
