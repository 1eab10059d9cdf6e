from __future__ import annotations

from unittest.mock import patch

from table_format.metastore.expiry.unneeded import named_files
from table_format.metastore.manifest.manifest_store import ManifestStore
from tests.support.metastore_table import a_table


def test_each_manifest_of_a_removed_history_is_read_once():
    table = a_table(primary_keys=("k",))
    for number in range(20):
        table.append(table.file(number, name=f"{number}.parquet"), identifier=number)
    snapshots = [table.snapshots.load(snapshot_id) for snapshot_id in table.snapshots.ids()]
    read, read_one = [], ManifestStore.read
    with patch.object(ManifestStore, "read", lambda self, meta: read.append(meta.file_name) or read_one(self, meta)):
        named = named_files(snapshots, table.manifests)
    assert len(read) == len(set(read)) == 20
    assert {entry.file.file_name for entry in named.data} == {f"{number}.parquet" for number in range(20)}
