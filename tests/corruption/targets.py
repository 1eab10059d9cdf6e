"""The tables whose files are damaged, and how each kind of file is decoded and used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.codecs.manifest_avro import decode_index_manifest, decode_manifest, decode_manifest_list
from table_format.codecs.schema_json import decode_schema
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.codecs.tag_json import decode_tag
from table_format.io.memory import MemoryFileIO
from table_format.model.identifier import Identifier
from table_format.model.schema_change import AddColumn
from table_format.model.types import IntType
from tests.corruption.sweep import Rows, Target, opened
from tests.support.golden import golden_case

World = tuple[MemoryFileIO, Identifier, list[Target]]

COLUMNS = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", pa.string())]
)
MIXED = pa.table(
    {
        "k": pa.array(range(300), pa.int64()),
        "b": pa.array([i % 3 == 0 if i % 7 else None for i in range(300)]),
        "s": pa.array([f"text {i * 7919 % 1000}" for i in range(300)]),
        "d": pa.array([i / 7 for i in range(300)]),
        "n": pa.array([i * 10**12 for i in range(300)]).cast(pa.decimal128(20, 0)),
        "t": pa.array([1_700_000_000_000_000 + i * 977 for i in range(300)], pa.timestamp("us")),
        "l": pa.array([[i, None, i + 1] if i % 5 else [] for i in range(300)], pa.list_(pa.int32())),
    },
    schema=pa.schema(
        [
            pa.field("k", pa.int64(), nullable=False),
            ("b", pa.bool_()),
            ("s", pa.string()),
            ("d", pa.float64()),
            ("n", pa.decimal128(20, 0)),
            ("t", pa.timestamp("us")),
            ("l", pa.list_(pa.int32())),
        ]
    ),
)
IDENTIFIER = Identifier.parse("db.damaged")


def worlds() -> Iterator[World]:
    """Stores with one table each, and the files of it that are small enough for every damage."""
    yield written_here()
    yield written_by_paimon()


def written_here() -> World:
    """A primary key table of this library: two schemas, upserts, a delete, a compaction, a tag."""
    store = MemoryFileIO()
    catalog = load_catalog({"warehouse": "/w"}, file_io=store)
    catalog.create_database("db")
    wanted = Schema.from_arrow(COLUMNS, primary_keys=["k", "p"], partition_keys=["p"], options={"bucket": "1"})
    catalog.create_table("db.damaged", wanted)
    table = opened(store, IDENTIFIER)
    table.append(_rows([(1, "a", "one"), (2, "a", "two"), (3, "b", "three")]))
    catalog.alter_table("db.damaged", [AddColumn("w", IntType())])
    table = opened(store, IDENTIFIER)
    table.append(_rows([(1, "a", "uno"), (4, "b", "four")]).append_column("w", pa.array([1, 2], pa.int32())))
    table.delete("k = 2")
    table.compact(full=True)
    table.create_tag("t1", snapshot_id=2)
    table.append(_rows([(5, "a", "five")]).append_column("w", pa.array([5], pa.int32())))
    paths, latest = table.store.paths, table.latest_snapshot()
    assert latest is not None
    manifests = decode_manifest_list(store.read(paths.manifest(latest.base_manifest_list)), path="base")
    return (
        store,
        IDENTIFIER,
        [
            Target("snapshot", paths.snapshot(latest.id), partial(_by, decode_snapshot), all_rows),
            Target("schema", paths.schema(latest.schema_id), partial(_by, decode_schema), all_rows),
            Target(
                "manifest list", paths.manifest(latest.base_manifest_list), partial(_by, decode_manifest_list), all_rows
            ),
            Target("manifest", paths.manifest(manifests[-1].file_name), partial(_by, decode_manifest), all_rows),
            Target(
                "tag", paths.tag("t1"), partial(_by, decode_tag), partial(all_rows, options={"scan.tag-name": "t1"})
            ),
            Target("latest hint", paths.latest_hint, _nothing, all_rows),
            Target("earliest hint", paths.earliest_hint, _nothing, all_rows),
        ],
    )


def written_by_paimon() -> World:
    """A table with deletion vectors as Paimon 1.4.2 wrote it."""
    case = golden_case("pk_deletion_vectors__1.4.2")
    identifier = Identifier.parse(min(case.tables))
    store = MemoryFileIO()
    for path in sorted(case.warehouse.rglob("*")):
        if path.is_file():
            store.create(f"/w/{path.relative_to(case.warehouse)}", path.read_bytes())
    table = opened(store, identifier)
    paths, latest = table.store.paths, table.latest_snapshot()
    assert latest is not None
    assert latest.index_manifest is not None
    index_manifest = paths.manifest(latest.index_manifest)
    [vectors, *_] = decode_index_manifest(store.read(index_manifest), path=index_manifest)
    return (
        store,
        identifier,
        [
            Target("Paimon's snapshot", paths.snapshot(latest.id), partial(_by, decode_snapshot), all_rows),
            Target("Paimon's schema", paths.schema(latest.schema_id), partial(_by, decode_schema), all_rows),
            Target("index manifest", index_manifest, partial(_by, decode_index_manifest), all_rows),
            Target("deletion vectors", paths.index(vectors.index_file.file_name), _nothing, all_rows),
        ],
    )


def data_files() -> World:
    """One data file in each format, of rows of many types."""
    store = MemoryFileIO()
    catalog = load_catalog({"warehouse": "/w"}, file_io=store)
    catalog.create_database("db")
    targets = []
    for file_format in ("parquet", "orc", "avro"):
        identifier = f"db.{file_format}"
        options = {"bucket": "1", "file.format": file_format}
        catalog.create_table(identifier, Schema.from_arrow(MIXED.schema, primary_keys=["k"], options=options))
        table = catalog.load_table(identifier)
        assert isinstance(table, Table)
        table.append(MIXED)
        [split] = table.scan().plan()
        path = table.store.paths.data_file("", split.bucket, split.files[0])
        targets.append(Target(file_format, path, _nothing, partial(_rows_of, identifier)))
    return store, Identifier.parse("db.parquet"), targets


def _rows_of(identifier: str, table: Table) -> Rows:
    opened_again = load_catalog({"warehouse": "/w"}, file_io=table.store.io).load_table(identifier)
    assert isinstance(opened_again, Table)
    return all_rows(opened_again)


def all_rows(table: Table, options: Mapping[str, str] | None = None) -> Rows:
    """All rows of a reading, sorted."""
    found = table.scan(options=options).to_arrow(threads=1)
    return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr)


def _by(decode: object, data: bytes, path: str) -> object:
    return decode(data, path=path)  # type: ignore[operator]


def _nothing(data: bytes, path: str) -> object:
    """A hint is never decoded by itself."""
    del path
    return data


def _rows(rows: list[tuple[int, str, str]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, COLUMNS, strict=True)], schema=COLUMNS)
