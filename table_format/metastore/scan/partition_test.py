"""Selects the partitions of a scan: by the partition ranges of manifests, and then individually."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from table_format.kernels.bounds import may_match
from table_format.kernels.predicate import matches
from table_format.kernels.values import array_of
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.scan.file_filter import FileFilter
from table_format.model.manifest import ManifestFileMeta
from table_format.pruning.file_bounds import partition_bounds


class PartitionTest:
    """The partition conditions of a filter; each distinct partition is decoded and tested once."""

    def __init__(self, partitions: Partitions, filter: FileFilter) -> None:
        self._partitions = partitions
        self._filter = filter
        self._accepted: set[bytes] = set()
        self._refused: set[bytes] = set()
        self.is_needed = filter.partitions is not None or filter.partition_predicate is not None

    def accepted(self, found: Iterable[bytes]) -> set[bytes]:
        """Test these partitions, and return all partitions accepted so far."""
        fresh = set(found) - self._accepted - self._refused
        passed = self._test(sorted(fresh)) if fresh else set()
        self._accepted |= passed
        self._refused |= fresh - passed
        return self._accepted

    def may_hold(self, manifest: ManifestFileMeta) -> bool:
        """Return whether the partition range of a manifest may include an accepted partition."""
        fields = self._partitions.fields
        if not fields:
            return True
        if self._filter.partitions is not None and not may_hold_partitions(
            self._partitions, manifest, self._filter.partitions
        ):
            return False
        predicate = self._filter.partition_predicate
        return predicate is None or may_match(predicate, partition_bounds(fields, manifest))

    def _test(self, fresh: Sequence[bytes]) -> set[bytes]:
        wanted = self._filter.partitions
        candidates = [p for p in fresh if wanted is None or p in wanted]
        predicate = self._filter.partition_predicate
        fields = self._partitions.fields
        if predicate is None or not candidates or not fields:
            return set(candidates)
        columns = zip(*(self._partitions.values(p) for p in candidates), strict=True)
        arrays = [array_of(column, f.type) for column, f in zip(columns, fields, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields])
        passed = matches(predicate, batch, fields).to_pylist()
        return {p for p, is_match in zip(candidates, passed, strict=True) if is_match}


def may_hold_partitions(partitions: Partitions, manifest: ManifestFileMeta, wanted: Iterable[bytes]) -> bool:
    """Return whether the partition range of a manifest may include one of some partitions."""
    bounds = partition_bounds(partitions.fields, manifest)
    columns = [bounds[f.name] for f in partitions.fields]
    for partition in wanted:
        for value, column in zip(partitions.values(partition), columns, strict=True):
            if value is None:
                if column.null_count == 0:
                    break
            elif column.minimum is None or column.maximum is None:
                if column.null_count == column.row_count:
                    break
            elif value == value and not column.minimum <= value <= column.maximum:  # type: ignore[operator]  # one type
                break
        else:
            return True
    return False
