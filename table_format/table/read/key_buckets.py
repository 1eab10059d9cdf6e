"""Which dynamic buckets may hold some keys: what their hash index tells a scan (format chapter 11, section 1).

The reference prunes buckets by key for fixed buckets only. An index file has four bytes for each key of its bucket, so
it is read only where that is less than the data files it may save.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from table_format.errors import CorruptionError
from table_format.indexes.hash_index import hash_entries, read_hashes
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.manifest import IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts

_log = logging.getLogger(__name__)


def without_other_keys(
    facts: TableFacts, snapshot: Snapshot, entries: Sequence[ManifestEntry], key_hashes: frozenset[int]
) -> Sequence[ManifestEntry]:
    """The files of buckets in which keys with one of the hashes may lie.

    An index that is missing or damaged excludes nothing, which is logged. Raises ``OSError``.
    """
    index = hash_entries(facts.manifests.index_entries(snapshot))
    wanted = np.array(sorted(key_hashes), np.int32)
    buckets = by_bucket(entries)
    refused = {
        key
        for key, files in buckets.items()
        if (found := index.get(key[0], {}).get(key[1])) is not None
        and found.index_file.file_size < sum(entry.file.file_size for entry in files)
        and not _holds_any(facts, found, wanted)
    }
    return [entry for entry in entries if (entry.partition, entry.bucket) not in refused]


def _holds_any(facts: TableFacts, entry: IndexManifestEntry, wanted: npt.NDArray[np.int32]) -> bool:
    beside = facts.options.bucket.index_in_data_file_dir
    try:
        hashes = read_hashes(facts.store, entry, facts.partitions.text, beside_data=beside)
    except CorruptionError as error:
        _log.warning("the hash index of a bucket is not used, and the bucket is read instead: %s", error)
        return True
    return bool(np.isin(wanted, hashes).any())
