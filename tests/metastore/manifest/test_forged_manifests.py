"""Manifests of other writers with invalid numbers: every operation raises an error that names the manifest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from table_format import Table, load_catalog
from table_format.codecs.manifest_avro import (
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
)
from table_format.codecs.snapshot_json import encode_snapshot
from table_format.errors import CorruptionError, InvalidInputError, TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.model.manifest import ManifestEntry
from table_format.runtime import SystemClock
from table_format.table.system.registry import open_system_table
from tests.simulation.drawn import copied
from tests.support.metastore_table import a_table, committable
from tests.support.tables import keyed, memory_warehouse

FOREIGN_MANIFEST = "manifest-3f0c1f9e-5d52-4e38-9b5a-0d6c6f6f3c11-0"
FOREIGN_LIST = "manifest-list-7c1b6a52-0f43-4c0e-8b1d-5a1f0f6f9e22-0"
"""Names of other writers, which do not contain a hash of the content."""

EXTREMES = (-(2**63), -(2**31), -3, 2**31, 2**40, 2**62 + 1, 2**63 - 2, 2**63 - 1)
Change = Callable[[ManifestEntry, int], ManifestEntry]
DAMAGES: dict[str, tuple[Change, tuple[int, ...]]] = {
    "min_sequence_number": (lambda e, n: replace(e, file=replace(e.file, min_sequence_number=n)), EXTREMES),
    "max_sequence_number": (
        lambda e, n: replace(e, file=replace(e.file, max_sequence_number=n)),
        (-(2**63), -(2**31), -3, 2**62 + 1, 2**63 - 2, 2**63 - 1),
    ),
    "both": (
        lambda e, n: replace(e, file=replace(e.file, min_sequence_number=n, max_sequence_number=n)),
        (-(2**63), -2, 2**62 + 1, 2**63 - 1),
    ),
    "level": (lambda e, n: replace(e, file=replace(e.file, level=n)), (-1, -(2**31))),
    "row_count": (lambda e, n: replace(e, file=replace(e.file, row_count=n)), (-1, -(2**63))),
    "file_size": (lambda e, n: replace(e, file=replace(e.file, file_size=n)), (-1, -(2**63))),
    "delete_row_count": (lambda e, n: replace(e, file=replace(e.file, delete_row_count=n)), EXTREMES),
    "schema_id": (lambda e, n: replace(e, file=replace(e.file, schema_id=n)), (-1, -(2**63))),
    "bucket": (lambda e, n: replace(e, bucket=n), (-3, -(2**31))),
    "total_buckets": (lambda e, n: replace(e, total_buckets=n), (-3, -(2**31))),
}
"""Numbers that no data file can have."""

PLAUSIBLE = {
    "row_count": (0, 2**31, 2**62, 2**63 - 1),
    "file_size": (0, 2**31, 2**62, 2**63 - 1),
    "level": (1, 5, 100, 2**31 - 1),
    "schema_id": (1, 2**31, 2**63 - 1),
    "min_sequence_number": (0, 1),
    "max_sequence_number": (7, 2**62),
    "creation_time": (-(2**63), 2**63 - 1),
    "delete_row_count": (0, 1, 2),
    "first_row_id": (0, 2**63 - 1),
}
"""Numbers that a data file could have, but that are wrong."""


def system_table(table: Table, name: str) -> object:
    return open_system_table(table, name).scan().to_arrow()


WORK: dict[str, Callable[[Table], object]] = {
    "scan": lambda t: t.scan().to_arrow(),
    "filter": lambda t: t.scan(filter="id = 1").to_arrow(),
    "append": lambda t: t.append(keyed([(7, "a", 7)])),
    "overwrite": lambda t: t.overwrite(keyed([(7, "a", 7)])),
    "delete": lambda t: t.delete("id = 1"),
    "compact": lambda t: t.compact(full=True),
    "analyze": lambda t: t.analyze(["id"]),
    "files": lambda t: system_table(t, "files"),
    "manifests": lambda t: system_table(t, "manifests"),
    "partitions": lambda t: system_table(t, "partitions"),
    "tags": lambda t: (t.create_tag("x"), t.delete_tag("x")),
    "expire": lambda t: t.expire_snapshots(retain_floor_ms=0, older_than_ms=2**62, retain_min=1),
    "orphans": lambda t: t.remove_orphan_files(older_than_ms=2**62, dry_run=True, nobody_else_writes=True),
}


@cache
def sound_table(kind: str) -> MemoryFileIO:
    """The store of a table, of which each trial takes a copy."""
    options: dict[str, Any] = {} if kind == "append" else {"primary_keys": ["id"]}
    warehouse = memory_warehouse()
    table = warehouse.table("t", options={"manifest.compression": "none"}, **options)
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.append(keyed([(1, "a", 3)]))
    assert isinstance(warehouse.io, MemoryFileIO)
    return warehouse.io


def forged(kind: str, change: Callable[[ManifestEntry], ManifestEntry]) -> tuple[MemoryFileIO, str]:
    """The store of a table whose latest manifest, from another writer and listed with its size, has changed values."""
    io = copied(sound_table(kind), SystemClock())
    table = opened(io)
    latest = table.latest_snapshot()
    assert latest is not None
    manifest = table.facts.manifests.delta_manifests(latest)[0]
    paths = table.store.paths
    entries = decode_manifest(io.read(paths.manifest(manifest.file_name)), path="")
    data = encode_manifest([change(entry) for entry in entries], compression="none")
    path = paths.manifest(FOREIGN_MANIFEST)
    io.create(path, data)
    listed = decode_manifest_list(io.read(paths.manifest(latest.delta_manifest_list)), path="")
    forged = [
        replace(m, file_name=FOREIGN_MANIFEST, file_size=len(data)) if m.file_name == manifest.file_name else m
        for m in listed
    ]
    io.create(paths.manifest(FOREIGN_LIST), encode_manifest_list(forged, compression="none"))
    snapshot = replace(latest, delta_manifest_list=FOREIGN_LIST, delta_manifest_list_size=None)
    io.overwrite(paths.snapshot(latest.id), encode_snapshot(snapshot))
    return io, path


def opened(io: MemoryFileIO) -> Table:
    table = load_catalog({"warehouse": "/warehouse"}, file_io=io).load_table("db.t")
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("kind", ["append", "keyed"])
@pytest.mark.parametrize("member", DAMAGES)
def test_a_number_that_no_file_has_is_an_error_that_names_the_manifest(kind: str, member: str):
    change, values = DAMAGES[member]
    for value in values:
        store, path = forged(kind, lambda entry, value=value: change(entry, value))
        with pytest.raises(CorruptionError) as caught:
            opened(store).scan().to_arrow()
        assert caught.value.path == path


@pytest.mark.parametrize("kind", ["append", "keyed"])
@pytest.mark.parametrize("member", PLAUSIBLE)
def test_a_number_that_is_not_the_files_is_read_or_an_error_of_the_library(kind: str, member: str):
    for value in PLAUSIBLE[member]:
        change = {member: value}
        store, _ = forged(kind, lambda entry, change=change: replace(entry, file=replace(entry.file, **change)))
        for name, work in WORK.items():
            try:
                work(opened(copied(store, SystemClock())))
            except TableFormatError:
                continue
            except (ArithmeticError, TypeError, ValueError, LookupError, OSError, MemoryError) as error:
                pytest.fail(f"{member} = {value}, {name}: {error!r}")


@pytest.mark.parametrize(
    "change",
    [
        {"row_count": -1},
        {"row_count": 2**63},
        {"file_size": -1},
        {"level": -1},
        {"max_sequence_number": 2**62 + 1},
        {"delete_row_count": 2},
        {"file_name": "a/b"},
        {"schema_id": "0"},
    ],
)
def test_a_message_with_such_a_number_is_not_committed(change: dict[str, Any]):
    table = a_table(primary_keys=("k",))
    table.append()
    before = table.all_files()
    message = table.message(new_files=(replace(table.file(), **change),))
    with pytest.raises(InvalidInputError):
        table.committer().commit(committable(2, message))
    assert table.all_files() == before
    table.append(identifier=3)
