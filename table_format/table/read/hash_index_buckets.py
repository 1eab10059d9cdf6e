"""Which dynamic buckets may hold some keys, by their hash index (format chapter 11, section 1).

The reference prunes buckets by key only for fixed buckets. An index file has four bytes for each key of its bucket,
so it is read only if it is smaller than the data files that it may save.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from table_format.errors import CorruptionError
from table_format.indexes.hash_index import hash_entries, read_hashes
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.manifest import IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import Dynamic
from table_format.pruning.pruning import Pruning
from table_format.table.facts import TableFacts

_log = logging.getLogger(__name__)


def pruned_by_hash_index(
    facts: TableFacts, snapshot: Snapshot, entries: Sequence[ManifestEntry], pruning: Pruning
) -> Sequence[ManifestEntry]:
    """Return the files without those of dynamic buckets that hold no selected key according to their hash index.

    A missing or damaged index excludes nothing and is logged. Raises ``OSError``.
    """
    if not (isinstance(facts.bucket_mode, Dynamic) and pruning.chooses_key_hashes):
        return entries
    index = hash_entries(facts.manifests.index_entries(snapshot))
    refused = {
        key
        for key, files in by_bucket(entries).items()
        if (found := index.get(key.partition, {}).get(key.bucket)) is not None
        and found.index_file.file_size < sum(entry.file.file_size for entry in files)
        and not _admits(facts, found, pruning)
    }
    return [entry for entry in entries if entry.bucket_id not in refused]


def _admits(facts: TableFacts, entry: IndexManifestEntry, pruning: Pruning) -> bool:
    try:
        hashes = read_hashes(facts.store, entry, facts.index_path)
    except CorruptionError as error:
        _log.warning("the hash index of a bucket is not used, and the bucket is read instead: %s", error)
        return True
    return pruning.admits_key_hashes(hashes)
