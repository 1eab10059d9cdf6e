"""Files whose names state their content: damaged or exchanged, they never change what a table holds."""

from __future__ import annotations

from functools import cache
from itertools import chain, islice
from typing import cast

import pytest
from xxhash import xxh3_64_intdigest

from table_format import Table, load_catalog
from table_format.codecs.content_name import check_content, stated_hash
from table_format.errors import CorruptionError
from table_format.io.memory import MemoryFileIO
from tests.corruption.contents import OPERATIONS, TABLES, Ground, count, lookalikes, randomly
from tests.corruption.sweep import flips, truncations
from tests.support.tables import KEYED, keyed, memory_warehouse, rows_of

ground = cache(Ground)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", TABLES)
def test_damaged_and_exchanged_files_give_the_same_rows_or_an_error_that_names_them(kind: str, operation: str) -> None:
    found = count(ground(kind), operation, randomly(ground(kind), operation, 6))
    assert not found.wrong
    assert found.outcomes.total() >= 8


@pytest.mark.parametrize("kind", TABLES)
def test_every_flipped_bit_and_every_truncation_of_every_such_file_is_noticed(kind: str) -> None:
    tried = 0
    for path in ground(kind).targets:
        data = ground(kind).files[path]
        expected = stated_hash(path.rpartition("/")[2])
        check_content(data, path=path)
        for _, damaged in chain(flips(data), truncations(data)):
            assert xxh3_64_intdigest(damaged) != expected
            tried += 1
    assert tried > 50_000


@pytest.mark.parametrize("operation", ["scan", "point reads", "upsert of all keys", "compact"])
@pytest.mark.parametrize("kind", TABLES)
def test_exchanged_files_of_equal_size_are_noticed(kind: str, operation: str) -> None:
    some = list(lookalikes(ground(kind)))
    found = count(ground(kind), operation, iter(some[:: -(-len(some) // 8)]))
    assert found.outcomes.total() >= 2
    assert not found.wrong


@pytest.mark.parametrize(
    ("kind", "operation", "place"),
    [
        ("dynamic buckets", "upsert of all keys", "table_format.indexes.hash_index"),
        ("wide deletion vectors", "scan", "table_format.indexes.deletion_vectors"),
        ("indexes beside", "point reads", "table_format.indexes.index_container"),
    ],
)
def test_without_the_check_exchanged_files_change_what_is_read(
    kind: str, operation: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{place}.check_content", lambda data, *, path: None)
    damages = chain(lookalikes(ground(kind)), randomly(ground(kind), "mutant", 40))
    assert any(count(ground(kind), operation, iter([damage])).wrong for damage in damages)


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_flipped_bit_in_statistics_is_noticed_by_the_check_alone(
    is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_checked:
        monkeypatch.setattr("table_format.metastore.manifest.statistics_file.check_content", lambda data, *, path: None)
    sound = ground("indexes beside")
    (path,) = (path for path in sound.targets if "/statistics/" in path)
    some = ((what, {path: damaged}) for what, damaged in islice(flips(sound.files[path]), 0, None, 13))
    found = count(sound, "statistics", some)
    assert found.outcomes.total() > 60
    assert bool(found.wrong) != is_checked


def _partitions() -> tuple[MemoryFileIO, Table, list[str]]:
    """A table with a manifest for each partition, and the paths of two of equal size."""
    warehouse = memory_warehouse()
    table = warehouse.table(schema=KEYED, partition_keys=["dt"], options={"manifest.merge-min-count": "99"})
    for day in "abcdefgh":
        table.append(keyed([(1, day, ord(day))]))
    assert isinstance(warehouse.io, MemoryFileIO)
    directory = table.store.paths.manifest_directory
    sizes: dict[int, list[str]] = {}
    for child in warehouse.io.list(directory):
        if child.name.startswith("manifest-") and not child.name.startswith("manifest-list-"):
            sizes.setdefault(child.size, []).append(f"{directory}/{child.name}")
    return warehouse.io, warehouse.reopened(table), max(sizes.values(), key=len)[:2]


def _read_exchanged() -> list[str]:
    """What reading each partition gives when two manifests are exchanged: its rows, or which error."""
    io, table, pair = _partitions()
    one, other = (io.read(path) for path in pair)
    assert one != other
    io.overwrite(pair[0], other)
    io.overwrite(pair[1], one)
    # Another process: this one has the manifests in memory, as they were.
    table = cast("Table", load_catalog({"warehouse": "/warehouse"}, file_io=io).load_table(str(table.identifier)))
    found = []
    for day in "abcdefgh":
        try:
            rows = rows_of(table, filter=f"dt = '{day}'")
            found.append("right" if rows == [(1, day, ord(day))] else "wrong")
        except CorruptionError as error:
            found.append("named" if error.path in pair else "nameless")
    return found


def test_exchanged_manifests_of_equal_size_are_noticed_where_they_are_read() -> None:
    found = _read_exchanged()
    assert sorted(set(found)) == ["named", "right"]
    assert found.count("named") == 2


def test_without_the_check_exchanged_manifests_hide_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("table_format.metastore.manifest.manifest_store.check_content", lambda data, *, path: None)
    assert _read_exchanged().count("wrong") == 2
