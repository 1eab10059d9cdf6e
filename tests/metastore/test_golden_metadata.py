"""The metadata of tables written by real Paimon, of several versions, read at every snapshot."""

from __future__ import annotations

from collections import Counter

import pytest

from table_format.io.local import LocalFileIO
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.options.table_options import TableOptions
from tests.support.golden import golden_case

CASES = (
    "expired_snapshots",
    "expired_snapshots__1.4.2",
    "pk_deduplicate",
    "pk_deduplicate__1.3.1",
    "pk_partitioned__1.4.2",
    "pk_rescale_bucket",
    "append_overwrite",
    "append_compaction__1.4.2",
    "streaming_commits",
    "tags_branches__1.4.2",
)


def tables_of(case):
    golden = golden_case(case)
    for name, expected in golden.tables.items():
        root = str(golden.warehouse.parent / expected["location"])
        store = TableStore(LocalFileIO(), TablePaths(root))
        schema = SchemaStore(store).latest()
        yield name, expected, store, schema, ManifestStore(store, TableOptions.parse(schema.options))


@pytest.mark.parametrize("case", CASES)
def test_snapshots_are_found_and_their_counts_add_up(case):
    for name, expected, store, schema, manifests in tables_of(case):
        snapshots = SnapshotStore(store)
        assert list(snapshots.ids()) == expected["snapshot_ids"], name
        assert [snapshots.earliest_id(), snapshots.latest_id()] == [
            expected["snapshot_ids"][0],
            expected["snapshot_ids"][-1],
        ]
        for snapshot_id in snapshots.ids():
            snapshot = snapshots.load(snapshot_id)
            found = live_files(manifests, snapshot, schema=schema, schemas={})
            assert sum(e.file.row_count for e in found.entries) == snapshot.total_record_count, (name, snapshot_id)


@pytest.mark.parametrize("case", CASES)
def test_the_plan_of_the_latest_snapshot_has_the_files_paimon_plans(case):
    for name, expected, store, schema, manifests in tables_of(case):
        planned = Counter(
            (split["bucket"], file["level"], file["row_count"]) for split in expected["plan"] for file in split["files"]
        )
        found = live_files(manifests, SnapshotStore(store).latest(), schema=schema, schemas={})
        assert Counter((e.bucket, e.file.level, e.file.row_count) for e in found.entries) == planned, name


@pytest.mark.parametrize("case", ["tags_branches__1.4.2", "expired_snapshots"])
def test_tags_are_read_and_their_snapshots_complete(case):
    seen = 0
    for name, expected, store, schema, manifests in tables_of(case):
        tags = TagStore(store).all()
        assert set(tags) == set(expected.get("tags") or {}), name
        for tag in tags.values():
            found = live_files(manifests, tag.snapshot, schema=schema, schemas={})
            assert sum(e.file.row_count for e in found.entries) == tag.snapshot.total_record_count
            seen += 1
    assert seen
