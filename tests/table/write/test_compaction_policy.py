"""What a write has compacted, by the table and the kind of write."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.model.bucket_id import BucketId
from table_format.table.write.compaction_policy import CompactionPolicy, CompactionRound
from tests.support.tables import memory_warehouse

A, B = BucketId(b"", 0), BucketId(b"", 1)


def policy(options: dict[str, str], primary_keys: tuple[str, ...] = ("id",), **given: Any) -> CompactionPolicy:
    table = memory_warehouse().table(primary_keys=primary_keys, options=options)
    return CompactionPolicy(table.facts, **{"replacing": False, "extends_buckets": True, "shared": True, **given})


@pytest.mark.parametrize(
    ("options", "given", "expected"),
    [
        ({}, {}, True),
        ({"write-only": "true"}, {}, False),
        ({}, {"replacing": True, "extends_buckets": False}, False),
        ({"deletion-vectors.enabled": "true"}, {"replacing": True, "extends_buckets": False}, True),
        ({"write-only": "true"}, {"chosen": "full"}, "full"),
        ({}, {"chosen": False}, False),
    ],
)
def test_options_and_the_kind_of_write_say_what_is_compacted(
    options: dict[str, str], given: dict[str, Any], expected: object
) -> None:
    assert policy(options, **given).due(None, [A]) == CompactionRound(expected)


def test_each_commit_of_a_period_of_one_compacts_its_buckets_fully() -> None:
    options = {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}
    found = policy(options).due(None, [A])
    assert (found.of(A), found.of(B)) == ("full", True)
    assert policy({**options, "write-only": "true"}).due(None, [A]) == CompactionRound(others=False)
    replacing = policy(options, replacing=True, extends_buckets=False)
    assert replacing.due(None, [A]).full == frozenset()
