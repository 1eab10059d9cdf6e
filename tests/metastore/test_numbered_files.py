from __future__ import annotations

import pytest

from table_format.codecs.publishable import snapshot_bytes
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import AlreadyExistsError, BadEncoding
from table_format.io.paths import snapshot_id_of
from table_format.metastore.numbered_files import NumberedFiles
from tests.support.metastore_table import a_table


@pytest.fixture
def table():
    table = a_table()
    for identifier in range(3):
        table.append(identifier=identifier)
    return table


def files_of(table) -> NumberedFiles:
    paths = table.store.paths
    return NumberedFiles(
        table.store,
        "snapshot",
        paths.snapshot_directory,
        paths.snapshot,
        snapshot_id_of,
        lambda data, path: decode_snapshot(data, path=path),
    )


def test_ids_are_those_of_the_files_and_of_nothing_else_in_the_directory(table):
    table.store.io.create(f"{table.store.paths.snapshot_directory}/snapshot-x", b"")
    files_of(table).delete(2)
    assert files_of(table).ids() == [1, 3]


def test_a_file_that_holds_another_number_than_its_name_is_damaged(table):
    paths, io = table.store.paths, table.store.io
    io.overwrite(paths.snapshot(2), io.read(paths.snapshot(1)))
    with pytest.raises(BadEncoding, match="snapshot-2: expected snapshot 2, found snapshot 1"):
        files_of(table).find(2)


def test_a_number_belongs_to_the_process_that_created_its_file(table):
    files, path = files_of(table), table.store.paths.snapshot(3)
    files.create(3, table.store.io.read(path), give_up_after_ms=1)  # the same bytes: our own earlier request
    other = snapshot_bytes(table.append(identifier=9), path=path)
    with pytest.raises(AlreadyExistsError, match="snapshot 3 already exists"):
        files.create(3, other, give_up_after_ms=1)
